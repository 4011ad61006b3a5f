//! Violations of the WebSocket protocol.

use std::fmt;

/// The peer violated the WebSocket protocol. The connection must be dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebSocketError {
    /// The opening request or its response is invalid.
    Handshake {
        /// The expected content.
        expected: &'static str,
        /// The content that came instead, shortened.
        found: String,
    },
    /// The opening request or its response is too long.
    HeaderTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A frame is invalid.
    Frame {
        /// The expected content.
        expected: &'static str,
        /// The first two bytes of the frame.
        start: [u8; 2],
    },
}

impl WebSocketError {
    pub(super) fn handshake(expected: &'static str, found: &[u8]) -> Self {
        let shown = &found[..found.len().min(60)];
        let found = String::from_utf8_lossy(shown).escape_debug().to_string();
        Self::Handshake { expected, found }
    }
}

impl fmt::Display for WebSocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake { expected, found } => {
                write!(f, "expected {expected}, got \"{found}\"")
            }
            Self::HeaderTooLong { limit } => write!(
                f,
                "expected at most {limit} bytes of a WebSocket's opening header, got more"
            ),
            Self::Frame {
                expected,
                start: [first, second],
            } => write!(
                f,
                "expected {expected}, got a WebSocket frame that starts with {first:02x} {second:02x}"
            ),
        }
    }
}

impl std::error::Error for WebSocketError {}
