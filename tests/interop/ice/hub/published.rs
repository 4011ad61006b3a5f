//! A Floe hub that Ice clients reach only by its published endpoints, as through a firewall.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

use super::{COUNT, assert_got_all};

/// The least bytes of an event on its way to the hub: a header, and more than as much behind it.
const EVENT_LEN_MIN: usize = 40;

#[test]
fn ice_clients_reach_a_hub_by_its_published_endpoints_alone() {
    let Some(ice) = Ice::or_skip() else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    // The hub has the same port at another address.
    let hub_host = Ipv4Addr::new(127, 0, 0, 2);
    let mut serve = Command::new(workspace::program("floe"));
    serve
        .args(["serve", "--transient", "--listen"])
        .arg(format!("tcp -h {hub_host} -p {port}"))
        .arg("--published-endpoints")
        .arg(format!("tcp -h 127.0.0.1 -p {port}"));
    let mut hub = Peer::start("floe serve", &mut serve);
    let manager = hub.ready();
    assert!(!manager.contains("127.0.0.2"), "{manager}");
    let passed = Arc::<AtomicUsize>::default();
    let counted = passed.clone();
    thread::spawn(move || relay(&listener, (hub_host, port), &counted));

    for (language, runs) in Language::ALL.into_iter().zip(1..) {
        let topic = format!("published-{language:?}");
        let subscriber = ice.start_subscriber(language, &manager, &topic, "twoway", COUNT);
        let publisher = ice.start_publisher(language, &manager, &topic, "twoway", COUNT);
        assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        assert_got_all(subscriber, COUNT, &topic);
        // By the publisher object's proxy, too.
        let passed = passed.load(Ordering::Relaxed);
        assert!(passed >= runs * COUNT * EVENT_LEN_MIN, "{passed} bytes");
    }
}

/// Forwards connections, and counts what clients send.
fn relay(listener: &TcpListener, to: (Ipv4Addr, u16), passed: &Arc<AtomicUsize>) {
    for client in listener.incoming() {
        let client = client.expect("a connection");
        let hub = TcpStream::connect(to).expect("the hub listens");
        let ways = [
            (client.try_clone(), hub.try_clone(), passed.clone()),
            (Ok(hub), Ok(client), Arc::default()),
        ];
        for (from, to, passed) in ways {
            let (from, to) = (from.expect("a socket"), to.expect("a socket"));
            thread::spawn(move || forward(from, to, &passed));
        }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, passed: &AtomicUsize) {
    let mut room = [0; 16 * 1024];
    // Whoever ends first ends both.
    while let Ok(count @ 1..) = from.read(&mut room) {
        passed.fetch_add(count, Ordering::Relaxed);
        if to.write_all(&room[..count]).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
