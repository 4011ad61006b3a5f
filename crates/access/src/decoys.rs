//! Decoys: work that hides which names a users' file has, and what their hashes cost.

use std::collections::BTreeMap;

use crate::password::{Cost, PasswordHash, ROUNDS_MIN};

/// The costs of all hashes of a file. Each login costs the same for every user: the hash of the user, and decoys for
/// the rest.
///
/// - For SHA-crypt, the rounds of the hash and of the decoy add up to a fixed number.
/// - For argon2id and yescrypt, whose costs cannot be split, a decoy is checked for each other set of parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Decoys {
    sha_256: Option<Rounds>,
    sha_512: Option<Rounds>,
    argon2id: BTreeMap<Argon2Cost, PasswordHash>,
    yescrypt: BTreeMap<YescryptCost, PasswordHash>,
}

/// Memory in KiB, passes, and lanes.
pub(crate) type Argon2Cost = (u32, u32, u32);

/// N and r, with which the memory grows.
pub(crate) type YescryptCost = (u64, u32);

/// The largest number of different sets of parameters of argon2id, and of yescrypt, in a file. Each login costs all of
/// them.
const COSTS_MAX: usize = 4;

/// The fewest and the most rounds of the hashes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rounds {
    min: u32,
    max: u32,
    /// Length of a salt of the file, in characters.
    salt_len: usize,
}

impl Decoys {
    /// Notes the cost of a hash of the file.
    ///
    /// # Errors
    /// The file has too many different sets of parameters.
    pub(crate) fn note(&mut self, hash: &PasswordHash) -> Result<(), String> {
        match hash.cost() {
            Cost::Sha256(rounds) => note_rounds(&mut self.sha_256, rounds, hash),
            Cost::Sha512(rounds) => note_rounds(&mut self.sha_512, rounds, hash),
            Cost::Argon2id(cost) => {
                note_cost(&mut self.argon2id, cost, hash, "argon2id (m, t, p)")?
            }
            Cost::Yescrypt(cost) => note_cost(&mut self.yescrypt, cost, hash, "yescrypt (N, r)")?,
        }
        Ok(())
    }

    /// Returns the hashes to check besides the hash of this user; for an unknown user, the hashes to check instead.
    pub(crate) fn besides(&self, own: Option<&PasswordHash>) -> Vec<PasswordHash> {
        let own = own.map(PasswordHash::cost);
        let (own_256, own_512) = match own {
            Some(Cost::Sha256(rounds)) => (rounds, 0),
            Some(Cost::Sha512(rounds)) => (0, rounds),
            _ => (0, 0),
        };
        let sha_256 = self
            .sha_256
            .as_ref()
            .and_then(|all| PasswordHash::decoy(Cost::Sha256(all.total() - own_256), all.salt_len));
        let sha_512 = self
            .sha_512
            .as_ref()
            .and_then(|all| PasswordHash::decoy(Cost::Sha512(all.total() - own_512), all.salt_len));
        let argon2id = self.argon2id.iter();
        let argon2id = argon2id.filter(|(cost, _)| own != Some(Cost::Argon2id(**cost)));
        let argon2id = argon2id.map(|(_, hash)| hash.clone());
        let yescrypt = self.yescrypt.iter();
        let yescrypt = yescrypt.filter(|(cost, _)| own != Some(Cost::Yescrypt(**cost)));
        let yescrypt = yescrypt.map(|(_, hash)| hash.clone());
        let memory_hard = argon2id.chain(yescrypt);
        sha_256
            .into_iter()
            .chain(sha_512)
            .chain(memory_hard)
            .collect()
    }
}

impl Rounds {
    /// The rounds of a login. If they differ between users, they leave room for the smallest decoy beside the costliest
    /// hash.
    fn total(&self) -> u32 {
        match self.min == self.max {
            true => self.max,
            false => self.max + ROUNDS_MIN,
        }
    }
}

/// Keeps a hash as the decoy of its cost. A cost that is refused leaves no decoy behind.
fn note_cost<C: Ord>(
    all: &mut BTreeMap<C, PasswordHash>,
    cost: C,
    hash: &PasswordHash,
    what: &str,
) -> Result<(), String> {
    if all.len() == COSTS_MAX && !all.contains_key(&cost) {
        return Err(format!(
            "expected at most {COSTS_MAX} different sets of parameters of {what} in a file, got more: let the user choose a \
             password again"
        ));
    }
    all.entry(cost).or_insert_with(|| hash.clone());
    Ok(())
}

fn note_rounds(all: &mut Option<Rounds>, rounds: u32, hash: &PasswordHash) {
    let all = all.get_or_insert_with(|| Rounds {
        min: rounds,
        max: rounds,
        salt_len: hash.salt_len(),
    });
    all.min = all.min.min(rounds);
    all.max = all.max.max(rounds);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes() -> Vec<PasswordHash> {
        let hash_256 = "0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA";
        let hash_512 = "TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1";
        let argon2id = |memory| {
            format!(
                "$argon2id$v=19$m={memory},t=2,p=1$c2FsdHNhbHQ$+Th5iEV2OIaGwZw2I3sdIGQs8rJgJILnQXTojT5S6pw"
            )
        };
        let texts = [
            format!("$5$saltsalt${hash_256}"),
            format!("$5$rounds=9000$saltsalt${hash_256}"),
            format!("$6$saltsalt${hash_512}"),
            format!("$6$rounds=5500$saltsalt${hash_512}"),
            format!("$6$rounds=100000$saltsalt${hash_512}"),
            argon2id(256),
            argon2id(512),
            "$y$j75$saltsalt$0gBD67sgmJgRX3RZ6wHHO7sHimQEWGCWN85o4Twogh2".to_owned(),
            "$y$j9T$saltsalt$VuCHcCYYVuebTL.IxzSml3z./71e36sys.wEb95cM54".to_owned(),
        ];
        let parsed = texts.iter().map(|text| text.parse().expect(text));
        parsed.collect()
    }

    /// The cost of a login: rounds of SHA-256, rounds of SHA-512, and the sets of parameters of argon2id and yescrypt.
    type Total = (u32, u32, Vec<Argon2Cost>, Vec<YescryptCost>);

    fn total(checked: &[PasswordHash]) -> Total {
        let mut total = (0, 0, Vec::new(), Vec::new());
        for hash in checked {
            match hash.cost() {
                Cost::Sha256(rounds) => total.0 += rounds,
                Cost::Sha512(rounds) => total.1 += rounds,
                Cost::Argon2id(cost) => total.2.push(cost),
                Cost::Yescrypt(cost) => total.3.push(cost),
            }
        }
        total.2.sort_unstable();
        total.3.sort_unstable();
        total
    }

    #[test]
    fn a_login_of_any_user_and_of_none_costs_the_same() {
        let hashes = hashes();
        let mut decoys = Decoys::default();
        for hash in &hashes {
            decoys.note(hash).expect("two costs of argon2id");
        }
        let unknown = total(&decoys.besides(None));
        let argon2id = vec![(256, 2, 1), (512, 2, 1)];
        let yescrypt = vec![(1024, 8), (4096, 32)];
        assert_eq!(unknown, (10_000, 101_000, argon2id, yescrypt));
        for own in &hashes {
            let mut checked = decoys.besides(Some(own));
            checked.push(own.clone());
            assert_eq!(total(&checked), unknown, "{own:?}");
        }
    }

    #[test]
    fn where_all_hashes_cost_the_same_one_is_checked() {
        let hash = hashes().swap_remove(2);
        let mut decoys = Decoys::default();
        decoys.note(&hash).expect("no argon2id");
        assert!(decoys.besides(Some(&hash)).is_empty());
        let [decoy] = &decoys.besides(None)[..] else {
            panic!("expected one decoy");
        };
        assert_eq!(decoy.cost(), hash.cost());
        assert!(!decoy.verify(b"secret"));
        assert!(Decoys::default().besides(None).is_empty());
    }

    #[test]
    fn too_many_costs_of_argon2id_are_refused() {
        let text =
            "$argon2id$v=19$m=256,t=2,p=1$c2FsdHNhbHQ$+Th5iEV2OIaGwZw2I3sdIGQs8rJgJILnQXTojT5S6pw";
        let mut decoys = Decoys::default();
        let noted = (0..5).map(|at| {
            let text = text.replace("m=256", &format!("m={}", 256 + at));
            let hash: PasswordHash = text.parse().expect("a hash");
            decoys.note(&hash).is_ok()
        });
        assert_eq!(noted.collect::<Vec<_>>(), [true, true, true, true, false]);
        // The refused one costs no login anything.
        assert_eq!(decoys.besides(None).len(), 4);
    }
}
