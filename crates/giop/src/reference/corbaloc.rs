//! `corbaloc`: an object by address and key, as people write it.
//!
//! ```text
//! corbaloc:iiop:1.2@host:2809,:second:2810/NameService
//! corbaloc::host/NameService          iiop, version 1.0, port 2809
//! corbaloc:rir:/NameService           an initial reference of the ORB
//! ```
//!
//! Source: CORBA 3.0.3, 13.6.10.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::error::{ParseError, ParseErrorKind};
use super::ior::{Ior, PROFILES_MAX};
use super::profile::{IiopProfile, Profile};
use crate::cdr::Version;

/// The port of an address without one, which is that of naming services.
pub const DEFAULT_PORT: u16 = 2809;

/// A parsed `corbaloc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corbaloc {
    /// The addresses in the order in which they are tried. None means an initial reference of the ORB (`rir`).
    pub addresses: Vec<Address>,
    /// The object key.
    pub key: Bytes,
}

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// The version of GIOP to speak.
    pub version: Version,
    /// The host: a name, or an IP address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Corbaloc {
    /// The reference: a profile for each address, and an unknown interface.
    ///
    /// # Errors
    /// [`ParseErrorKind::InitialReference`] if there is no address. `text` is for the error.
    pub fn to_ior(&self, text: &str) -> Result<Ior, ParseError> {
        if self.addresses.is_empty() {
            return Err(ParseError::new(text, ParseErrorKind::InitialReference));
        }
        let profiles = self.addresses.iter().map(|address| {
            Profile::Iiop(IiopProfile {
                version: address.version,
                host: address.host.clone(),
                port: address.port,
                key: self.key.clone(),
                components: Vec::new(),
            })
        });
        Ok(Ior {
            type_id: String::new(),
            profiles: profiles.collect(),
        })
    }
}

impl FromStr for Corbaloc {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = |expected, got: &str| {
            let got = got.to_owned();
            ParseError::new(text, ParseErrorKind::Corbaloc { expected, got })
        };
        let rest = match text.split_once(':') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("corbaloc") => rest,
            _ => return Err(error("`corbaloc:`", text)),
        };
        let (addresses, key) = rest.split_once('/').unwrap_or((rest, ""));
        let key = unescape(key).ok_or_else(|| error("two hexadecimal digits after each %", key))?;
        let mut parsed = Vec::new();
        if addresses != "rir:" {
            for address in addresses.split(',') {
                if parsed.len() == PROFILES_MAX {
                    return Err(error("at most 128 addresses", "more"));
                }
                let address = parse_address(address).map_err(|expected| error(expected, address));
                parsed.push(address?);
            }
        }
        Ok(Self {
            addresses: parsed,
            key: key.into(),
        })
    }
}

fn parse_address(text: &str) -> Result<Address, &'static str> {
    let (protocol, rest) = text
        .split_once(':')
        .ok_or("an address such as `iiop:host:2809`")?;
    if !protocol.is_empty() && protocol != "iiop" {
        return Err("the protocol `iiop`, which may be left out, as in `corbaloc::host/Key`");
    }
    let (version, rest) = match rest.split_once('@') {
        None => (Version::V1_0, rest),
        Some((version, rest)) => {
            let numbers = version.split_once('.').and_then(|(major, minor)| {
                Version::new(major.parse().ok()?, minor.parse::<u8>().ok()?.min(2))
            });
            (
                numbers.ok_or("a version such as `1.2` in front of @")?,
                rest,
            )
        }
    };
    let (host, port) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("a `]` behind an IPv6 address")?;
            let port = match rest {
                "" => None,
                rest => Some(rest.strip_prefix(':').ok_or("`:` and a port behind `]`")?),
            };
            (host, port)
        }
        None => match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        },
    };
    if host.is_empty() {
        return Err("a host");
    }
    if host.contains('\0') {
        return Err("a host without NUL");
    }
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        Some(port) => port.parse().map_err(|_| "a port from 0 to 65535")?,
    };
    let host = host.to_owned();
    Ok(Address {
        version,
        host,
        port,
    })
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut key = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        key.push(match byte {
            b'%' => (digit()? * 16 + digit()?) as u8,
            byte => byte,
        });
    }
    Some(key)
}

/// Prints it as it is parsed.
impl fmt::Display for Corbaloc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaloc:")?;
        if self.addresses.is_empty() {
            f.write_str("rir:")?;
        }
        for (at, address) in self.addresses.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let Address {
                version,
                host,
                port,
            } = address;
            match host.contains(':') {
                true => write!(f, "{comma}iiop:{version}@[{host}]:{port}")?,
                false => write!(f, "{comma}iiop:{version}@{host}:{port}")?,
            }
        }
        f.write_str("/")?;
        for &byte in &self.key {
            // The characters that need no escape: CORBA 3.0.3, 13.6.10.3.
            match byte.is_ascii_alphanumeric() || b";/:?@&=+$,-_.!~*'()".contains(&byte) {
                true => write!(f, "{}", char::from(byte))?,
                false => write!(f, "%{byte:02x}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Vec<(Version, String, u16)> {
        let parsed: Corbaloc = text.parse().expect(text);
        let addresses = parsed.addresses.into_iter();
        addresses
            .map(|address| (address.version, address.host, address.port))
            .collect()
    }

    #[test]
    fn version_and_port_have_defaults() {
        let expected = [(Version::V1_0, "host".to_owned(), 2809)];
        assert_eq!(addresses("corbaloc::host/NameService"), expected);
        assert_eq!(
            addresses("corbaloc:iiop:1.0@host:2809/NameService"),
            expected
        );
    }

    #[test]
    fn several_addresses_become_profiles_in_their_order() {
        let text = "corbaloc:iiop:1.2@a:1,:b,iiop:1.1@[::1]:3/Key%2f%00";
        let ior: Ior = text.parse().expect(text);
        let hosts = ior
            .iiop_profiles()
            .map(|profile| (&*profile.host, profile.port));
        assert_eq!(
            hosts.collect::<Vec<_>>(),
            [("a", 1), ("b", 2809), ("::1", 3)]
        );
        let keys = ior.iiop_profiles().map(|profile| &profile.key[..]);
        assert!(keys.into_iter().all(|key| key == b"Key/\0"));
    }

    #[test]
    fn it_is_printed_as_it_is_parsed() {
        for text in [
            "corbaloc:iiop:1.2@a:1,iiop:1.0@[::1]:3/K%00ey",
            "corbaloc:rir:/NameService",
        ] {
            let parsed: Corbaloc = text.parse().expect(text);
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("corbaloc:", "an address such as"),
            ("corbaloc:ssliop:host/Key", "the protocol `iiop`"),
            ("corbaloc:iiop:2.0@host/Key", "a version such as `1.2`"),
            ("corbaloc::host:99999/Key", "a port from 0 to 65535"),
            ("corbaloc::/Key", "a host"),
            ("corbaloc::[::1/Key", "behind an IPv6 address"),
            ("corbaloc::host/Key%4", "two hexadecimal digits"),
        ] {
            let error = text.parse::<Corbaloc>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
