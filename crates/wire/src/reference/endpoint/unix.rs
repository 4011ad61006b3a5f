//! Endpoints of Unix domain sockets: an extension between Floe peers on one host.

use super::Timeout;

/// A socket in the file system of one host.
///
/// ```text
/// | path: string | timeout: int | compress: bool | host: string |
/// ```
///
/// Ice does not know it, and carries it as an opaque endpoint. `docs/adr/0015-unix-endpoints.md` defines its number and
/// layout.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UnixEndpoint {
    /// Path of the socket: `-f`.
    pub path: String,
    /// How long an operation of the transport may take: `-t`.
    pub timeout: Timeout,
    /// True if the peer prefers compressed messages: `-z`.
    pub compress: bool,
    /// Identifies the host of the socket: `-h`. On any other host, the endpoint is ignored, because its path could lead
    /// to another socket. An empty value, as in a text without `-h`, means the host that reads it.
    pub host: String,
}

impl UnixEndpoint {
    /// An endpoint with the default timeout, for any host.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }
}
