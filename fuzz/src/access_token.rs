//! Tokens as a caller shows them, and files of keys as an operator gives them.

use floe_access::{Keys, Tokens};

/// Public keys that the corpus has tokens for.
const KEYS: &[u8] = include_bytes!("../../crates/access/tests/tokens/keys.json");
/// While those tokens are good, in seconds since 1970.
const NOW: u64 = 1_999_999_000;

/// Reads `input` as a token, and as a file of keys.
///
/// Whatever the bytes are, this must end without a panic, and an error has none of a token's text.
pub(crate) fn run(input: &[u8]) {
    let _ = Keys::parse(input);
    let Ok(token) = std::str::from_utf8(input) else {
        return;
    };
    let tokens = Tokens {
        keys: Keys::parse(KEYS).expect("the keys are good"),
        issuer: None,
        audience: None,
    };
    match tokens.verify(token, NOW) {
        Ok(claims) => assert_eq!(claims.user, "ann"),
        Err(error) => assert!(token.len() < 64 || !error.to_string().contains(token)),
    }
}
