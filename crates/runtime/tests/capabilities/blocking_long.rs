//! Long messages of the blocking API. No socket takes such a message as a whole: the calling thread writes a part, and
//! a task writes the rest.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use floe::blocking::{Communicator, Wait};
use floe::{InvokeError, LocalError, OperationMode, Proxy, Settings, TypedProxy};

use crate::blocking::{Server, returned, soon};
use crate::echo::{NOTHING, encapsulation};

/// More than any socket takes in one write.
const LEN: usize = 12_000_000;
pub(crate) const HEADER_LEN: usize = 14;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.message_size_max = 2 * LEN;
    settings
}

/// Bytes of which no two places are alike.
fn long(seed: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..LEN / 4)
        .flat_map(|index| ((index + seed) as u32).to_le_bytes())
        .collect();
    encapsulation(&bytes)
}

#[test]
fn requests_and_replies_longer_than_a_socket_come_whole_among_others() {
    for endpoint in ["tcp -h 127.0.0.1 -p 0".to_owned(), unix_endpoint()] {
        soon(move || {
            let server = Server::at(&endpoint, settings());
            let client = Communicator::with_settings(settings());
            let proxy = server.proxy_of(&client);
            let threads: Vec<_> = (0..4)
                .map(|index| {
                    let proxy = proxy.clone();
                    thread::spawn(move || {
                        let long = long(index);
                        for number in 0..40_usize {
                            let short = encapsulation(&number.to_le_bytes());
                            let oneway = proxy.ice_oneway();
                            let sent = oneway.invoke("echo", OperationMode::Normal, &short);
                            assert!(sent.wait().unwrap().is_none());
                            assert_eq!(returned(&proxy, "echo", &short).unwrap(), short);
                            if number % 20 == 0 {
                                assert!(returned(&proxy, "echo", &long).unwrap() == long);
                            }
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(server.echo_count(), 4 * (40 + 40 + 2));
        });
    }
}

fn unix_endpoint() -> String {
    let name = format!("floe-long-{}.sock", std::process::id());
    format!("unix -f {}", std::env::temp_dir().join(name).display())
}

/// A server of bare sockets that validates, accepts one connection, and does with it what it is told.
fn server<T: Send + 'static>(
    answer: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (Proxy, Communicator, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"IceP\x01\0\x01\0\x03\0\x0e\0\0\0")
            .unwrap();
        answer(stream)
    });
    let client = Communicator::with_settings(settings());
    let proxy = client.proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"));
    (proxy.unwrap(), client, accepted)
}

/// Reads a message; its type and its length.
pub(crate) fn read_message(stream: &mut impl Read) -> (u8, Vec<u8>) {
    let mut message = vec![0; HEADER_LEN];
    stream.read_exact(&mut message).unwrap();
    assert_eq!(&message[..4], b"IceP", "the one before it was whole");
    let size = u32::from_le_bytes(message[10..14].try_into().unwrap());
    message.resize(size as usize, 0);
    stream.read_exact(&mut message[HEADER_LEN..]).unwrap();
    (message[8], message)
}

#[test]
fn a_long_request_that_is_given_up_in_the_middle_leaves_what_follows_whole() {
    soon(|| {
        let (proxy, _client, accepted) = server(|mut stream| {
            thread::sleep(Duration::from_millis(200));
            [read_message(&mut stream), read_message(&mut stream)]
        });
        let hasty = proxy.ice_timeout(Some(Duration::from_millis(50)));
        let start = Instant::now();
        let error = returned(&hasty, "echo", &long(0)).unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert!(start.elapsed() >= Duration::from_millis(50));
        let oneway = proxy.ice_oneway();
        let sent = oneway.invoke("echo", OperationMode::Normal, &NOTHING);
        assert!(sent.wait().unwrap().is_none());
        let [(_, first), (_, second)] = accepted.join().unwrap();
        assert!(first.ends_with(&long(0)));
        assert!(second.ends_with(&NOTHING));
    });
}

#[test]
fn a_peer_that_never_reads_costs_nobody_the_deadline() {
    soon(|| {
        let (proxy, _client, accepted) = server(|stream| stream);
        let hasty = proxy.ice_timeout(Some(Duration::from_millis(50)));
        let long = Arc::new(long(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (hasty, long) = (hasty.clone(), long.clone());
                thread::spawn(move || returned(&hasty, "echo", &long).unwrap_err())
            })
            .collect();
        for thread in threads {
            let error = thread.join().unwrap();
            assert!(error.is_timeout(), "{error}");
        }
        drop(accepted.join().unwrap());
    });
}

#[test]
fn a_peer_that_is_lost_in_the_middle_of_a_request_may_have_executed_it() {
    soon(|| {
        let (proxy, _client, accepted) = server(|mut stream| {
            let mut some = vec![0; 1_000_000];
            stream.read_exact(&mut some).unwrap();
        });
        let error = returned(&proxy, "echo", &long(0)).unwrap_err();
        let is_lost = matches!(
            error,
            InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })
        );
        assert!(is_lost, "{error:?}");
        accepted.join().unwrap();
    });
}
