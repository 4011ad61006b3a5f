//! Where participants can be reached, and the ports that the standard gives them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::codec::{DecodeError, Decoder, Encoder};

/// A transport address.
///
/// ```text
/// 0           4           8                     24
/// | kind: i32 | port: u32 | address: 16 octets  |
/// ```
///
/// An IPv4 address is in the last four octets. Source: DDSI-RTPS 2.5, 9.3.2.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Locator {
    /// The transport: 1 is UDP over IPv4, 2 is UDP over IPv6, and all others are unknown here.
    pub kind: i32,
    /// The port, which peers may write with 32 bits.
    pub port: u32,
    /// The address.
    pub address: [u8; 16],
}

impl Locator {
    /// UDP over IPv4.
    pub const UDP_V4: i32 = 1;
    /// UDP over IPv6.
    pub const UDP_V6: i32 = 2;

    /// The address to send to; `None` if it is no UDP locator, or has no port or address.
    pub fn address(&self) -> Option<SocketAddr> {
        let port = u16::try_from(self.port).ok().filter(|port| *port != 0)?;
        let ip = match self.kind {
            Self::UDP_V4 => {
                let [.., a, b, c, d] = self.address;
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            Self::UDP_V6 => IpAddr::V6(Ipv6Addr::from(self.address)),
            _ => return None,
        };
        let is_broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        (!ip.is_unspecified() && !is_broadcast).then(|| SocketAddr::new(ip, port))
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            kind: from.i32("locator")?,
            port: from.u32("locator")?,
            address: from.array("locator")?,
        })
    }

    pub(crate) fn encode(&self, into: &mut Encoder<'_>) {
        into.i32(self.kind);
        into.u32(self.port);
        into.bytes(&self.address);
    }
}

impl From<SocketAddr> for Locator {
    fn from(address: SocketAddr) -> Self {
        let mut octets = [0; 16];
        let kind = match address.ip() {
            IpAddr::V4(ip) => {
                octets[12..].copy_from_slice(&ip.octets());
                Self::UDP_V4
            }
            IpAddr::V6(ip) => {
                octets = ip.octets();
                Self::UDP_V6
            }
        };
        Self {
            kind,
            port: u32::from(address.port()),
            address: octets,
        }
    }
}

/// The group in which participants announce themselves, if nothing else is said. Source: DDSI-RTPS 2.5, 9.6.2.4.1.
pub const SPDP_GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// The domain up to which ports exist. In the last one, whose ports begin at 65,400, there are those of 62 participants.
pub const DOMAIN_MAX: u32 = 232;

/// The highest index of a participant on one host, so that its ports are below those of the next domain.
pub const PARTICIPANT_INDEX_MAX: u32 = 119;

/// The ports of a domain.
///
/// | traffic | port |
/// |---|---|
/// | discovery, multicast | 7400 + 250 domain |
/// | discovery, unicast | 7400 + 250 domain + 10 + 2 participant |
/// | samples, multicast | 7400 + 250 domain + 1 |
/// | samples, unicast | 7400 + 250 domain + 11 + 2 participant |
///
/// Source: DDSI-RTPS 2.5, 9.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainPorts {
    base: u16,
}

impl DomainPorts {
    /// The ports of a domain; `None` if it is above [`DOMAIN_MAX`].
    pub fn of(domain: u32) -> Option<Self> {
        let base = u16::try_from(7400 + 250 * u64::from(domain)).ok()?;
        (domain <= DOMAIN_MAX).then_some(Self { base })
    }

    /// Where discovery is heard by all participants of the domain.
    pub fn discovery_multicast(self) -> u16 {
        self.base
    }

    /// Where samples are heard by all participants of the domain.
    pub fn user_multicast(self) -> u16 {
        self.base + 1
    }

    /// Where the participant of this index on its host hears discovery; `None` if the index is above
    /// [`PARTICIPANT_INDEX_MAX`].
    pub fn discovery_unicast(self, index: u32) -> Option<u16> {
        let index = u16::try_from(index).ok()?;
        let is_known = u32::from(index) <= PARTICIPANT_INDEX_MAX;
        is_known.then(|| self.base.checked_add(10 + 2 * index))?
    }

    /// Where the participant of this index on its host hears samples; `None` as for discovery.
    pub fn user_unicast(self, index: u32) -> Option<u16> {
        self.discovery_unicast(index)?.checked_add(1)
    }

    /// Where the first `count` participants of a host hear discovery: announce yourself there if there is no multicast.
    pub fn peers_of(self, host: IpAddr, count: u32) -> impl Iterator<Item = SocketAddr> {
        (0..count)
            .map_while(move |index| self.discovery_unicast(index))
            .map(move |port| SocketAddr::new(host, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_standard() {
        let ports = DomainPorts::of(1).expect("it exists");
        assert_eq!(ports.discovery_multicast(), 7650);
        assert_eq!(ports.user_multicast(), 7651);
        assert_eq!(ports.discovery_unicast(2), Some(7664));
        assert_eq!(ports.user_unicast(2), Some(7665));
    }

    #[test]
    fn ports_that_do_not_exist_are_refused() {
        assert_eq!(DomainPorts::of(DOMAIN_MAX + 1), None);
        let last = DomainPorts::of(DOMAIN_MAX).expect("it exists");
        assert_eq!(last.user_unicast(61), Some(65_533));
        assert_eq!(last.user_unicast(PARTICIPANT_INDEX_MAX), None);
        let first = DomainPorts::of(0).expect("it exists");
        assert_eq!(first.user_unicast(PARTICIPANT_INDEX_MAX), Some(7649));
        assert_eq!(first.discovery_unicast(PARTICIPANT_INDEX_MAX + 1), None);
    }

    #[test]
    fn an_address_comes_back_and_a_strange_locator_has_none() {
        for text in ["127.0.0.1:7410", "[fe80::1]:7411"] {
            let address: SocketAddr = text.parse().expect("it is one");
            assert_eq!(Locator::from(address).address(), Some(address));
        }
        let good = Locator::from(SocketAddr::from(([10, 0, 0, 1], 7410)));
        for strange in [
            Locator { kind: 4, ..good },
            Locator { port: 0, ..good },
            Locator {
                port: 65_536,
                ..good
            },
            Locator {
                address: [0; 16],
                ..good
            },
        ] {
            assert_eq!(strange.address(), None, "{strange:?}");
        }
    }
}
