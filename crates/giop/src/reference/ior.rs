//! An object reference.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::corbaloc::Corbaloc;
use super::error::{ParseError, ParseErrorKind};
use super::profile::{IiopProfile, Profile};
use crate::cdr::{DecodeError, Decoder, EncodeError, Encoder};

/// The most profiles of a reference. ORBs send 1 to 3.
pub const PROFILES_MAX: usize = 128;

/// The longest text of a reference. Those of ORBs have 200 to 2,000 characters.
pub const TEXT_LEN_MAX: usize = 64 * 1024;

/// An interoperable object reference. One without profiles is nil.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Ior {
    /// The repository id of the interface, such as `IDL:omg.org/CosNaming/NamingContext:1.0`. It may be empty.
    pub type_id: String,
    /// The ways to reach the object.
    pub profiles: Vec<Profile>,
}

impl Ior {
    /// A reference to no object.
    pub const NIL: Self = Self {
        type_id: String::new(),
        profiles: Vec::new(),
    };

    /// A reference with one profile.
    pub fn new(type_id: &str, profile: IiopProfile) -> Self {
        Self {
            type_id: type_id.to_owned(),
            profiles: vec![Profile::Iiop(profile)],
        }
    }

    /// Returns true if it refers to no object.
    pub fn is_nil(&self) -> bool {
        self.profiles.is_empty()
    }

    /// The profiles of IIOP, in their order.
    pub fn iiop_profiles(&self) -> impl Iterator<Item = &IiopProfile> {
        self.profiles.iter().filter_map(|profile| match profile {
            Profile::Iiop(profile) => Some(profile),
            _ => None,
        })
    }

    /// Reads a reference.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let type_id = decoder.name("type id of a reference")?;
        let count = decoder.count(8, PROFILES_MAX, "profiles of a reference")?;
        let profiles = (0..count).map(|_| Profile::decode(decoder));
        let profiles = profiles.collect::<Result<_, _>>()?;
        Ok(Self { type_id, profiles })
    }

    /// Appends the reference.
    ///
    /// # Errors
    /// [`EncodeError::InnerNul`] in a text, [`EncodeError::TooLong`].
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.name(&self.type_id)?;
        encoder.len_of("list of profiles", self.profiles.len())?;
        self.profiles
            .iter()
            .try_for_each(|profile| profile.encode(encoder))
    }

    /// The text `IOR:` and the bytes in hexadecimal digits.
    ///
    /// # Errors
    /// As [`Ior::encode`].
    pub fn to_text(&self) -> Result<String, EncodeError> {
        let bytes = Encoder::encapsulation_bytes(|encoder| self.encode(encoder))?;
        let mut text = String::with_capacity(4 + 2 * bytes.len());
        text.push_str("IOR:");
        for byte in bytes {
            // A string takes all that is written to it.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(text)
    }

    fn from_hex(text: &str, digits: &str) -> Result<Self, ParseError> {
        let error = |kind| ParseError::new(text, kind);
        let bytes = from_hex(digits).ok_or_else(|| error(ParseErrorKind::NotHex))?;
        let decoded = Decoder::encapsulation_of(&bytes).and_then(|mut decoder| {
            // Bytes may follow: some ORBs pad the text.
            Self::decode(&mut decoder)
        });
        decoded.map_err(|inner| error(ParseErrorKind::Decode(inner)))
    }
}

/// Parses `IOR:` followed by hexadecimal digits, or a `corbaloc` with addresses.
impl FromStr for Ior {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let error = |kind| ParseError::new(text, kind);
        if text.len() > TEXT_LEN_MAX {
            return Err(error(ParseErrorKind::TooLong(text.len())));
        }
        match text.split_once(':') {
            Some((scheme, digits)) if scheme.eq_ignore_ascii_case("ior") => {
                Self::from_hex(text, digits)
            }
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("corbaloc") => {
                text.parse::<Corbaloc>()?.to_ior(text)
            }
            _ => Err(error(ParseErrorKind::UnknownScheme)),
        }
    }
}

/// Shows the interface and the addresses, for people; [`Ior::to_text`] makes the text for other programs.
impl fmt::Display for Ior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nil() {
            return f.write_str("nil");
        }
        f.write_str(&crate::cdr::quoted(&self.type_id))?;
        for address in self.iiop_profiles().flat_map(IiopProfile::addresses) {
            write!(
                f,
                " at {}:{}",
                crate::cdr::quoted(&address.host),
                address.port
            )?;
        }
        Ok(())
    }
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? * 16 + digit(*low)?) as u8);
    let bytes = pairs.iter().map(byte).collect::<Option<_>>();
    bytes.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Ior {
        let key = bytes::Bytes::from_static(b"\x00key\xff");
        Ior::new(
            "IDL:Market/Feed:1.0",
            IiopProfile::new("feed.example", 4711, key).expect("it is short"),
        )
    }

    #[test]
    fn a_reference_survives_its_text_in_either_case() {
        let text = sample().to_text().expect("it is short");
        assert_eq!(text.parse(), Ok(sample()));
        let upper = format!("ior:{}", text[4..].to_uppercase());
        assert_eq!(upper.parse(), Ok(sample()));
    }

    #[test]
    fn an_address_of_a_component_comes_after_that_of_the_profile() {
        let mut ior = sample();
        if let Profile::Iiop(profile) = &mut ior.profiles[0] {
            let other = Component::alternate_address("second", 4712).expect("it is short");
            profile.components.push(other);
        }
        assert_eq!(
            ior.to_string(),
            "IDL:Market/Feed:1.0 at feed.example:4711 at second:4712"
        );
    }

    #[test]
    fn texts_that_are_no_reference_say_what_was_expected() {
        let cut = sample().to_text().expect("it is short");
        for (text, expected) in [
            ("", "begins with IOR: or corbaloc:"),
            ("IOR:0", "pairs of hexadecimal digits"),
            ("IOR:0g", "pairs of hexadecimal digits"),
            ("IOR:", "byte order of an encapsulation"),
            (&cut[..60], "copy all of it"),
            ("IOR:010000000100000000000000ffffffff", "at most 128"),
            (
                "corbaloc:rir:/NameService",
                "corbaloc::host:2809/NameService",
            ),
        ] {
            let error = text.parse::<Ior>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_not_looked_into() {
        let long = format!("IOR:{}", "0".repeat(TEXT_LEN_MAX));
        let error = long.parse::<Ior>().expect_err("it is too long");
        assert_eq!(error.kind, ParseErrorKind::TooLong(TEXT_LEN_MAX + 4));
        assert!(error.to_string().len() < 300);
    }

    use super::super::Component;
}
