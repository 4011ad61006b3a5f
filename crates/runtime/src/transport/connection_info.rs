//! The description of a connection by its transport.

use std::net::{IpAddr, SocketAddr};

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

impl ConnectionInfo {
    /// The address that counts as one peer where something is limited by address: an IPv4 address, or the network of 64
    /// bits of an IPv6 address, because a peer usually has all addresses of its network. Neighbours share the network
    /// of link-local addresses, so that each of these counts. `None` if the peer has no address.
    pub fn remote_network(&self) -> Option<IpAddr> {
        let address = self.remote_address?.ip().to_canonical();
        Some(match address {
            IpAddr::V6(address) if !address.is_loopback() && !address.is_unicast_link_local() => {
                let network = u128::from(address) & (u128::MAX << 64);
                IpAddr::V6(network.into())
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_counts_by_its_ipv4_address_or_its_ipv6_network() {
        let network = |address: &str| {
            let info = ConnectionInfo {
                remote_address: Some(format!("{address}:1").parse().unwrap()),
                ..ConnectionInfo::default()
            };
            info.remote_network().unwrap().to_string()
        };
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("[::ffff:192.0.2.7]"), "192.0.2.7");
        assert_eq!(network("[2001:db8:1:2:3:4:5:6]"), "2001:db8:1:2::");
        assert_eq!(network("[2001:db8:1:2:ffff::1]"), "2001:db8:1:2::");
        assert_eq!(network("[::1]"), "::1");
        assert_eq!(network("[fe80::1:2]"), "fe80::1:2");
        assert_eq!(ConnectionInfo::default().remote_network(), None);
    }
}
