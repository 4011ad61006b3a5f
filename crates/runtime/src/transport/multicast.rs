//! Multicast: the groups that a socket joins, and the interface that it sends on.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use socket2::{InterfaceIndexOrAddress, Socket};

/// Sends to groups on an interface; the system chooses one if none is given.
pub(super) fn send_on(socket: &Socket, group: IpAddr, name: Option<&str>) -> io::Result<()> {
    match (group, interface(name)?) {
        (IpAddr::V4(_), Some(Interface { v4: Some(ip), .. })) => socket.set_multicast_if_v4(&ip),
        (IpAddr::V6(_), Some(Interface { index, .. })) => socket.set_multicast_if_v6(index),
        _ => Ok(()),
    }
}

/// Joins a group on an interface, or on each interface that allows it.
pub(super) fn join(socket: &Socket, group: IpAddr, name: Option<&str>) -> io::Result<()> {
    let interfaces = match interface(name)? {
        Some(interface) => vec![interface],
        None => all_interfaces()?,
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no interface can join the group");
    let mut is_joined = false;
    for interface in interfaces {
        let joined = match (group, interface.v4) {
            (IpAddr::V4(group), Some(ip)) => {
                socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Address(ip))
            }
            (IpAddr::V4(_), None) => continue,
            (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, interface.index),
        };
        match joined {
            Ok(()) => is_joined = true,
            // The interface has two addresses.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => is_joined = true,
            Err(error) => last = error,
        }
    }
    if is_joined { Ok(()) } else { Err(last) }
}

/// A network interface, as multicast needs it.
struct Interface {
    v4: Option<Ipv4Addr>,
    index: u32,
}

/// Returns the interface with this name or address; `None` if none is given.
fn interface(name: Option<&str>) -> io::Result<Option<Interface>> {
    let Some(name) = name.filter(|name| *name != "*") else {
        return Ok(None);
    };
    let all = if_addrs::get_if_addrs()?;
    let ip = name.parse::<IpAddr>().ok();
    let mut matching = all
        .iter()
        .filter(|known| known.name == name || Some(known.ip()) == ip)
        .peekable();
    let Some(first) = matching.peek() else {
        let what = format!("expected the name or address of a network interface, got \"{name}\"");
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    };
    let index = first.index.unwrap_or_default();
    let v4 = matching.find_map(v4_of);
    Ok(Some(Interface { v4, index }))
}

fn all_interfaces() -> io::Result<Vec<Interface>> {
    let all = if_addrs::get_if_addrs()?;
    let interfaces = all.iter().map(|known| Interface {
        v4: v4_of(known),
        index: known.index.unwrap_or_default(),
    });
    Ok(interfaces.collect())
}

fn v4_of(interface: &if_addrs::Interface) -> Option<Ipv4Addr> {
    match interface.ip() {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_found_by_name_and_by_address() {
        assert!(interface(None).unwrap().is_none());
        let known = interface(Some("127.0.0.1")).unwrap().unwrap();
        assert_eq!(known.v4, Some(Ipv4Addr::LOCALHOST));
        let error = interface(Some("nowhere0")).err().unwrap().to_string();
        assert!(error.contains("\"nowhere0\""), "{error}");
    }
}
