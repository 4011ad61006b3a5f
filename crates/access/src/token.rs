//! Signed tokens: JSON web tokens, proved by the public keys of their issuer.

mod unverified;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::caller::check_name;
use crate::keys::Keys;

pub use unverified::Unverified;

/// Which tokens are valid: one of the keys has signed them, for this audience, and their time has not ended.
///
/// Source: RFC 7515 (signatures), RFC 7519 (claims), RFC 8725 (known attacks: the key decides on the algorithm, and
/// `none` is not accepted).
#[derive(Debug, Clone)]
pub struct Tokens {
    /// The keys with which the issuer signs.
    pub keys: Keys,
    /// The issuer that a token must name, if any.
    pub issuer: Option<String>,
    /// The audience that a token must name, perhaps among others, if any.
    pub audience: Option<String>,
}

/// The claims that a valid token proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The name of its user.
    pub user: String,
    /// The groups that it names.
    pub groups: Vec<String>,
    /// When it ends, in seconds since 1970. This includes the leeway for clocks.
    pub expires: u64,
}

/// The largest length of a token, in bytes. Usual tokens have some hundred, and some thousand with many groups.
pub const TOKEN_LEN_MAX: usize = 8 * 1024;
/// The largest number of groups that a token may name.
pub const GROUPS_MAX: usize = 128;
/// By how much the issuer's clock may differ from ours, in seconds.
const LEEWAY: u64 = 30;

/// Why a token is invalid. It never contains any of the token's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It has more than [`TOKEN_LEN_MAX`] bytes.
    TooLong,
    /// It is not a JSON web token, or has no subject or no end.
    Malformed,
    /// It requires an extension or an algorithm that is not supported.
    Unsupported,
    /// None of the configured keys has signed it.
    Signature,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYet,
    /// Another issuer made it.
    Issuer,
    /// It is for another audience.
    Audience,
    /// A user or group in it has an invalid name.
    Name,
    /// No tokens are accepted.
    NotTaken,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that the receiver must support.
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Payload {
    sub: String,
    /// Fractions are allowed.
    exp: f64,
    nbf: Option<f64>,
    iss: Option<String>,
    aud: Option<Audience>,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Tokens {
    /// Checks a token, and returns what it proves. `now` is in seconds since 1970. This takes some 50 µs, and a few
    /// times as long if several keys may be meant.
    ///
    /// # Errors
    /// [`TokenError`], which the user of the token may see.
    pub fn verify(&self, token: &str, now: u64) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_LEN_MAX {
            return Err(TokenError::TooLong);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Malformed)?;
        let header: Header = decode_json(header)?;
        let signature = decode(signature)?;
        self.check_signature(&header, message, &signature)?;
        // The claims are read only after the signature has proved the issuer.
        self.check(decode_json(payload)?, now)
    }

    fn check_signature(
        &self,
        header: &Header,
        message: &str,
        signature: &[u8],
    ) -> Result<(), TokenError> {
        if header.crit.is_some() || !ALGORITHMS.contains(&header.alg.as_str()) {
            return Err(TokenError::Unsupported);
        }
        let mut keys = self.keys.candidates(header.kid.as_deref());
        let has_signed = keys.any(|key| {
            key.algorithm() == header.alg && key.verifies(message.as_bytes(), signature)
        });
        has_signed.then_some(()).ok_or(TokenError::Signature)
    }

    fn check(&self, payload: Payload, now: u64) -> Result<Claims, TokenError> {
        let expires = seconds(payload.exp)?.saturating_add(LEEWAY);
        if now >= expires {
            return Err(TokenError::Expired);
        }
        let begins = payload.nbf.map(seconds).transpose()?.unwrap_or_default();
        if now.saturating_add(LEEWAY) < begins {
            return Err(TokenError::NotYet);
        }
        if self.issuer.is_some() && self.issuer != payload.iss {
            return Err(TokenError::Issuer);
        }
        if let Some(own) = &self.audience
            && !payload.aud.is_some_and(|audience| audience.has(own))
        {
            return Err(TokenError::Audience);
        }
        let is_no_name = |name: &String| check_name(name).is_err();
        if payload.groups.len() > GROUPS_MAX
            || is_no_name(&payload.sub)
            || payload.groups.iter().any(is_no_name)
        {
            return Err(TokenError::Name);
        }
        Ok(Claims {
            user: payload.sub,
            groups: payload.groups,
            expires,
        })
    }
}

impl Audience {
    fn has(&self, own: &str) -> bool {
        match self {
            Self::One(one) => one == own,
            Self::Several(several) => several.iter().any(|one| one == own),
        }
    }
}

const ALGORITHMS: [&str; 3] = ["RS256", "ES256", "EdDSA"];

fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| TokenError::Malformed)
}

fn decode_json<T: DeserializeOwned>(part: &str) -> Result<T, TokenError> {
    serde_json::from_slice(&decode(part)?).map_err(|_| TokenError::Malformed)
}

/// A time of a token, in whole seconds.
fn seconds(time: f64) -> Result<u64, TokenError> {
    match time.is_finite() && time >= 0.0 {
        // A time beyond `u64::MAX` becomes `u64::MAX`.
        true => Ok(time as u64),
        false => Err(TokenError::Malformed),
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "the token is too long: expected at most {TOKEN_LEN_MAX} bytes"
            ),
            Self::Malformed => f.write_str("this is no signed JSON web token with sub and exp"),
            Self::Unsupported => {
                f.write_str("the token is signed in an unknown way: expected RS256, ES256 or EdDSA")
            }
            Self::Signature => f.write_str("no known key has signed the token"),
            Self::Expired => f.write_str("the token has expired"),
            Self::NotYet => f.write_str("the token is not valid yet"),
            Self::Issuer => f.write_str("the token comes from another issuer"),
            Self::Audience => f.write_str("the token is meant for others"),
            Self::Name => {
                f.write_str("the token names a user or a group in a way that no name is written")
            }
            Self::NotTaken => f.write_str("no tokens are taken here"),
        }
    }
}

impl std::error::Error for TokenError {}

#[cfg(all(test, feature = "tokens"))]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    const PEM: &[u8] = include_bytes!("../tests/tokens/keys.pem");
    const SET: &[u8] = include_bytes!("../tests/tokens/keys.json");
    /// Each line has a name and a token. Another program made them: see `tests/tokens/README.md`.
    const TOKENS: &str = include_str!("../tests/tokens/tokens.txt");
    const EXP: u64 = 2_000_000_000;
    const NOW: u64 = EXP - 1000;

    fn token(name: &str) -> &'static str {
        let mut lines = TOKENS.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(own, _)| *own == name)
            .expect("a token of this name")
            .1
    }

    fn tokens(keys: &[u8]) -> Tokens {
        Tokens {
            keys: Keys::parse(keys).expect("keys"),
            issuer: Some("https://issuer.example".to_owned()),
            audience: Some("floe".to_owned()),
        }
    }

    /// An issuer for tokens that no other program would make.
    struct Issuer(Ed25519KeyPair);

    impl Issuer {
        fn new() -> Self {
            let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
            Self(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key"))
        }

        fn tokens(&self) -> Tokens {
            let x = URL_SAFE_NO_PAD.encode(self.0.public_key());
            let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#);
            let keys = Keys::parse(set.as_bytes()).expect("a key");
            Tokens {
                keys,
                issuer: None,
                audience: None,
            }
        }

        fn token(&self, header: &str, payload: &str) -> String {
            let [header, payload] = [header, payload].map(|part| URL_SAFE_NO_PAD.encode(part));
            let message = format!("{header}.{payload}");
            let signature = URL_SAFE_NO_PAD.encode(self.0.sign(message.as_bytes()));
            format!("{message}.{signature}")
        }

        fn verify(&self, payload: &str) -> Result<Claims, TokenError> {
            self.tokens()
                .verify(&self.token(r#"{"alg":"EdDSA"}"#, payload), 100)
        }
    }

    #[test]
    fn a_token_of_each_algorithm_proves_its_user_and_groups() {
        for keys in [PEM, SET] {
            for name in ["rs256", "es256", "eddsa"] {
                let claims = tokens(keys).verify(token(name), NOW).expect(name);
                assert_eq!(
                    (claims.user.as_str(), &claims.groups[..]),
                    ("ann", &["operators".to_owned()][..])
                );
                assert_eq!(claims.expires, EXP + LEEWAY);
            }
        }
    }

    #[test]
    fn a_token_holds_from_its_beginning_to_its_end() {
        let at = |now| tokens(PEM).verify(token("es256"), now).map(|_| ());
        let begins = EXP - 10_000;
        assert_eq!(at(begins - LEEWAY - 1), Err(TokenError::NotYet));
        assert_eq!(at(begins - LEEWAY), Ok(()));
        assert_eq!(at(EXP + LEEWAY - 1), Ok(()));
        assert_eq!(at(EXP + LEEWAY), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_for_others_and_of_others_is_refused() {
        let mut other = tokens(PEM);
        other.issuer = Some("https://other.example".to_owned());
        assert_eq!(other.verify(token("es256"), NOW), Err(TokenError::Issuer));
        let mut other = tokens(PEM);
        other.audience = Some("bank".to_owned());
        assert_eq!(other.verify(token("es256"), NOW), Err(TokenError::Audience));
        let several = Issuer::new();
        let mut own = several.tokens();
        own.audience = Some("b".to_owned());
        let token = |aud| {
            several.token(
                r#"{"alg":"EdDSA"}"#,
                &format!(r#"{{"sub":"ann","exp":200{aud}}}"#),
            )
        };
        assert!(own.verify(&token(r#","aud":["a","b"]"#), 100).is_ok());
        assert_eq!(
            own.verify(&token(r#","aud":["a"]"#), 100),
            Err(TokenError::Audience)
        );
        assert_eq!(own.verify(&token(""), 100), Err(TokenError::Audience));
    }

    #[test]
    fn a_changed_token_is_refused_wherever_it_was_changed() {
        let good = token("es256");
        let alphabet = |byte: u8| byte.is_ascii_alphanumeric();
        for place in (0..good.len()).filter(|place| alphabet(good.as_bytes()[*place])) {
            let mut bytes = good.as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).expect("ascii");
            // The last character of a part may hold unused bits, which must be zero.
            assert!(tokens(PEM).verify(&changed, NOW).is_err(), "{place}");
        }
    }

    #[test]
    fn the_key_decides_on_the_algorithm_and_not_the_token() {
        let issuer = Issuer::new();
        let payload = r#"{"sub":"ann","exp":200}"#;
        for (header, error) in [
            (r#"{"alg":"none"}"#, TokenError::Unsupported),
            (r#"{"alg":"HS256"}"#, TokenError::Unsupported),
            (r#"{"alg":"EdDSA","crit":["exp"]}"#, TokenError::Unsupported),
            (r#"{"alg":"ES256"}"#, TokenError::Signature),
            (r#"{"alg":"RS256"}"#, TokenError::Signature),
            (r#"{"alg":"EdDSA","alg":"EdDSA"}"#, TokenError::Malformed),
            (r#"{}"#, TokenError::Malformed),
        ] {
            assert_eq!(
                issuer.tokens().verify(&issuer.token(header, payload), 100),
                Err(error),
                "{header}"
            );
        }
        let unsigned = issuer.token(r#"{"alg":"EdDSA"}"#, payload);
        let (message, _) = unsigned.rsplit_once('.').expect("a signature");
        assert_eq!(
            issuer.tokens().verify(&format!("{message}."), 100),
            Err(TokenError::Signature)
        );
        assert_eq!(
            Issuer::new().tokens().verify(&unsigned, 100),
            Err(TokenError::Signature)
        );
    }

    #[test]
    fn claims_that_are_missing_twice_there_or_no_names_are_refused() {
        let issuer = Issuer::new();
        let many = vec!["\"g\""; GROUPS_MAX + 1].join(",");
        let many = format!(r#"{{"sub":"ann","exp":200,"groups":[{many}]}}"#);
        for (payload, error) in [
            (r#"{"exp":200}"#, TokenError::Malformed),
            (r#"{"sub":"ann"}"#, TokenError::Malformed),
            (
                r#"{"sub":"ann","sub":"bob","exp":200}"#,
                TokenError::Malformed,
            ),
            (r#"{"sub":"ann","exp":"200"}"#, TokenError::Malformed),
            (r#"{"sub":"ann","exp":-1}"#, TokenError::Malformed),
            (r#"{"sub":"ann","exp":1e999}"#, TokenError::Malformed),
            (r#"{"sub":"","exp":200}"#, TokenError::Name),
            (r#"{"sub":"anonymous","exp":200}"#, TokenError::Name),
            (r#"{"sub":"a\nb","exp":200}"#, TokenError::Name),
            (
                r#"{"sub":"ann","exp":200,"groups":["a b"]}"#,
                TokenError::Name,
            ),
            (&many, TokenError::Name),
        ] {
            assert_eq!(issuer.verify(payload), Err(error), "{payload:.60}");
        }
        assert!(
            issuer
                .verify(r#"{"sub":"ann","exp":200.5,"other":{"a":[1]}}"#)
                .is_ok()
        );
        assert!(issuer.verify(r#"{"sub":"ann","exp":1e300}"#).is_ok());
    }

    #[test]
    fn texts_that_are_no_tokens_are_refused_and_not_told() {
        let deep = URL_SAFE_NO_PAD.encode("[".repeat(4000));
        for wrong in [
            "",
            ".",
            "..",
            "...",
            "a.b.c",
            "SECRET",
            &format!("{deep}.{deep}.{deep}"),
            "e30.e30.",
            "é.é.é",
        ] {
            let error = tokens(PEM).verify(wrong, NOW).expect_err(wrong);
            assert!(!error.to_string().contains("SECRET"));
        }
        let long = "a".repeat(TOKEN_LEN_MAX + 1);
        assert_eq!(tokens(PEM).verify(&long, NOW), Err(TokenError::TooLong));
    }
}
