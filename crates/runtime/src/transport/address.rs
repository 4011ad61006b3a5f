//! Addresses of hosts: to connect to, to listen on, and to publish.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::lookup_host;

/// The host that stands for all interfaces of a machine, in IPv4 and IPv6.
const WILDCARD: &str = "*";

/// Returns the addresses of a host, in the order of the system's resolver.
///
/// # Errors
/// The error of the resolver; [`io::ErrorKind::NotFound`] if it knows no address.
pub(crate) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
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

/// The sockets of an endpoint that is listened on, at least one.
pub(super) struct BoundHost<S> {
    pub(super) sockets: Vec<S>,
    /// The port of all sockets.
    pub(super) port: u16,
    /// The hosts to publish in proxies.
    pub(super) hosts: Vec<String>,
}

/// Binds a socket to each address of a host, all to the same port. `bind` gets an address, and whether a socket of IPv6
/// refuses IPv4; `local` returns the address of a socket. For the host `*`, `bind` is first tried with the IPv6 wildcard,
/// which also accepts IPv4, and then with the IPv4 wildcard for machines without IPv6.
pub(super) async fn bind_host<S>(
    host: &str,
    port: u16,
    bind: impl Fn(SocketAddr, bool) -> io::Result<S>,
    local: impl Fn(&S) -> io::Result<SocketAddr>,
) -> io::Result<BoundHost<S>> {
    let (sockets, versions) = match host {
        WILDCARD => match bind((Ipv6Addr::UNSPECIFIED, port).into(), false) {
            Ok(socket) => (vec![socket], Versions::Both),
            // The machine has no IPv6. Any other failure would happen with IPv4, too.
            Err(_) => {
                let socket = bind((Ipv4Addr::UNSPECIFIED, port).into(), true)?;
                (vec![socket], Versions::V4)
            }
        },
        host => {
            let addresses = resolve(host, port).await?;
            bind_each(&addresses, |address| bind(address, true), &local)?
        }
    };
    Ok(BoundHost {
        port: local(&sockets[0])?.port(),
        hosts: published_hosts(host, versions)?,
        sockets,
    })
}

/// Binds a socket to each address, all to the port of the first. An address that this machine does not have, such as
/// IPv6 loopback behind `localhost`, is skipped if there are others.
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

/// Returns true if this machine does not have the address, or its version of the protocol.
fn is_of_another_machine(error: &io::Error) -> bool {
    /// `EAFNOSUPPORT`, for which `io::ErrorKind` has no variant.
    const NO_SUCH_VERSION: i32 = 97;
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(NO_SUCH_VERSION)
}

/// Returns the hosts to publish in proxies: the host as written or, for a wildcard, the address of each interface.
/// Loopback addresses count only if there are no others.
fn published_hosts(host: &str, versions: Versions) -> io::Result<Vec<String>> {
    if !is_wildcard(host) {
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

/// Returns true if a host stands for all addresses of the machine.
pub(super) fn is_wildcard(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_unspecified(),
        Err(_) => host == WILDCARD,
    }
}

/// The versions of the protocol that a socket accepts.
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

/// Returns the host, or loopback if it is empty: a server listens beyond loopback only if its endpoint says so.
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
