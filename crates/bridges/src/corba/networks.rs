//! The networks to which the bridge connects.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ipnet::IpNet;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The networks to whose consumers the bridge connects. By default this computer.
///
/// In settings each is an address or a network, such as `10.1.0.0/16` or `fd00::/8`. Where `127.0.0.1` is allowed, the other
/// addresses of this computer are: ORBs put them into references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Returns true if an address is in one of them. An IPv4 address that is mapped to IPv6 counts as the IPv4 address.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let contains = |address: IpAddr| self.0.iter().any(|it| it.contains(&address));
        contains(address) || is_of_this_computer(address) && contains(Ipv4Addr::LOCALHOST.into())
    }

    fn parse(text: &str) -> Result<IpNet, String> {
        let network = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address.to_canonical()),
            Err(_) => text.parse().map_err(|_| {
                format!("expected a network, such as \"10.1.0.0/16\" or \"fd00::/8\", got {text:?}")
            })?,
        };
        match network == network.trunc() {
            true => Ok(network),
            false => Err(format!(
                "{text:?} has bits beyond its prefix: did you mean \"{}\"?",
                network.trunc()
            )),
        }
    }
}

impl Default for Networks {
    fn default() -> Self {
        let v4 = IpNet::new_assert(Ipv4Addr::new(127, 0, 0, 0).into(), 8);
        Self(vec![v4, IpNet::from(IpAddr::from(Ipv6Addr::LOCALHOST))])
    }
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let networks = texts.iter().map(|text| Self::parse(text));
        let networks = networks.collect::<Result<_, _>>();
        networks.map(Self).map_err(D::Error::custom)
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(IpNet::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

/// True if an address is one of this computer.
pub(super) fn is_of_this_computer(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_one_place = !address.is_unspecified() && !address.is_multicast();
    // The system lets a socket have no other.
    address.is_loopback() || is_one_place && UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_the_default() {
        let networks = Networks::default();
        for address in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            let address = address.parse().expect("it is an address");
            assert!(networks.contain(address), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.0.0.1",
            "169.254.169.254",
            "::",
            "::ffff:10.0.0.1",
        ] {
            let address = address.parse().expect("it is an address");
            assert!(!networks.contain(address), "{address}");
        }
    }

    #[test]
    fn a_network_has_no_bits_beyond_its_prefix() {
        let error = Networks::parse("10.1.2.3/16").expect_err("it has bits");
        assert!(error.contains("10.1.0.0/16"), "{error}");
        assert!(Networks::parse("localhost").is_err());
    }
}
