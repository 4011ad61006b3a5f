//! Bytes as hexadecimal text.

use std::fmt;

/// Text that is not hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HexError {
    /// A character that is neither a digit nor white space.
    NoDigit {
        /// The character.
        found: char,
        /// The byte that it would be part of, counted from 0.
        offset: usize,
    },
    /// The last byte has one digit.
    OddDigits {
        /// How many digits there are.
        count: usize,
    },
}

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDigit { found, offset } => write!(
                f,
                "expected hexadecimal digits, got {found:?} where byte {offset} should stand"
            ),
            Self::OddDigits { count } => write!(
                f,
                "expected two hexadecimal digits for each byte, got {count} digits"
            ),
        }
    }
}

impl std::error::Error for HexError {}

/// Bytes as digits in lower case, two for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Bytes from digits in lower or upper case; white space may stand anywhere.
///
/// # Errors
/// [`HexError`]: another character, or half a byte.
pub fn from_hex(text: &str) -> Result<Vec<u8>, HexError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    // The digit that waits for its second half.
    let mut upper = None;
    for found in text.chars().filter(|char| !char.is_whitespace()) {
        let offset = bytes.len();
        let digit = found
            .to_digit(16)
            .ok_or(HexError::NoDigit { found, offset })?;
        match upper.take() {
            None => upper = Some(digit),
            // Two digits are at most 255.
            Some(upper) => bytes.push((upper * 16 + digit) as u8),
        }
    }
    match upper {
        None => Ok(bytes),
        Some(_) => Err(HexError::OddDigits {
            count: bytes.len() * 2 + 1,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_survive_as_text() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = to_hex(&bytes);
        assert!(text.starts_with("000102") && text.ends_with("fdfeff"));
        assert_eq!(from_hex(&text).as_ref(), Ok(&bytes));
        assert_eq!(from_hex(&text.to_uppercase()), Ok(bytes));
    }

    #[test]
    fn white_space_may_stand_anywhere() {
        assert_eq!(from_hex(" 49\t6 3\n65 50\r\n").as_deref(), Ok(&b"IceP"[..]));
        assert_eq!(from_hex(""), Ok(Vec::new()));
    }

    #[test]
    fn what_is_not_hexadecimal_is_refused_with_its_place() {
        let refused = |text| from_hex(text).map_err(|error| error.to_string());
        assert_eq!(
            refused("00 0g"),
            Err("expected hexadecimal digits, got 'g' where byte 1 should stand".to_owned())
        );
        assert_eq!(
            refused("00 0"),
            Err("expected two hexadecimal digits for each byte, got 3 digits".to_owned())
        );
    }
}
