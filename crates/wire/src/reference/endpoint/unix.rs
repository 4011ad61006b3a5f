//! Endpoints of a Unix domain socket: an extension between Floe peers on one host.

use super::Timeout;

/// A socket in the file system of one host.
///
/// ```text
/// | path: string | timeout: int | compress: bool | host: string |
/// ```
///
/// Ice does not know it and carries it as an opaque endpoint. Its number and layout are fixed by
/// `docs/adr/0015-unix-endpoints.md`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UnixEndpoint {
    /// Path of the socket: `-f`.
    pub path: String,
    /// How long an operation of the transport may take: `-t`.
    pub timeout: Timeout,
    /// Whether the peer prefers compressed messages: `-z`.
    pub compress: bool,
    /// What tells the socket's host from others: `-h`. Elsewhere the endpoint leads nowhere, or to
    /// a stranger, and is passed over. Empty, as a text leaves it, stands for wherever it is read.
    pub host: String,
}

impl UnixEndpoint {
    /// An endpoint with the default timeout, on whichever host it is used.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}
