//! Signing tokens, for an operator who is the issuer.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::Ed25519KeyPair;
use serde_json::{Map, Value as Json, json};
use x509_parser::pem::Pem;

use crate::caller::check_name;
use crate::token::{GROUPS_MAX, TOKEN_LEN_MAX};

/// The private key of an issuer, which signs tokens with EdDSA (Ed25519).
///
/// It makes no key: `floe token key` does, and so does `openssl genpkey -algorithm ed25519`.
///
/// ```
/// # use floe_access::{Signer, Grant, Keys, Tokens};
/// # let private_key = "-----BEGIN PRIVATE KEY-----\n\
/// #     MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
/// # let public_key = "-----BEGIN PUBLIC KEY-----\n\
/// #     MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
/// let signer = Signer::parse(private_key.as_bytes())?;
/// let token = signer.sign(&Grant {
///     user: "ann".to_owned(),
///     groups: vec!["operators".to_owned()],
///     issuer: None,
///     audience: Some("floe".to_owned()),
///     expires: 2_000_000_000,
/// })?;
/// let tokens = Tokens {
///     keys: Keys::parse(public_key.as_bytes())?,
///     issuer: None,
///     audience: Some("floe".to_owned()),
/// };
/// assert_eq!(tokens.verify(&token, 1_999_999_000).map(|claims| claims.user), Ok("ann".to_owned()));
/// # Ok::<_, String>(())
/// ```
pub struct Signer(Ed25519KeyPair);

/// What a token grants its holder: to be this user, for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The name of the user.
    pub user: String,
    /// The groups of the user, at most [`GROUPS_MAX`].
    pub groups: Vec<String>,
    /// Who signs, if the hub asks for an issuer.
    pub issuer: Option<String>,
    /// Who may accept the token, if the hub asks for an audience.
    pub audience: Option<String>,
    /// When it ends, in seconds since 1970.
    pub expires: u64,
}

impl Signer {
    /// Reads a PEM file with one private key for Ed25519, in PKCS#8.
    ///
    /// # Errors
    /// The text describes what is wrong with the file, without any of its bytes.
    ///
    /// Source: RFC 8410 (the key), RFC 7468 (PEM).
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        let mut blocks = Pem::iter_from_buffer(file).filter_map(Result::ok);
        let block = blocks.find(|block| block.label.ends_with("PRIVATE KEY"));
        let block = block.ok_or("expected a block PRIVATE KEY in PEM, got none")?;
        if block.label != "PRIVATE KEY" {
            return Err(format!(
                "expected a block PRIVATE KEY without a password, got {:?}",
                block.label
            ));
        }
        // A key of OpenSSL does not have the public half, which is computed then.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&block.contents);
        pair.map(Self)
            .map_err(|_| "expected a private key for EdDSA (Ed25519), got another kind".to_owned())
    }

    /// Signs a token.
    ///
    /// # Errors
    /// The text describes a name that is none, too many groups, or a token that would be longer than [`TOKEN_LEN_MAX`].
    ///
    /// Source: RFC 7515 (compact serialization), RFC 7519 (claims), RFC 8037 (EdDSA).
    pub fn sign(&self, grant: &Grant) -> Result<String, String> {
        let mut names = grant.groups.iter().chain([&grant.user]);
        names.try_for_each(|name| check_name(name))?;
        if grant.groups.len() > GROUPS_MAX {
            let len = grant.groups.len();
            return Err(format!("expected at most {GROUPS_MAX} groups, got {len}"));
        }
        let header = json!({"alg": "EdDSA", "typ": "JWT"});
        let [header, claims] =
            [header, grant.claims()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.0.sign(message.as_bytes()));
        let token = format!("{message}.{signature}");
        match token.len() > TOKEN_LEN_MAX {
            true => Err(format!(
                "expected a token of at most {TOKEN_LEN_MAX} bytes, got {}: leave out groups",
                token.len()
            )),
            false => Ok(token),
        }
    }
}

impl Grant {
    fn claims(&self) -> Json {
        let mut claims = Map::new();
        claims.insert("sub".to_owned(), json!(self.user));
        claims.insert("exp".to_owned(), json!(self.expires));
        for (name, value) in [("iss", &self.issuer), ("aud", &self.audience)] {
            if let Some(value) = value {
                claims.insert(name.to_owned(), json!(value));
            }
        }
        if !self.groups.is_empty() {
            claims.insert("groups".to_owned(), json!(self.groups));
        }
        claims.into()
    }
}

/// Without the key.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(_)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Keys, TokenError, Tokens, Unverified};

    /// The first key of RFC 8032, section 7.1, in PKCS#8 as OpenSSL writes it, and its public half.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";

    fn signer() -> Signer {
        Signer::parse(PRIVATE.as_bytes()).expect("a key")
    }

    fn grant(user: &str) -> Grant {
        Grant {
            user: user.to_owned(),
            groups: vec!["operators".to_owned()],
            issuer: Some("me".to_owned()),
            audience: Some("floe".to_owned()),
            expires: 2000,
        }
    }

    #[test]
    fn a_signed_token_proves_its_user_until_it_ends() {
        let token = signer().sign(&grant("ann")).expect("a token");
        let tokens = Tokens {
            keys: Keys::parse(PUBLIC.as_bytes()).expect("a key"),
            issuer: Some("me".to_owned()),
            audience: Some("floe".to_owned()),
        };
        let claims = tokens.verify(&token, 1999).expect("it is valid");
        assert_eq!(
            (claims.user.as_str(), &claims.groups[..]),
            ("ann", &["operators".to_owned()][..])
        );
        assert_eq!(tokens.verify(&token, 2030), Err(TokenError::Expired));
        let read = Unverified::read(&token).expect("a token");
        assert_eq!((read.algorithm.as_str(), read.expires), ("EdDSA", 2000));
    }

    #[test]
    fn claims_that_are_not_given_are_not_in_the_token() {
        let mut plain = grant("ann");
        (plain.groups, plain.issuer, plain.audience) = (Vec::new(), None, None);
        assert_eq!(plain.claims(), json!({"sub": "ann", "exp": 2000}));
    }

    #[test]
    fn a_grant_that_no_hub_would_accept_is_not_signed() {
        for wrong in ["", "a b", "anonymous"] {
            assert!(signer().sign(&grant(wrong)).is_err(), "{wrong:?}");
        }
        let mut many = grant("ann");
        many.groups = vec!["g".to_owned(); GROUPS_MAX + 1];
        let refused = signer().sign(&many).expect_err("too many");
        assert_eq!(refused, "expected at most 128 groups, got 129");
        many.groups = vec!["g".repeat(200); GROUPS_MAX];
        let refused = signer().sign(&many).expect_err("too long");
        assert!(
            refused.starts_with("expected a token of at most 8192 bytes"),
            "{refused}"
        );
    }

    #[test]
    fn a_file_without_a_key_of_the_right_kind_is_refused() {
        let locked = PRIVATE.replace("PRIVATE", "ENCRYPTED PRIVATE");
        let other = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
        for (wrong, said) in [
            ("", "got none"),
            (PUBLIC, "got none"),
            (locked.as_str(), "without a password"),
            (other, "got another kind"),
        ] {
            let error = Signer::parse(wrong.as_bytes()).expect_err(said);
            assert!(error.ends_with(said) || error.contains(said), "{error}");
        }
        assert_eq!(format!("{:?}", signer()), "Signer(_)");
    }
}
