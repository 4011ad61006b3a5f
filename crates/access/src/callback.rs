//! The addresses to which a hub may deliver, so that no subscriber can use the hub to reach addresses that only it can
//! reach.

use core::net::IpAddr;

use crate::caller::Place;
use crate::network::Networks;

/// Where a subscriber may be.
#[derive(Debug, Clone, Copy)]
pub struct Callback<'a> {
    /// `None` if there are no rules. Then the subscriber may be anywhere.
    within: Option<Within<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct Within<'a> {
    subscriber: Place,
    /// Names of networks.
    allowed: &'a [String],
    networks: &'a Networks,
}

/// Where a proxy leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach<'a> {
    /// To an address.
    Address(IpAddr),
    /// To a host by its name. Each look-up of the name can give another address.
    Host(&'a str),
    /// To this computer, over a Unix socket.
    Here,
    /// To any place that a locator names.
    Located,
}

impl<'a> Callback<'a> {
    /// The subscriber may be anywhere.
    pub(crate) fn anywhere() -> Self {
        Self { within: None }
    }

    pub(crate) fn new(subscriber: Place, allowed: &'a [String], networks: &'a Networks) -> Self {
        let within = Within {
            subscriber,
            allowed,
            networks,
        };
        Self {
            within: Some(within),
        }
    }

    /// Returns true if a subscriber may be at this place: on the host that subscribes, or in a network that the rule
    /// names. A host by its name, or a place that a locator names, needs the network `any`. `own` are the addresses of
    /// this computer.
    pub fn permits(&self, reach: Reach<'_>, own: &[IpAddr]) -> bool {
        let Some(within) = &self.within else {
            return true;
        };
        match reach {
            Reach::Here => within.is_local(own) || within.allows(Place::Here),
            Reach::Host(name) if name.eq_ignore_ascii_case("localhost") => {
                self.permits(Reach::Here, own)
            }
            // `Place::Unknown` is only in the network `any`.
            Reach::Host(_) | Reach::Located => within.allows(Place::Unknown),
            Reach::Address(address) => {
                let address = address.to_canonical();
                let is_here = leads_here(address, own);
                within.subscriber_is_at(address)
                    || (is_here && within.is_local(own))
                    || within.allows(Place::At(loopback_if_unspecified(address)))
            }
        }
    }
}

impl Within<'_> {
    fn subscriber_is_at(&self, address: IpAddr) -> bool {
        matches!(self.subscriber, Place::At(own) if own.to_canonical() == address)
    }

    /// Returns true if the subscriber is on this computer.
    fn is_local(&self, own: &[IpAddr]) -> bool {
        match self.subscriber {
            Place::Here => true,
            Place::At(address) => leads_here(address.to_canonical(), own),
            Place::Unknown => false,
        }
    }

    fn allows(&self, place: Place) -> bool {
        let mut allowed = self.allowed.iter();
        allowed.any(|name| self.networks.contain(name, place))
    }
}

/// Returns true if a connection to an address ends on this computer.
fn leads_here(address: IpAddr, own: &[IpAddr]) -> bool {
    let is_own = || own.iter().any(|own| own.to_canonical() == address);
    address.is_loopback() || address.is_unspecified() || is_own()
}

/// A connection to the unspecified address ends on this computer.
fn loopback_if_unspecified(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) if v4.is_unspecified() => core::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(v6) if v6.is_unspecified() => core::net::Ipv6Addr::LOCALHOST.into(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn address(text: &str) -> Reach<'static> {
        Reach::Address(ip(text))
    }

    fn permits(subscriber: Place, allowed: &[&str], reach: Reach<'_>) -> bool {
        let allowed: Vec<_> = allowed.iter().map(|name| (*name).to_owned()).collect();
        let mut networks = Networks::default();
        let lab = vec!["10.1.0.0/16".parse().expect("a network")];
        networks.insert("lab", lab).expect("a new name");
        Callback::new(subscriber, &allowed, &networks).permits(reach, &[ip("192.0.2.7")])
    }

    #[test]
    fn a_subscriber_is_called_on_its_own_host_alone() {
        let remote = Place::At(ip("198.51.100.4"));
        assert!(permits(remote, &[], address("198.51.100.4")));
        assert!(permits(remote, &[], address("::ffff:198.51.100.4")));
        for other in [
            "198.51.100.5",
            "10.1.0.1",
            "192.0.2.7",
            "127.0.0.1",
            "0.0.0.0",
            "::",
            "::1",
            "169.254.169.254",
        ] {
            assert!(!permits(remote, &[], address(other)), "{other}");
        }
        for other in [
            Reach::Here,
            Reach::Host("localhost"),
            Reach::Host("example"),
            Reach::Located,
        ] {
            assert!(!permits(remote, &[], other), "{other:?}");
        }
    }

    #[test]
    fn a_subscriber_on_this_computer_is_called_at_any_of_its_addresses() {
        for local in [
            Place::Here,
            Place::At(ip("127.0.0.1")),
            Place::At(ip("192.0.2.7")),
        ] {
            for own in ["127.0.0.1", "::1", "192.0.2.7", "0.0.0.0"] {
                assert!(permits(local, &[], address(own)), "{local} {own}");
            }
            assert!(
                permits(local, &[], Reach::Here) && permits(local, &[], Reach::Host("LOCALHOST"))
            );
            assert!(!permits(local, &[], address("10.1.0.1")), "{local}");
        }
    }

    #[test]
    fn a_rule_may_name_further_networks() {
        let remote = Place::At(ip("198.51.100.4"));
        assert!(permits(remote, &["lab"], address("10.1.2.3")));
        assert!(!permits(remote, &["lab"], address("10.2.2.3")));
        assert!(!permits(remote, &["lab"], Reach::Host("example")));
        assert!(
            permits(remote, &["loopback"], address("0.0.0.0"))
                && permits(remote, &["loopback"], Reach::Here)
        );
        for anywhere in [
            address("10.2.2.3"),
            Reach::Host("example"),
            Reach::Located,
            Reach::Here,
        ] {
            assert!(permits(remote, &["any"], anywhere), "{anywhere:?}");
        }
    }

    #[test]
    fn the_sender_of_a_datagram_has_no_host() {
        assert!(!permits(Place::Unknown, &[], address("127.0.0.1")));
        assert!(!permits(Place::Unknown, &[], Reach::Here));
        assert!(permits(Place::Unknown, &["lab"], address("10.1.0.1")));
    }

    #[test]
    fn without_rules_a_subscriber_may_be_anywhere() {
        assert!(Callback::anywhere().permits(Reach::Located, &[]));
    }
}
