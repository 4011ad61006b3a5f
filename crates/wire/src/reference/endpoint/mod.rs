//! Endpoints: ways to reach an adapter.
//!
//! Each kind of endpoint is a type in its own file. `codec` encodes and decodes them, `print` and `parse` convert them
//! to and from text. An unknown endpoint is an [`OpaqueEndpoint`], and stays unchanged.

mod codec;
mod opaque;
mod parse;
mod print;
mod protocol;
mod tcp;
mod token;
mod udp;
mod unix;

pub use opaque::OpaqueEndpoint;
pub use protocol::Protocol;
pub use tcp::{DEFAULT_TIMEOUT_MS, TcpEndpoint, Timeout, WsEndpoint};
pub use udp::UdpEndpoint;
pub use unix::UnixEndpoint;

pub(super) use codec::MIN_ENDPOINT_LEN;
pub(super) use parse::{EndpointRole, parse_list};
pub(super) use print::write_endpoint;

/// A way to reach an adapter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Endpoint {
    /// A TCP connection.
    Tcp(TcpEndpoint),
    /// TLS over TCP.
    Ssl(TcpEndpoint),
    /// A WebSocket.
    Ws(WsEndpoint),
    /// A WebSocket over TLS.
    Wss(WsEndpoint),
    /// Datagrams, to one receiver or to a multicast group.
    Udp(UdpEndpoint),
    /// A socket in the file system of one host. Only between Floe peers.
    Unix(UnixEndpoint),
    /// Any other endpoint, such as bluetooth and iAP, or one with an invalid value.
    Opaque(OpaqueEndpoint),
}

impl Endpoint {
    /// A TCP endpoint with the default timeout.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Self::Tcp(TcpEndpoint::new(host, port))
    }

    /// The protocol, if Floe knows it.
    pub const fn protocol(&self) -> Option<Protocol> {
        match self {
            Self::Tcp(_) => Some(Protocol::Tcp),
            Self::Ssl(_) => Some(Protocol::Ssl),
            Self::Ws(_) => Some(Protocol::Ws),
            Self::Wss(_) => Some(Protocol::Wss),
            Self::Udp(_) => Some(Protocol::Udp),
            Self::Unix(_) => Some(Protocol::Unix),
            Self::Opaque(_) => None,
        }
    }

    /// The number of its type on the wire.
    pub const fn type_code(&self) -> i16 {
        match self {
            Self::Tcp(_) => Protocol::Tcp.type_code(),
            Self::Ssl(_) => Protocol::Ssl.type_code(),
            Self::Ws(_) => Protocol::Ws.type_code(),
            Self::Wss(_) => Protocol::Wss.type_code(),
            Self::Udp(_) => Protocol::Udp.type_code(),
            Self::Unix(_) => Protocol::Unix.type_code(),
            Self::Opaque(opaque) => opaque.type_code,
        }
    }

    /// The common part of `tcp`, `ssl`, `ws` and `wss`.
    pub const fn as_tcp(&self) -> Option<&TcpEndpoint> {
        match self {
            Self::Tcp(tcp) | Self::Ssl(tcp) => Some(tcp),
            Self::Ws(ws) | Self::Wss(ws) => Some(&ws.tcp),
            Self::Udp(_) | Self::Unix(_) | Self::Opaque(_) => None,
        }
    }

    /// The host, as it was written. It is empty if the text left it out, and `None` for an endpoint without a host.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Udp(udp) => Some(&udp.host),
            _ => self.as_tcp().map(|tcp| tcp.host.as_str()),
        }
    }

    /// The port; `None` for an endpoint without a port.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Udp(udp) => Some(udp.port),
            _ => self.as_tcp().map(|tcp| tcp.port),
        }
    }

    /// Returns true if the peer prefers compressed messages: `-z`.
    pub fn wants_compression(&self) -> bool {
        match self {
            Self::Udp(udp) => udp.compress,
            Self::Unix(unix) => unix.compress,
            _ => self.as_tcp().is_some_and(|tcp| tcp.compress),
        }
    }

    /// How long an operation of the transport may take, if the endpoint has a timeout.
    pub const fn timeout(&self) -> Option<Timeout> {
        match self {
            Self::Unix(unix) => Some(unix.timeout),
            _ => match self.as_tcp() {
                Some(tcp) => Some(tcp.timeout),
                None => None,
            },
        }
    }

    /// Returns true if it carries datagrams instead of a stream.
    pub const fn is_datagram(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Returns true if it is encrypted.
    pub const fn is_secure(&self) -> bool {
        matches!(self, Self::Ssl(_) | Self::Wss(_))
    }
}
