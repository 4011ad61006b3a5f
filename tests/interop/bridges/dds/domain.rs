//! A domain of DDS that no other test uses.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use floe_rtps::locator::DomainPorts;

/// A domain whose ports are free. No other test gets it before this is dropped.
#[derive(Debug)]
pub(crate) struct FreeDomain {
    number: u32,
    /// Held by who has the domain. Participants do not use this port: theirs are UDP.
    _lock: TcpListener,
}

impl FreeDomain {
    pub(crate) fn new() -> Self {
        let start = std::process::id() % COUNT;
        let domains = (0..COUNT).map(|turn| FIRST + (start + turn) % COUNT);
        let mut free = domains.filter_map(|number| {
            let ports = DomainPorts::of(number).expect("it exists");
            let lock = TcpListener::bind((Ipv4Addr::LOCALHOST, ports.discovery_multicast()));
            let is_free = (0..10).all(|index| {
                let port = ports.discovery_unicast(index).expect("it exists");
                UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
            });
            lock.ok()
                .filter(|_| is_free)
                .map(|_lock| Self { number, _lock })
        });
        free.next().expect("a domain is free")
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// The first domain that is tried: those below have tests of their own.
const FIRST: u32 = 60;
/// How many are tried. The ports of those above are given to other programs by the system.
const COUNT: u32 = 40;
