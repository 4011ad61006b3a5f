//! Users and the hashes of their passwords, as a file lists them.

use std::collections::HashMap;
use std::fmt;

use sha_crypt::{PasswordVerifier as _, ShaCrypt};

/// Users and the hashes of their passwords.
///
/// ```text
/// # a comment
/// jane $6$rounds=10000$salt$hash
/// ```
///
/// A hash is written by crypt(3) with SHA-256 (`$5$`) or SHA-512 (`$6$`), as `openssl passwd -6` makes it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Passwords {
    hashes: HashMap<String, String>,
}

/// A line that is not a user and a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordsError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with the line. It does not contain the hash.
    pub message: String,
}

impl Passwords {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`PasswordsError`] for the first line that is not a user and a hash that can be verified.
    pub fn parse(text: &str) -> Result<Self, PasswordsError> {
        let mut hashes = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let Some(user) = words.next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let failed = |message: &str| PasswordsError {
                line: at + 1,
                message: message.to_owned(),
            };
            let hash = words.next().ok_or_else(|| {
                failed("expected a user and the hash of a password, got one word")
            })?;
            if words.next().is_some() {
                return Err(failed(
                    "expected a user and the hash of a password, got more words than two",
                ));
            }
            check_hash(hash).map_err(failed)?;
            if hashes.insert(user.to_owned(), hash.to_owned()).is_some() {
                return Err(failed("expected each user once, got one again"));
            }
        }
        Ok(Self { hashes })
    }

    /// Whether this is the password of the user. It takes some milliseconds on purpose. For an unknown user it checks
    /// another user's hash, so that the time does not show which users exist.
    pub fn verify(&self, user: &str, password: &str) -> bool {
        let known = self.hashes.get(user);
        let any = || self.hashes.values().next();
        let Some(hash) = known.or_else(any) else {
            return false;
        };
        let verified = ShaCrypt::default().verify_password(password.as_bytes(), hash.as_str());
        verified.is_ok() && known.is_some()
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }
}

/// Whether a hash can be verified, and within a sensible time.
fn check_hash(hash: &str) -> Result<(), &'static str> {
    let mut parts = hash.split('$');
    let (Some(""), Some("5" | "6")) = (parts.next(), parts.next()) else {
        return Err(
            "expected a hash by SHA-256 ($5$...) or SHA-512 ($6$...), got another one: let the user choose a \
             password again, and hash it with `openssl passwd -6`",
        );
    };
    let rounds = hash
        .split('$')
        .find_map(|part| part.strip_prefix("rounds="));
    let is_costly = rounds.is_some_and(|rounds| {
        let rounds = rounds.parse::<u32>();
        rounds.map_or(true, |rounds| rounds > ROUNDS_MAX)
    });
    if is_costly {
        return Err("expected a hash of at most 1,000,000 rounds, got more");
    }
    // With a malformed hash, its user could never log in.
    match ShaCrypt::default().verify_password(b"", hash) {
        Ok(()) | Err(sha_crypt::password_hash::Error::PasswordInvalid) => Ok(()),
        Err(_) => Err("expected a whole hash, such as $6$salt$hash, got a part of one"),
    }
}

/// The largest number of rounds of a hash. With more, each login takes over a second of one core.
const ROUNDS_MAX: u32 = 1_000_000;

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords")
            .field("users", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for PasswordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for PasswordsError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: observed, `openssl passwd -5 -salt saltstring secret` and `-6`, OpenSSL 3.
    const SHA_256: &str = "$5$saltstring$C3o4O1TC6aRHF4FI.QSZMXtHbaj2gSXr4sUc/3NcUi.";
    const SHA_512: &str = "$6$saltstring$AIsRs/Ee56G/tC8MEHhvReZTfx8u3rXXMl6eYrjCG9ibix19DxoMBLogdTET5Ukw9Sf7eZTITsuk0Ry5qulYz.";

    #[test]
    fn passwords_are_verified_by_both_hashes() {
        let text = format!("# users\n\njane {SHA_256}\n  joe\t{SHA_512}  \n");
        let passwords = Passwords::parse(&text).unwrap();
        assert_eq!(passwords.len(), 2);
        for user in ["jane", "joe"] {
            assert!(passwords.verify(user, "secret"), "{user}");
            assert!(!passwords.verify(user, "Secret"), "{user}");
        }
        assert!(!passwords.verify("unknown", "secret"));
        assert!(!Passwords::default().verify("jane", "secret"));
    }

    #[test]
    fn a_line_that_names_no_user_and_hash_is_refused_with_its_number() {
        let refused = [
            "jane".to_owned(),
            format!("jane {SHA_512} more"),
            "jane XSLZ1R/JfYzxA".to_owned(),
            "jane $1$salt$hash".to_owned(),
            "jane $6$saltstring$short".to_owned(),
            "jane $6$rounds=999999999$saltstring$short".to_owned(),
            "jane $6$rounds=99999999999$saltstring$short".to_owned(),
            format!("joe {SHA_512}"),
        ];
        for line in refused {
            let text = format!("joe {SHA_512}\n{line}\n");
            assert_eq!(Passwords::parse(&text).unwrap_err().line, 2, "{line}");
        }
    }
}
