//! Endpoints that carry datagrams.

use core::net::IpAddr;

/// An endpoint that carries datagrams, to one receiver or to a multicast group.
///
/// The last four fields come from text and are not transmitted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UdpEndpoint {
    /// Host name or address; empty for any (an adapter) or loopback (a proxy).
    pub host: String,
    /// Port; 0 lets an adapter pick a free one.
    pub port: u16,
    /// Whether the peer prefers compressed messages: `-z`.
    pub compress: bool,
    /// The local address to send from.
    pub source_address: Option<IpAddr>,
    /// The interface, by name or address, to send to or to join a multicast group on.
    pub interface: Option<String>,
    /// How far multicast datagrams go.
    pub ttl: Option<u8>,
    /// An adapter's socket accepts the datagrams of its first sender alone: `-c`.
    pub connect: bool,
}

impl UdpEndpoint {
    /// An endpoint that only has a host and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            ..Self::default()
        }
    }
}
