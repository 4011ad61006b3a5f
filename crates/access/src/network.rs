//! Networks, and the names that rules use for them.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::str::FromStr;

use ipnet::IpNet;

use crate::caller::Place;

/// Addresses with a common prefix, such as `10.1.0.0/16`. A single address is a network, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Returns true if an address is in the network. An IPv4 address that is mapped to IPv6 counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(address.to_canonical().into()));
        }
        let parsed = text.parse::<IpNet>();
        let net = parsed.map_err(|_| {
            format!("expected a network, such as \"10.1.0.0/16\" or \"fd00::/8\", got {text:?}")
        })?;
        match net == net.trunc() {
            true => Ok(Self(canonical(net))),
            false => Err(format!(
                "{text:?} has bits beyond its prefix: did you mean \"{}\"?",
                net.trunc()
            )),
        }
    }
}

/// An IPv4 network that is mapped to IPv6 as the IPv4 network: addresses are compared in this form.
fn canonical(net: IpNet) -> IpNet {
    let mapped = match net {
        IpNet::V4(_) => None,
        IpNet::V6(v6) => v6
            .addr()
            .to_ipv4_mapped()
            .zip(v6.prefix_len().checked_sub(IPV4_PREFIX)),
    };
    let mapped = mapped.and_then(|(address, prefix)| IpNet::new(address.into(), prefix).ok());
    mapped.unwrap_or(net)
}

/// The length of the prefix that addresses of IPv4 have in IPv6: `::ffff:0:0/96`.
const IPV4_PREFIX: u8 = 96;

/// Networks by the names that rules use.
///
/// Two are always defined. `loopback` is this computer, reached over loopback addresses or Unix sockets. `any` is
/// everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(BTreeMap<String, Vec<Network>>);

/// This computer.
const LOOPBACK: &str = "loopback";
/// Everywhere.
pub(crate) const ANY: &str = "any";

impl Networks {
    /// Gives some networks a name.
    ///
    /// # Errors
    /// The name is `loopback` or `any`, which are always defined.
    pub fn insert(&mut self, name: &str, networks: Vec<Network>) -> Result<(), String> {
        if [LOOPBACK, ANY].contains(&name) {
            return Err(format!(
                "the network {name:?} is always there and cannot be changed"
            ));
        }
        self.0.insert(name.to_owned(), networks);
        Ok(())
    }

    /// Returns true if this name is defined.
    pub fn is_known(&self, name: &str) -> bool {
        [LOOPBACK, ANY].contains(&name) || self.0.contains_key(name)
    }

    /// The names that a rule may use.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [LOOPBACK, ANY]
            .into_iter()
            .chain(self.0.keys().map(String::as_str))
    }

    /// Returns true if a place is in the networks of this name.
    pub fn contain(&self, name: &str, place: Place) -> bool {
        match (name, place) {
            (ANY, _) | (LOOPBACK, Place::Here) => true,
            (LOOPBACK, Place::At(address)) => address.to_canonical().is_loopback(),
            (_, Place::At(address)) => {
                let networks = self.0.get(name).into_iter().flatten();
                networks
                    .into_iter()
                    .any(|network| network.contains(address))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Place {
        Place::At(text.parse().expect("an address"))
    }

    #[test]
    fn a_network_has_the_addresses_with_its_prefix() {
        let network: Network = "10.1.0.0/16".parse().expect("a network");
        let has = |text: &str| network.contains(text.parse().expect("an address"));
        assert!(has("10.1.255.1") && has("::ffff:10.1.0.7"));
        assert!(!has("10.2.0.1") && !has("::1"));
        let mapped: Network = "::ffff:10.1.0.0/112".parse().expect("a network");
        assert_eq!(mapped, network);
        let one: Network = "::ffff:10.1.0.7".parse().expect("an address");
        assert!(one.contains("10.1.0.7".parse().expect("an address")));
    }

    #[test]
    fn a_network_with_bits_beyond_its_prefix_names_the_one_that_is_meant() {
        let error = "10.1.2.3/16"
            .parse::<Network>()
            .expect_err("it is ambiguous");
        assert!(error.contains("10.1.0.0/16"), "{error}");
        for wrong in ["", "lab", "10.1.0.0/33", "10.1.0/24", "10.1.0.0/"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn loopback_and_any_are_always_there() {
        let mut networks = Networks::default();
        assert!(networks.contain("loopback", at("127.0.0.9")));
        assert!(networks.contain("loopback", at("::1")));
        assert!(networks.contain("loopback", at("::ffff:127.0.0.1")));
        assert!(networks.contain("loopback", Place::Here));
        assert!(!networks.contain("loopback", at("10.0.0.1")));
        assert!(!networks.contain("loopback", Place::Unknown));
        assert!(networks.contain("any", Place::Unknown));
        assert!(networks.insert("any", Vec::new()).is_err());
    }

    #[test]
    fn a_place_that_is_not_known_is_in_no_network_but_any() {
        let mut networks = Networks::default();
        let lab = vec!["0.0.0.0/0".parse().expect("a network")];
        networks.insert("lab", lab).expect("a new name");
        assert!(networks.contain("lab", at("10.0.0.1")));
        assert!(!networks.contain("lab", Place::Unknown));
        assert!(!networks.contain("lab", Place::Here));
        assert!(!networks.contain("other", at("10.0.0.1")));
    }
}
