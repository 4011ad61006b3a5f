//! Hosts of endpoints, in one spelling, and patterns of them.

use ::core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use floe_access::Network;

use super::pattern::Pattern;

/// A host as a connection finds it, whatever its spelling in the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// An address. An IPv4 address that is written as an IPv6 one counts as IPv4.
    Address(IpAddr),
    /// A name, in lower case, without the dot of a complete name.
    Name(String),
}

impl Host {
    pub(super) fn parse(text: &str) -> Self {
        // Only an IPv6 address has a zone. Behind anything else, the text is a part of a name.
        let zoned = text.split_once('%');
        let zoned = zoned.and_then(|(address, _)| address.parse::<Ipv6Addr>().ok());
        if let Some(address) = zoned.map(IpAddr::V6).or_else(|| text.parse().ok()) {
            return Self::Address(address.to_canonical());
        }
        match ipv4(text) {
            Some(address) => Self::Address(address.into()),
            None => {
                let name = text.strip_suffix('.').unwrap_or(text);
                Self::Name(name.to_lowercase())
            }
        }
    }
}

/// An IPv4 address of one to four numbers, decimal, octal or hexadecimal: `127.1` is 127.0.0.1. The resolver of the
/// system reads a host so.
///
/// Source: POSIX, `inet_addr`.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    if first.len() > 3 || first.iter().any(|number| *number > 0xff) {
        return None;
    }
    // The last number stands for all bytes that remain.
    let bits_left = 32 - 8 * first.len() as u32;
    if u64::from(*last) >> bits_left != 0 {
        return None;
    }
    let bytes = first.iter().zip([24, 16, 8]);
    let high: u32 = bytes.map(|(number, shift)| number << shift).sum();
    Some(Ipv4Addr::from(high | last))
}

fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    is_number
        .then(|| u32::from_str_radix(digits, radix).ok())
        .flatten()
}

/// A pattern of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostPattern {
    /// `*`: any host.
    Any,
    /// A pattern of numbers, such as `10.0.*`. It matches IPv4 addresses, and no names.
    Address(Pattern),
    /// An IPv6 address, or a network such as `[2001:db8::/32]`.
    Network(Network),
    /// Any other pattern. It matches names, and no addresses.
    Name(Pattern),
}

impl HostPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let mut is_in_group = false;
        let is_of_numbers = text.chars().all(|character| {
            match character {
                '[' => is_in_group = true,
                ']' => is_in_group = false,
                _ => {}
            }
            is_in_group || matches!(character, '0'..='9' | '.' | '*' | ']')
        });
        match is_of_numbers {
            true => Pattern::parse(text).map(Self::Address),
            false => Pattern::parse(&text.to_lowercase()).map(Self::Name),
        }
    }

    pub(super) fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Address(pattern), Host::Address(IpAddr::V4(address))) => {
                pattern.matches(&address.to_string())
            }
            (Self::Network(network), Host::Address(address)) => network.contains(*address),
            (Self::Name(pattern), Host::Name(name)) => pattern.matches(name),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str) -> bool {
        let pattern = HostPattern::parse(pattern).expect(pattern);
        pattern.matches(&Host::parse(host))
    }

    #[test]
    fn every_spelling_of_an_address_is_the_address() {
        for spelling in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0177.0.0.1",
            "0x7f.0.0.0x1",
            "2130706433",
            "0x7F000001",
            "::ffff:127.0.0.1",
            "::ffff:7f00:1",
            "::ffff:127.0.0.1%eth0",
        ] {
            assert_eq!(
                Host::parse(spelling),
                Host::Address(Ipv4Addr::LOCALHOST.into()),
                "{spelling}"
            );
            assert!(matches("127.*", spelling), "{spelling}");
            assert!(matches("127.0.0.[1-2]", spelling), "{spelling}");
        }
    }

    #[test]
    fn what_only_begins_like_an_address_is_a_name() {
        for name in [
            "127.0.0.1.attacker.example",
            "127.0.0.1%.attacker.example",
            "127.1%eth0",
            "1.2.3.4.5",
            "256.1.1.1",
            "1.2.3.256",
            "4294967296",
            "0x",
            "08.1",
            "1..2",
            "",
        ] {
            assert!(matches!(Host::parse(name), Host::Name(_)), "{name}");
            assert!(
                !matches("127.*", name) && !matches("*.*.*.*", name),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_compared_as_the_name_service_does() {
        for host in ["db1.example", "DB1.Example", "db1.example."] {
            assert!(matches("DB*.example", host), "{host}");
            assert!(matches("db[1-2].example", host), "{host}");
            assert!(matches("*", host), "{host}");
        }
        assert!(!matches("db*.example", "db1.example.attacker.test"));
        assert!(matches("*", "::1") && matches("*", ""));
        assert!(!matches("*1", "::1"));
    }

    #[test]
    fn a_network_has_addresses_in_any_spelling_and_no_names() {
        let has = |network: &str, host: &str| {
            let network = HostPattern::Network(network.parse().expect(network));
            network.matches(&Host::parse(host))
        };
        assert!(has("::1", "0:0:0:0:0:0:0:1") && has("fe80::/10", "fe80::1%eth0"));
        assert!(has("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!has("2001:db8::/33", "2001:db8:8000::1"));
        // This reaches an IPv4 host, of which other rules decide.
        assert!(!has("::/0", "::ffff:10.0.0.1"));
        assert!(!has("::/0", "db.example"));
    }
}
