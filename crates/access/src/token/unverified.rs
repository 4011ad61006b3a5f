//! The claims of a token that nobody has proved: for people who look at one.

use super::{Audience, Header, Payload, TOKEN_LEN_MAX, TokenError, decode_json, seconds};

/// What a token says, without a check of its signature and its times. No decision may rest on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unverified {
    /// The algorithm that it names.
    pub algorithm: String,
    /// The identifier of the key that it names.
    pub key_id: Option<String>,
    /// The name of its user, `sub`.
    pub user: String,
    /// Its `groups`.
    pub groups: Vec<String>,
    /// Its issuer, `iss`.
    pub issuer: Option<String>,
    /// Those who may accept it, `aud`.
    pub audiences: Vec<String>,
    /// When it begins, `nbf`, in seconds since 1970.
    pub begins: Option<u64>,
    /// When it ends, `exp`, in seconds since 1970, without any leeway for clocks.
    pub expires: u64,
}

impl Unverified {
    /// Reads the claims of a token.
    ///
    /// # Errors
    /// [`TokenError::TooLong`], and [`TokenError::Malformed`] if it is no signed JSON web token with `sub` and `exp`.
    pub fn read(token: &str) -> Result<Self, TokenError> {
        if token.len() > TOKEN_LEN_MAX {
            return Err(TokenError::TooLong);
        }
        let (message, _signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Malformed)?;
        let header: Header = decode_json(header)?;
        let payload: Payload = decode_json(payload)?;
        Ok(Self {
            algorithm: header.alg,
            key_id: header.kid,
            user: payload.sub,
            groups: payload.groups,
            issuer: payload.iss,
            audiences: match payload.aud {
                None => Vec::new(),
                Some(Audience::One(one)) => vec![one],
                Some(Audience::Several(several)) => several,
            },
            begins: payload.nbf.map(seconds).transpose()?,
            expires: seconds(payload.exp)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = include_str!("../../tests/tokens/tokens.txt");

    #[test]
    fn a_token_of_another_program_tells_its_claims() {
        let line = TOKENS.lines().find(|line| line.starts_with("es256 "));
        let (_, token) = line.expect("it is there").split_once(' ').expect("a token");
        let read = Unverified::read(token).expect("a token");
        assert_eq!(
            (read.algorithm.as_str(), read.user.as_str()),
            ("ES256", "ann")
        );
        assert_eq!(read.groups, ["operators"]);
        assert_eq!(read.issuer.as_deref(), Some("https://issuer.example"));
        assert_eq!(read.audiences, ["floe"]);
        assert_eq!(
            (read.begins, read.expires),
            (Some(1_999_990_000), 2_000_000_000)
        );
    }

    #[test]
    fn a_text_that_is_no_token_is_refused() {
        for wrong in ["", "a.b", "a.b.c", "e30.e30.e30", "é.é.é"] {
            assert_eq!(
                Unverified::read(wrong),
                Err(TokenError::Malformed),
                "{wrong}"
            );
        }
        let long = "a".repeat(TOKEN_LEN_MAX + 1);
        assert_eq!(Unverified::read(&long), Err(TokenError::TooLong));
    }
}
