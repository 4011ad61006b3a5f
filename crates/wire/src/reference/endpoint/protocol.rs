//! The protocols of endpoints that Floe knows.

use std::fmt;

/// The protocol of an endpoint that Floe knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// A TCP connection.
    #[default]
    Tcp,
    /// TLS over TCP.
    Ssl,
    /// Datagrams.
    Udp,
    /// A WebSocket.
    Ws,
    /// A WebSocket over TLS.
    Wss,
    /// A Unix domain socket. Only between Floe peers.
    Unix,
}

impl Protocol {
    const ALL: [Self; 6] = [
        Self::Tcp,
        Self::Ssl,
        Self::Udp,
        Self::Ws,
        Self::Wss,
        Self::Unix,
    ];

    /// The number of the endpoint type on the wire.
    pub const fn type_code(self) -> i16 {
        match self {
            Self::Tcp => 1,
            Self::Ssl => 2,
            Self::Udp => 3,
            Self::Ws => 4,
            Self::Wss => 5,
            // "Fl" in ASCII; docs/adr/0015-unix-endpoints.md.
            Self::Unix => 0x466C,
        }
    }

    /// The word at the beginning of an endpoint's text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ssl => "ssl",
            Self::Udp => "udp",
            Self::Ws => "ws",
            Self::Wss => "wss",
            Self::Unix => "unix",
        }
    }

    /// The protocol with this name, which is in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    pub(super) fn from_type_code(code: i16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.type_code() == code)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
