//! Endpoints over a TCP connection: plain, with TLS, and WebSockets over both.

use core::net::IpAddr;
use std::fmt;
use std::num::NonZeroU32;

/// Timeout of an endpoint whose text has none, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u32 = 60_000;

/// An endpoint over TCP.
///
/// ```text
/// | host: string | port: int | timeout: int | compress: bool |
/// ```
///
/// Source: `tests/vectors/proxies.json`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TcpEndpoint {
    /// Host name or address. If it is empty, an adapter listens on all interfaces, and a proxy connects to loopback.
    pub host: String,
    /// Port; 0 lets an adapter pick a free one.
    pub port: u16,
    /// How long an operation of the transport may take. Ice 3.8 keeps it and ignores it.
    pub timeout: Timeout,
    /// True if the peer prefers compressed messages: `-z`.
    pub compress: bool,
    /// The local address to connect from; not encoded.
    pub source_address: Option<IpAddr>,
}

impl TcpEndpoint {
    /// An endpoint with the default timeout.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            timeout: Timeout::default(),
            compress: false,
            source_address: None,
        }
    }
}

/// A WebSocket endpoint: its TCP or TLS endpoint, then `resource: string`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WsEndpoint {
    /// The TCP or TLS endpoint.
    pub tcp: TcpEndpoint,
    /// The resource that the opening request asks for. Default `/`.
    pub resource: String,
}

impl WsEndpoint {
    /// The resource of an endpoint whose text has none.
    pub const DEFAULT_RESOURCE: &'static str = "/";
}

/// The timeout of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timeout(Option<NonZeroU32>);

impl Timeout {
    /// No limit: `infinite` as text, -1 on the wire.
    pub const INFINITE: Self = Self(None);

    /// A timeout from 1 ms to 2,147,483,647 ms.
    pub const fn from_ms(ms: u32) -> Option<Self> {
        match NonZeroU32::new(ms) {
            Some(ms) if ms.get() <= i32::MAX as u32 => Some(Self(Some(ms))),
            _ => None,
        }
    }

    /// The milliseconds; `None` if there is no limit.
    pub const fn as_ms(self) -> Option<u32> {
        match self.0 {
            Some(ms) => Some(ms.get()),
            None => None,
        }
    }

    pub(super) fn to_wire(self) -> i32 {
        self.0.map_or(-1, |ms| ms.get() as i32)
    }

    pub(super) fn from_wire(ms: i32) -> Option<Self> {
        match u32::try_from(ms) {
            Ok(ms) => Self::from_ms(ms),
            Err(_) if ms == -1 => Some(Self::INFINITE),
            Err(_) => None,
        }
    }
}

impl Default for Timeout {
    fn default() -> Self {
        Self(NonZeroU32::new(DEFAULT_TIMEOUT_MS))
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ms) => write!(f, "{ms}"),
            None => f.write_str("infinite"),
        }
    }
}
