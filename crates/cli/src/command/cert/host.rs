//! The hosts of a server: names and addresses that its certificate is for.

use std::net::IpAddr;

use rcgen::SanType;

/// A host, as clients name it in an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A name of the DNS, in small letters; its first label may be `*`.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads a host.
    ///
    /// # Errors
    /// The text is neither an address nor a name.
    ///
    /// Source: RFC 1123, section 2.1 (names of hosts), RFC 6125, section 6.4.3 (`*`).
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
            return match address.is_unspecified() {
                true => Err(format!(
                    "expected the name or address by which clients reach the server, got {text}, which stands for all addresses"
                )),
                false => Ok(Self::Address(address)),
            };
        }
        let name = text.to_ascii_lowercase();
        let rest = name.strip_prefix("*.").unwrap_or(&name);
        let last = rest.rsplit('.').next().unwrap_or_default();
        let is_number = last.chars().all(|char| char.is_ascii_digit());
        match name.len() <= NAME_MAX && rest.split('.').all(is_label) && !is_number {
            true => Ok(Self::Name(name)),
            false => Err(format!(
                "expected an IP address or the name of a host, such as hub.example.org or *.example.org, got {text:?}"
            )),
        }
    }

    pub(super) fn of_certificate(&self) -> Result<SanType, rcgen::Error> {
        Ok(match self {
            Self::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Self::Address(address) => SanType::IpAddress(*address),
        })
    }
}

fn is_label(label: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let length = 1..=63;
    length.contains(&label.len())
        && label.chars().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// In bytes.
const NAME_MAX: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_a_name() {
        for (text, shown) in [
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "::1"),
            ("[fd00::1]", "fd00::1"),
            ("localhost", "localhost"),
            ("Hub.Example.ORG", "hub.example.org"),
            ("*.example.org", "*.example.org"),
            ("a_b-c.local", "a_b-c.local"),
        ] {
            let host = Host::parse(text).expect(text);
            assert_eq!(host.to_string(), shown);
            assert!(host.of_certificate().is_ok(), "{text}");
        }
        let long = format!("{}.org", "a.".repeat(130));
        let label = "a".repeat(64);
        for wrong in [
            "",
            "*",
            "0.0.0.0",
            "::",
            "a b",
            "a:1",
            "tcp -h a",
            "a..b",
            ".a",
            "a.",
            "-a",
            "a-",
            "a.*.b",
            "ü.org",
            "1.2.3",
            "300.1.1.1",
            "a/b",
            &long,
            &label,
        ] {
            assert!(Host::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
