//! Addresses to which datagrams are sent and from which they are heard: a peer chooses the addresses that it announces, and
//! must not make us send to a third party.

use std::net::{IpAddr, SocketAddr};

/// The addresses that a participant deals with.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    networks: Vec<Network>,
    /// Hosts outside of the networks.
    peers: Vec<IpAddr>,
    /// The groups of discovery.
    groups: Vec<SocketAddr>,
}

/// The network of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    /// The address of the interface.
    pub(crate) address: IpAddr,
    /// The mask of the network; of the family of the address.
    pub(crate) mask: IpAddr,
}

impl Reach {
    pub(crate) fn new(networks: Vec<Network>, peers: Vec<IpAddr>, groups: Vec<SocketAddr>) -> Self {
        Self {
            networks,
            peers,
            groups,
        }
    }

    /// True if a datagram of this host is heard.
    pub(crate) fn hears(&self, from: IpAddr) -> bool {
        self.peers.contains(&from) || self.network_of(from).is_some()
    }

    /// True if a datagram may be sent there. The ports of other services are left alone: those of DDS are above 7400, and
    /// those that a system gives above 1023.
    pub(crate) fn sends_to(&self, to: SocketAddr) -> bool {
        self.groups.contains(&to) || to.port() >= PORT_MIN && self.hears(to.ip())
    }

    /// The interface by whose socket a host is reached.
    pub(crate) fn interface_to(&self, to: IpAddr) -> usize {
        let of_family = |network: &Network| network.address.is_ipv4() == to.is_ipv4();
        self.network_of(to)
            .or_else(|| self.networks.iter().position(of_family))
            .unwrap_or(0)
    }

    fn network_of(&self, address: IpAddr) -> Option<usize> {
        self.networks.iter().position(|it| it.has(address))
    }
}

impl Network {
    /// True if the address is one of a host of the network, and not of all.
    fn has(&self, address: IpAddr) -> bool {
        match (self.address, self.mask, address) {
            (IpAddr::V4(own), IpAddr::V4(mask), IpAddr::V4(other)) => {
                let mask = mask.to_bits();
                let is_broadcast = mask < u32::MAX - 1 && other.to_bits() | mask == u32::MAX;
                own.to_bits() & mask == other.to_bits() & mask && !is_broadcast
            }
            (IpAddr::V6(own), IpAddr::V6(mask), IpAddr::V6(other)) => {
                own.to_bits() & mask.to_bits() == other.to_bits() & mask.to_bits()
            }
            _ => false,
        }
    }
}

/// The lowest port that is sent to.
const PORT_MIN: u16 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn reach() -> Reach {
        let network = |address: &str, mask: &str| Network {
            address: address.parse().expect("it is one"),
            mask: mask.parse().expect("it is one"),
        };
        Reach::new(
            vec![
                network("127.0.0.1", "255.0.0.0"),
                network("10.1.2.3", "255.255.255.0"),
                network("fd00::1", "ffff::"),
            ],
            vec!["192.168.0.9".parse().expect("it is one")],
            vec!["239.255.0.1:7400".parse().expect("it is one")],
        )
    }

    #[test]
    fn only_networks_of_interfaces_peers_and_groups_are_sent_to() {
        let reach = reach();
        let sends_to = |to: &str| reach.sends_to(to.parse().expect("it is one"));
        for to in [
            "127.0.0.1:7410",
            "127.1.2.3:1024",
            "10.1.2.200:60000",
            "192.168.0.9:7410",
            "239.255.0.1:7400",
            "[fd00::2]:7410",
        ] {
            assert!(sends_to(to), "{to}");
        }
        for to in [
            "10.1.3.1:7410",
            "8.8.8.8:7410",
            "127.0.0.1:53",
            "10.1.2.255:7410",
            "192.168.0.10:7410",
            "239.255.0.1:7401",
            "224.0.0.1:7400",
            "255.255.255.255:7400",
            "[fe80::1]:7410",
        ] {
            assert!(!sends_to(to), "{to}");
        }
    }

    #[test]
    fn each_host_is_reached_by_its_interface() {
        let reach = reach();
        let interface_to = |to: &str| reach.interface_to(to.parse().expect("it is one"));
        assert_eq!(interface_to("127.0.0.5"), 0);
        assert_eq!(interface_to("10.1.2.5"), 1);
        assert_eq!(interface_to("192.168.0.9"), 0);
        assert_eq!(interface_to("fd11::1"), 2);
    }
}
