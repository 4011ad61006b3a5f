//! Hashed passwords, as a users' file contains them.

use std::fmt;
use std::str::FromStr;

use argon2::password_hash::PasswordVerifier;
use argon2::{Argon2, PasswordHash as PhcHash};
use sha_crypt::{PasswordHashRef, ShaCrypt};
use yescrypt::Yescrypt;

use crate::decoys::{Argon2Cost, YescryptCost};

/// A hashed password: by argon2id, or by `crypt(3)` with yescrypt, SHA-256 or SHA-512.
///
/// Neither `Debug` nor an error shows any part of it.
///
/// Source: PHC string format; "Unix crypt using SHA-256 and SHA-512" (Drepper, 2008); crypt(5), "yescrypt".
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    scheme: Scheme,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Argon2id,
    ShaCrypt,
    Yescrypt,
}

/// The cost of checking a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Rounds of SHA-crypt with SHA-256.
    Sha256(u32),
    /// Rounds of SHA-crypt with SHA-512.
    Sha512(u32),
    /// Parameters of argon2id.
    Argon2id(Argon2Cost),
    /// Parameters of yescrypt.
    Yescrypt(YescryptCost),
}

/// The largest length of a hash as text, in bytes.
const HASH_LEN_MAX: usize = 512;
/// The largest memory for the check of one password: 256 MiB, in KiB. Usual are 19 to 64 MiB.
const ARGON2_MEMORY_MAX: u32 = 256 * 1024;
/// The largest number of passes over that memory. Usual are 1 to 4.
const ARGON2_PASSES_MAX: u32 = 16;
/// The largest number of rounds of SHA-crypt, about a second of work. Usual are 5,000.
const ROUNDS_MAX: u32 = 1_000_000;
/// The smallest number of rounds of SHA-crypt.
pub(crate) const ROUNDS_MIN: u32 = sha_crypt::Params::ROUNDS_MIN;
/// The largest memory for the check of one password by yescrypt: 256 MiB, in bytes. Usual are 16 MiB.
const YESCRYPT_MEMORY_MAX: u64 = 256 << 20;
/// The length of a hash of yescrypt, in characters.
const YESCRYPT_LEN: usize = 43;
/// The largest length of a salt of yescrypt, in characters: 64 bytes.
const YESCRYPT_SALT_MAX: usize = 86;
/// The length of a hash of SHA-crypt with SHA-256, in characters.
const SHA_256_LEN: usize = 43;
/// The length of a hash of SHA-crypt with SHA-512, in characters.
const SHA_512_LEN: usize = 86;
/// The largest length of a password, in bytes.
const PASSWORD_LEN_MAX: usize = 1024;

impl PasswordHash {
    /// Returns true if a password is the one that was hashed. The parameters of the hash decide how long this takes,
    /// mostly some 10 ms, so do not call it on a thread that dispatches requests.
    pub fn verify(&self, password: &[u8]) -> bool {
        if password.len() > PASSWORD_LEN_MAX {
            return false;
        }
        match self.scheme {
            Scheme::Argon2id => Argon2::default()
                .verify_password(password, self.text.as_str())
                .is_ok(),
            Scheme::ShaCrypt => {
                let hash = PasswordHashRef::new(&self.text);
                hash.is_ok_and(|hash| ShaCrypt::default().verify_password(password, hash).is_ok())
            }
            Scheme::Yescrypt => Yescrypt::default()
                .verify_password(password, self.text.as_str())
                .is_ok(),
        }
    }
}

impl PasswordHash {
    /// A hash that no password is known to have, at this cost. `None` if there is nothing to check.
    pub(crate) fn decoy(cost: Cost, salt_len: usize) -> Option<Self> {
        let salt = ".".repeat(salt_len);
        let text = match cost {
            Cost::Sha256(rounds @ ROUNDS_MIN..) => {
                format!("$5$rounds={rounds}${salt}${}", ".".repeat(SHA_256_LEN))
            }
            Cost::Sha512(rounds @ ROUNDS_MIN..) => {
                format!("$6$rounds={rounds}${salt}${}", ".".repeat(SHA_512_LEN))
            }
            _ => return None,
        };
        Some(Self {
            scheme: Scheme::ShaCrypt,
            text,
        })
    }

    /// Returns the cost of a check.
    pub(crate) fn cost(&self) -> Cost {
        if self.scheme == Scheme::Argon2id {
            let hash = PhcHash::new(&self.text).ok();
            let params = hash.and_then(|hash| argon2::Params::try_from(&hash).ok());
            let params = params.unwrap_or_default();
            return Cost::Argon2id((params.m_cost(), params.t_cost(), params.p_cost()));
        }
        if self.scheme == Scheme::Yescrypt {
            let params = self.fields().next().unwrap_or_default().parse();
            let params: yescrypt::Params = params.unwrap_or_default();
            return Cost::Yescrypt((params.n(), params.r()));
        }
        let rounds = self.fields().find_map(|field| {
            let rounds = field.strip_prefix("rounds=")?;
            rounds.parse().ok()
        });
        let rounds = rounds.unwrap_or(sha_crypt::Params::RECOMMENDED_ROUNDS);
        match self.text.starts_with("$5$") {
            true => Cost::Sha256(rounds),
            false => Cost::Sha512(rounds),
        }
    }

    /// The length of the salt in characters, if this is a hash of SHA-crypt.
    pub(crate) fn salt_len(&self) -> usize {
        let mut fields = self.fields().filter(|field| !field.starts_with("rounds="));
        fields.next().map_or(0, str::len)
    }

    /// Returns the fields after the name of the scheme.
    fn fields(&self) -> impl Iterator<Item = &str> {
        self.text.split('$').skip(2)
    }
}

impl FromStr for PasswordHash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.len() > HASH_LEN_MAX {
            return Err("the hash is too long");
        }
        let scheme = match text.split('$').nth(1) {
            Some("argon2id") => check_argon2(text).map(|()| Scheme::Argon2id)?,
            Some("5") => check_sha_crypt(text, SHA_256_LEN).map(|()| Scheme::ShaCrypt)?,
            Some("6") => check_sha_crypt(text, SHA_512_LEN).map(|()| Scheme::ShaCrypt)?,
            Some("y") => check_yescrypt(text).map(|()| Scheme::Yescrypt)?,
            _ => {
                return Err(
                    "expected a hash that begins with $argon2id$, $y$, $5$ or $6$, as argon2, mkpasswd and openssl passwd -6 \
                     write it",
                );
            }
        };
        Ok(Self {
            scheme,
            text: text.to_owned(),
        })
    }
}

fn check_argon2(text: &str) -> Result<(), &'static str> {
    let hash = PhcHash::new(text).map_err(|_| "this is no hash of argon2id")?;
    let number = |name| hash.params.get_decimal(name);
    let (memory, passes) = (
        number("m").unwrap_or_default(),
        number("t").unwrap_or_default(),
    );
    if memory > ARGON2_MEMORY_MAX || passes > ARGON2_PASSES_MAX {
        return Err("the hash costs too much: expected at most m=262144 and t=16");
    }
    match hash.salt.is_some() && hash.hash.is_some() && argon2::Params::try_from(&hash).is_ok() {
        true => Ok(()),
        false => Err("this is no hash of argon2id"),
    }
}

/// `$y$j9T$salt$hash`. The parameters are three characters, as crypt_gensalt(3) writes them: with any more, a hash could
/// cost more time than its memory shows.
fn check_yescrypt(text: &str) -> Result<(), &'static str> {
    let fields: Vec<_> = text.split('$').skip(2).collect();
    let [params, salt, hash] = fields[..] else {
        return Err("this is no hash of yescrypt");
    };
    if params.len() != 3 || !params.starts_with('j') {
        return Err(
            "expected parameters of yescrypt as crypt writes them, such as $y$j9T$: let mkpasswd or passwd hash the password \
             again",
        );
    }
    let is_sound = is_crypt_base64(salt)
        && salt.len() <= YESCRYPT_SALT_MAX
        && is_crypt_base64(hash)
        && hash.len() == YESCRYPT_LEN;
    let params: Option<yescrypt::Params> = params.parse().ok();
    let memory = params.map(|params| params.n().saturating_mul(128 * u64::from(params.r())));
    match memory {
        Some(memory) if memory > YESCRYPT_MEMORY_MAX => {
            Err("the hash costs too much: expected at most 256 MiB of memory")
        }
        Some(_) if is_sound => Ok(()),
        _ => Err("this is no hash of yescrypt"),
    }
}

/// Returns true for the characters of a hash of crypt.
fn is_crypt_base64(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'/')
}

/// `$6$rounds=5000$salt$hash`, where the rounds may be left out.
fn check_sha_crypt(text: &str, hash_len: usize) -> Result<(), &'static str> {
    let mut fields: Vec<_> = text.split('$').skip(2).collect();
    if let Some(rounds) = fields
        .first()
        .and_then(|field| field.strip_prefix("rounds="))
    {
        let rounds: u32 = rounds
            .parse()
            .map_err(|_| "the rounds of the hash are no number")?;
        if !(ROUNDS_MIN..=ROUNDS_MAX).contains(&rounds) {
            return Err(
                "the hash costs too little or too much: expected from 1000 to 1000000 rounds",
            );
        }
        fields.remove(0);
    }
    match fields[..] {
        [salt, hash]
            if is_crypt_base64(salt)
                && salt.len() <= 16
                && is_crypt_base64(hash)
                && hash.len() == hash_len =>
        {
            Ok(())
        }
        _ => Err("this is no hash of crypt"),
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordHash")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `openssl passwd -6 -salt saltsalt secret`, and the like.
    const SHA_512: &str = "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1";
    const SHA_256: &str = "$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA";
    const ROUNDS: &str = "$6$rounds=2000$saltsalt$GBImuhotpiUgeciq/ZS6UaMklAGJMK25wd5Tacv1I0CcSmxHOQQLpmVKYRPIU6LoFrr4iPAAmsqUTjBoZ.Fwr/";
    /// `echo -n secret | argon2 saltsalt -id -k 256 -t 2 -p 1 -e`: little memory, so that the test is quick.
    const ARGON2: &str =
        "$argon2id$v=19$m=256,t=2,p=1$c2FsdHNhbHQ$+Th5iEV2OIaGwZw2I3sdIGQs8rJgJILnQXTojT5S6pw";
    /// `crypt.crypt("secret", "$y$j75$saltsalt$")` of Python on Debian 12 (libxcrypt 4.4): little memory.
    const YESCRYPT: &str = "$y$j75$saltsalt$0gBD67sgmJgRX3RZ6wHHO7sHimQEWGCWN85o4Twogh2";

    fn verify(hash: &str, password: &str) -> bool {
        let hash: PasswordHash = hash
            .parse()
            .unwrap_or_else(|error| panic!("{hash}: {error}"));
        hash.verify(password.as_bytes())
    }

    #[test]
    fn hashes_of_other_programs_verify_their_password_and_no_other() {
        for hash in [SHA_512, SHA_256, ROUNDS, ARGON2, YESCRYPT] {
            assert!(verify(hash, "secret"), "{hash}");
            for other in ["", "Secret", "secret ", "secre"] {
                assert!(!verify(hash, other), "{hash} {other}");
            }
        }
    }

    #[test]
    fn a_hash_shows_itself_nowhere() {
        let hash: PasswordHash = SHA_512.parse().expect("a hash");
        let shown = format!("{hash:?} {hash:#?}");
        assert!(
            !shown.contains("saltsalt") && !shown.contains(&SHA_512[20..]),
            "{shown}"
        );
        let error = format!("{SHA_512}x")
            .parse::<PasswordHash>()
            .expect_err("too long a hash");
        assert!(!error.contains("saltsalt"), "{error}");
    }

    #[test]
    fn other_schemes_and_damaged_hashes_are_refused() {
        let argon2i = ARGON2.replace("argon2id", "argon2i");
        let (short, empty) = (&SHA_512[..SHA_512.len() - 1], "$6$saltsalt$");
        let long = format!("{ARGON2}{}", "A".repeat(HASH_LEN_MAX));
        for wrong in [
            "",
            "secret",
            "$1$salt$abc",
            "$2b$12$abc",
            "$6$",
            empty,
            short,
            &argon2i,
            "$argon2id$v=19$m=16",
            "$y$j75$saltsalt$",
            "$y$j75$salt!alt$0gBD67sgmJgRX3RZ6wHHO7sHimQEWGCWN85o4Twogh2",
            &YESCRYPT[..YESCRYPT.len() - 1],
            &long,
        ] {
            assert!(wrong.parse::<PasswordHash>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hash_that_costs_too_much_is_refused() {
        let memory = ARGON2.replace("m=256", "m=4194304");
        let passes = ARGON2.replace("t=2", "t=4000000");
        let rounds = ROUNDS.replace("rounds=2000", "rounds=999999999");
        let yescrypt = YESCRYPT.replace("$j75$", "$jLT$");
        for costly in [memory, passes, rounds, yescrypt] {
            let error = costly.parse::<PasswordHash>().expect_err(&costly);
            assert!(error.contains("too much"), "{costly}: {error}");
        }
        // More passes over the same memory, and lanes.
        let time = YESCRYPT.replace("$j75$", "$j75/z$");
        let error = time.parse::<PasswordHash>().expect_err(&time);
        assert!(error.contains("as crypt writes them"), "{error}");
    }

    #[test]
    fn an_overlong_password_is_wrong_before_any_work() {
        assert!(!verify(ARGON2, &"a".repeat(PASSWORD_LEN_MAX + 1)));
    }
}
