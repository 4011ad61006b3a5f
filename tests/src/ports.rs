//! Ports for those that must be told where to listen before they start.
//!
//! A port that the system chose and that is closed again is soon taken by the next connection: on a busy machine within
//! the time that a server takes to start. Those given here the system never chooses for anybody.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// From here on: services have the ports below.
const FIRST: u16 = 10_000;
/// The ports that the system chooses from by default; `ip_local_port_range` in ip(7).
const CHOSEN_BY_DEFAULT: RangeInclusive<u16> = 32_768..=60_999;
/// Between where processes that started one after another begin to look.
const STRIDE: usize = 64;
/// With fewer than so many ports outside of what the system chooses from, they are taken from all.
const ENOUGH: usize = 16 * STRIDE;

/// A port of loopback that nobody has, neither with tcp nor with udp, and that this process was not given before as long
/// as there are others. On a machine where the system chooses from nearly all ports it may be one of those.
///
/// # Panics
/// If there is none.
pub fn unclaimed() -> u16 {
    static PORTS: LazyLock<Vec<u16>> = LazyLock::new(|| outside(&chosen_by_the_system()));
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let begin = std::process::id() as usize * STRIDE;
    for _ in 0..PORTS.len() {
        let port = PORTS[(begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS.len()];
        if is_free(port) {
            return port;
        }
    }
    panic!(
        "expected a free port of 127.0.0.1 among {} of them, got none: end what listens there",
        PORTS.len()
    );
}

fn is_free(port: u16) -> bool {
    let at = (Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok()
}

/// The ports from the first one on that are outside of this range, or all of them if that leaves too few.
fn outside(chosen: &RangeInclusive<u16>) -> Vec<u16> {
    let all = FIRST..=u16::MAX;
    let outside: Vec<u16> = all.clone().filter(|p| !chosen.contains(p)).collect();
    match outside.len() {
        ENOUGH.. => outside,
        _ => all.collect(),
    }
}

fn chosen_by_the_system() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let range = text.ok().and_then(|text| range(&text));
    range.unwrap_or(CHOSEN_BY_DEFAULT)
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.trim().split_once(char::is_whitespace)?;
    Some(first.parse().ok()?..=last.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_range_is_read_and_left_alone() {
        assert_eq!(range("32768\t60999\n"), Some(CHOSEN_BY_DEFAULT));
        assert_eq!(range("nothing"), None);
        let ports = outside(&CHOSEN_BY_DEFAULT);
        assert_eq!(ports.first(), Some(&FIRST));
        assert!(ports.contains(&32_767) && ports.contains(&61_000));
        assert!(!ports.iter().any(|port| CHOSEN_BY_DEFAULT.contains(port)));
    }

    #[test]
    fn where_the_system_chooses_from_all_ports_there_are_ports_all_the_same() {
        let ports = outside(&(1024..=u16::MAX));
        assert_eq!(ports.len(), usize::from(u16::MAX - FIRST) + 1);
    }

    #[test]
    fn no_port_is_given_twice_and_none_that_is_taken() {
        let port = unclaimed();
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it is free");
        assert!(!is_free(port));
        assert!((0..3 * STRIDE).all(|_| unclaimed() != port));
    }
}
