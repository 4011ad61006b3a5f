//! What hosts stand for: addresses to connect to, to listen on, and to tell others.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::lookup_host;

/// The host that stands for all interfaces of a machine, in IPv4 and IPv6.
const WILDCARD: &str = "*";

/// The addresses of a host, in the order of the system's resolver.
///
/// # Errors
/// What the resolver says; [`io::ErrorKind::NotFound`] if it knows no address.
pub(super) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let host = or_loopback(host);
    let mut addresses = Vec::new();
    for address in lookup_host((host, port)).await? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(no_address(host));
    }
    Ok(addresses)
}

/// The addresses to listen on for a host: each of its own, or a wildcard. `*` comes first as an
/// IPv6 wildcard that takes IPv4 as well, then as the one of IPv4 for machines without IPv6.
pub(super) enum Listen {
    /// All of them.
    Each(Vec<SocketAddr>),
    /// Any interface, in both versions if the machine has both.
    Anywhere,
}

pub(super) async fn resolve_to_listen(host: &str, port: u16) -> io::Result<Listen> {
    match host {
        WILDCARD => Ok(Listen::Anywhere),
        host => resolve(host, port).await.map(Listen::Each),
    }
}

/// The wildcard addresses that `*` stands for, the preferred one first.
pub(super) fn anywhere(port: u16) -> [SocketAddr; 2] {
    [
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
    ]
}

/// Binds a socket to each address, all to the port of the first. Addresses that this machine does
/// not have, such as that of IPv6 loopback behind `localhost`, are passed over if there are others.
pub(super) fn bind_each<S>(
    addresses: &[SocketAddr],
    bind: impl Fn(SocketAddr) -> io::Result<S>,
    local: impl Fn(&S) -> io::Result<SocketAddr>,
) -> io::Result<(Vec<S>, Versions)> {
    let mut sockets = Vec::<S>::new();
    let mut versions = None;
    let mut last = None;
    for mut address in addresses.iter().copied() {
        if let Some(first) = sockets.first() {
            address.set_port(local(first)?.port());
        }
        match bind(address) {
            Ok(socket) => {
                sockets.push(socket);
                versions.get_or_insert(match address.is_ipv4() {
                    true => Versions::V4,
                    false => Versions::V6,
                });
            }
            Err(error) if is_of_another_machine(&error) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    let none = || last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into());
    Ok((sockets, versions.ok_or_else(none)?))
}

/// Whether this machine lacks an address, or its version of the protocol.
fn is_of_another_machine(error: &io::Error) -> bool {
    /// `EAFNOSUPPORT`, for which there is no kind.
    const NO_SUCH_VERSION: i32 = 97;
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(NO_SUCH_VERSION)
}

/// The hosts to put into proxies: as written or, for a wildcard, the address of each interface.
/// Loopback counts only where there is nothing else.
pub(super) fn published_hosts(host: &str, versions: Versions) -> io::Result<Vec<String>> {
    let is_wildcard = match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_unspecified(),
        Err(_) => host == WILDCARD,
    };
    if !is_wildcard {
        return Ok(vec![or_loopback(host).to_owned()]);
    }
    let interfaces = if_addrs::get_if_addrs()?;
    let usable: Vec<_> = interfaces
        .iter()
        .filter(|interface| versions.has(interface.ip()) && !is_link_local(interface.ip()))
        .collect();
    let is_alone = usable.iter().all(|interface| interface.is_loopback());
    Ok(usable
        .into_iter()
        .filter(|interface| is_alone || !interface.is_loopback())
        .map(|interface| interface.ip().to_string())
        .collect())
}

/// The versions of the protocol that a socket takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    V4,
    V6,
    Both,
}

impl Versions {
    fn has(self, ip: IpAddr) -> bool {
        match self {
            Self::V4 => ip.is_ipv4(),
            Self::V6 => ip.is_ipv6(),
            Self::Both => true,
        }
    }
}

/// Nothing listens beyond loopback unless the endpoint says so.
pub(super) fn or_loopback(host: &str) -> &str {
    match host {
        "" => "127.0.0.1",
        host => host,
    }
}

fn no_address(host: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("host \"{host}\" has no address"),
    )
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}
