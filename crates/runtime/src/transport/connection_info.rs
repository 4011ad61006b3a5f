//! What a transport tells of a connection.

use std::net::SocketAddr;

use bytes::Bytes;

/// What is known of a connection. Fields that its transport has no word for are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Ice.ConnectionInfo")]
pub struct ConnectionInfo {
    /// Its transport, as endpoints name it: `tcp`.
    pub transport: &'static str,
    /// Whether the peer made it.
    pub is_incoming: bool,
    /// The peer, for people: `127.0.0.1:4061`.
    pub peer: String,
    /// The address of this side.
    pub local_address: Option<SocketAddr>,
    /// The address of the peer.
    pub remote_address: Option<SocketAddr>,
    /// The cipher suite, if the connection is encrypted.
    pub cipher: Option<String>,
    /// The certificates of the peer in DER, its own first.
    pub peer_certificates: Vec<Bytes>,
}
