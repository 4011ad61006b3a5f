//! The description of a connection by its transport.

use std::net::SocketAddr;

use bytes::Bytes;

/// The description of a connection. A field that does not apply to its transport is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Ice.ConnectionInfo")]
pub struct ConnectionInfo {
    /// The transport, as named in endpoints: `tcp`.
    pub transport: &'static str,
    /// True if the peer made the connection.
    pub is_incoming: bool,
    /// The peer, for logs and errors: `127.0.0.1:4061`.
    pub peer: String,
    /// The local address.
    pub local_address: Option<SocketAddr>,
    /// The address of the peer.
    pub remote_address: Option<SocketAddr>,
    /// The cipher suite, if the connection is encrypted.
    pub cipher: Option<String>,
    /// The certificates of the peer in DER, starting with its own.
    pub peer_certificates: Vec<Bytes>,
}
