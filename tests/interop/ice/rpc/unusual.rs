//! Messages that no Ice program sends, to an Ice server and to a Floe server: both do the same with them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use floe::Communicator;
use floe_tests::ice::{Ice, Language};

use super::servant::serve;

/// An empty encapsulation.
const NOTHING: &[u8] = b"\x06\x00\x00\x00\x01\x01";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unusual_messages_have_the_same_answers_as_in_ice() {
    let Some(ice) = Ice::or_skip() else { return };
    let communicator = Communicator::new();
    let (_adapter, proxy) = serve(&communicator).await;
    let ours = port(&proxy.to_string());
    tokio::task::spawn_blocking(move || {
        let (_server, proxy) = ice.start_server(Language::Cpp);
        let theirs = port(&proxy);
        for (what, message, expected) in cases() {
            for (server, port) in [("Ice", theirs), ("Floe", ours)] {
                match expected {
                    Some(statuses) => assert_answers(port, &message, statuses, &what, server),
                    None => assert_closed(port, &message, &what, server),
                }
            }
        }
    })
    .await
    .expect("no panic");
    communicator.shutdown().await;
}

/// A name, a message, and the statuses of the replies to it. `None` stands for a closed connection.
type Case = (String, Vec<u8>, Option<&'static [u8]>);

fn cases() -> Vec<Case> {
    let (ok, failed, silence): (&[u8], &[u8], &[u8]) = (&[0], &[5], &[]);
    let mut cases = vec![
        ("plain".into(), request("nothing", 0, NOTHING), Some(ok)),
        (
            "bytes after the parameters".into(),
            request("nothing", 0, b"\x06\x00\x00\x00\x01\x01abc"),
            Some(ok),
        ),
        (
            "no parameters at all".into(),
            request("nothing", 0, b""),
            Some(failed),
        ),
        (
            "two facets".into(),
            message(
                0,
                b"\x01\0\0\0\x0aeverything\0\x02\x01a\x01b\x07nothing\0\0\x06\0\0\0\x01\x01",
            ),
            None,
        ),
        ("no request".into(), message(0, b"\x01\0\0\0\x7fabc"), None),
        (
            "a batch with bytes after it".into(),
            batch(1, &[body("nothing", 0, NOTHING), b"abc".to_vec()].concat()),
            Some(silence),
        ),
        (
            "a batch with more requests than it says".into(),
            batch(1, &body("nothing", 0, NOTHING).repeat(2)),
            Some(silence),
        ),
        (
            "a batch that is too short for its requests".into(),
            batch(100, &body("nothing", 0, NOTHING)),
            None,
        ),
        (
            "a batch whose last request has bad parameters".into(),
            batch(
                2,
                &[
                    body("nothing", 0, NOTHING),
                    body("nothing", 0, b"\x07\0\0\0\x01\x01"),
                ]
                .concat(),
            ),
            Some(silence),
        ),
        (
            "a heartbeat with a body".into(),
            message(3, b"abc"),
            Some(silence),
        ),
        ("another type".into(), message(5, b""), None),
        (
            "a reply without a status to no request".into(),
            message(2, b"\x4d\0\0\0"),
            Some(silence),
        ),
        ("a reply without an id".into(), message(2, b"\x4d"), None),
    ];
    for compression in [1, 3, 69, 78, 255] {
        let mut plain = request("nothing", 0, NOTHING);
        plain[9] = compression;
        cases.push((format!("compression byte {compression}"), plain, Some(ok)));
    }
    for mode in [3, 4, 127, 255] {
        let unknown = request("nothing", mode, NOTHING);
        cases.push((format!("mode {mode}"), unknown, Some(failed)));
    }
    for size in [-1, 0, 5, 7, 100, i32::MAX] {
        let mut parameters = NOTHING.to_vec();
        parameters[..4].copy_from_slice(&size.to_le_bytes());
        let wrong = request("nothing", 0, &parameters);
        cases.push((format!("parameters of size {size}"), wrong, Some(failed)));
    }
    cases
}

/// Sends a message, and checks the statuses of the replies to it. Then a ping on the same connection must be answered, with
/// no other reply before it.
fn assert_answers(port: u16, message: &[u8], statuses: &[u8], what: &str, server: &str) {
    const PING: u8 = 99;
    let mut stream = connect(port);
    stream.write_all(message).expect("it reads");
    let mut status_of = |id: u8| match read(&mut stream).as_deref() {
        Some([found, _, _, _, status, ..]) if *found == id => *status,
        other => panic!("{what} at {server}: expected a reply to {id}, got {other:?}"),
    };
    // Ice answers from several threads, so the ping waits for the other replies.
    let got: Vec<u8> = statuses.iter().map(|_| status_of(1)).collect();
    assert_eq!(got, statuses, "{what} at {server}");
    let mut ping = request("ice_ping", 1, NOTHING);
    ping[14] = PING;
    stream.write_all(&ping).expect("it reads");
    match read(&mut stream).as_deref() {
        Some([PING, _, _, _, 0, ..]) => {}
        other => panic!("{what} at {server}: expected a reply to a ping, got {other:?}"),
    }
}

/// Sends a message for which the server must close the connection.
fn assert_closed(port: u16, message: &[u8], what: &str, server: &str) {
    let mut stream = connect(port);
    stream.write_all(message).expect("it reads");
    let end = stream.read(&mut [0]);
    let is_closed = match &end {
        Ok(count) => *count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "{what} at {server}: {end:?}");
}

/// Connects to a server and waits to be validated.
fn connect(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("a timeout");
    read(&mut stream).expect("it validates");
    stream
}

/// Reads a message and returns its body; `None` at the end of the stream.
fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut header = [0; 14];
    stream.read_exact(&mut header).ok()?;
    let [.., a, b, c, d] = header;
    let mut body = vec![0; i32::from_le_bytes([a, b, c, d]) as usize - 14];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// A request with id 1 to the object `everything`.
fn request(operation: &str, mode: u8, parameters: &[u8]) -> Vec<u8> {
    let id = b"\x01\0\0\0".to_vec();
    message(0, &[id, body(operation, mode, parameters)].concat())
}

fn batch(count: i32, bodies: &[u8]) -> Vec<u8> {
    message(1, &[&count.to_le_bytes(), bodies].concat())
}

fn body(operation: &str, mode: u8, parameters: &[u8]) -> Vec<u8> {
    let mut body = b"\x0aeverything\0\0".to_vec();
    body.push(operation.len() as u8);
    body.extend(operation.as_bytes());
    body.extend([mode, 0]);
    body.extend(parameters);
    body
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"IceP\x01\0\x01\0".to_vec();
    bytes.extend([kind, 0]);
    bytes.extend((14 + body.len() as i32).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// The port of a proxy's endpoint.
fn port(proxy: &str) -> u16 {
    let port = proxy.split(" -p ").nth(1).expect("a port");
    let digits = port.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap_or_default().parse().expect("a number")
}
