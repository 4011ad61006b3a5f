//! Where an adapter listens: as the system names it, however an endpoint spells it.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The place of a socket that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListeningPlace {
    /// A port, for connections or for datagrams.
    Port {
        /// The address may be unspecified, for all addresses of the machine.
        address: SocketAddr,
        is_datagram: bool,
    },
    /// A Unix socket.
    File(PathBuf),
}

impl ListeningPlace {
    /// Returns true if what is sent to this address comes here.
    pub(crate) fn is_at(&self, address: SocketAddr, is_datagram: bool) -> bool {
        let Self::Port {
            address: own,
            is_datagram: takes_datagrams,
        } = self
        else {
            return false;
        };
        if own.port() != address.port() || *takes_datagrams != is_datagram {
            return false;
        }
        let (own, ip) = (own.ip().to_canonical(), address.ip().to_canonical());
        if own == ip {
            return true;
        }
        // A connection to the unspecified address goes to loopback.
        let leads_here = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        match own.is_unspecified() {
            // A socket of IPv6 may take IPv4, too.
            true if own.is_ipv6() || ip.is_ipv4() => leads_here(ip) || is_of_interface(ip),
            true => false,
            false => ip.is_unspecified() && own.is_loopback(),
        }
    }

    /// Returns true if this path leads to the socket, perhaps by a link.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        match self {
            Self::File(own) => own == path || is_same_file(own, path),
            Self::Port { .. } => false,
        }
    }
}

fn is_of_interface(ip: IpAddr) -> bool {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    interfaces.iter().any(|it| it.ip().to_canonical() == ip)
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    id(one).is_some_and(|one| id(other) == Some(one))
}

#[cfg(not(unix))]
fn is_same_file(_one: &Path, _other: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_the_same_however_its_address_is_written() {
        let is_at = |own: &str, address: &str| {
            let place = ListeningPlace::Port {
                address: own.parse().unwrap(),
                is_datagram: false,
            };
            assert!(!place.is_at(address.parse().unwrap(), true));
            place.is_at(address.parse().unwrap(), false)
        };
        for (own, address) in [
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("127.0.0.1:1", "[::ffff:127.0.0.1]:1"),
            ("127.0.0.1:1", "0.0.0.0:1"),
            ("[::1]:1", "[::]:1"),
            ("0.0.0.0:1", "127.3.2.1:1"),
            ("[::]:1", "127.0.0.1:1"),
            ("[::]:1", "[::ffff:127.0.0.1]:1"),
        ] {
            assert!(is_at(own, address), "{own} {address}");
        }
        for (own, address) in [
            ("127.0.0.1:1", "127.0.0.1:2"),
            ("127.0.0.1:1", "127.0.0.2:1"),
            ("127.0.0.1:1", "[::1]:1"),
            ("0.0.0.0:1", "[::1]:1"),
            ("192.0.2.1:1", "0.0.0.0:1"),
            ("0.0.0.0:1", "192.0.2.1:1"),
        ] {
            assert!(!is_at(own, address), "{own} {address}");
        }
    }
}
