//! Endpoints that carry datagrams.

use core::net::IpAddr;

/// An endpoint that carries datagrams, to one receiver or to a multicast group.
///
/// The last four fields come from text and are not encoded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UdpEndpoint {
    /// Host name or address. If it is empty, an adapter listens on all interfaces, and a proxy sends to loopback.
    pub host: String,
    /// Port; 0 lets an adapter pick a free one.
    pub port: u16,
    /// True if the peer prefers compressed messages: `-z`.
    pub compress: bool,
    /// The local address to send from.
    pub source_address: Option<IpAddr>,
    /// The interface, by name or address, from which to send, or on which to join a multicast group.
    pub interface: Option<String>,
    /// The time to live of multicast datagrams.
    pub ttl: Option<u8>,
    /// True if an adapter's socket accepts only datagrams of its first sender: `-c`.
    pub connect: bool,
}

impl UdpEndpoint {
    /// An endpoint with only a host and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            ..Self::default()
        }
    }
}
