//! A thread's wait ends by its time limit, by a peer that goes or is silent, and by shutdown.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use floe::blocking::{Communicator, Wait};
use floe::{InvokeError, LocalError, Proxy, Settings, TypedProxy};

use crate::blocking::{Server, call_often, returned, soon, until};
use crate::echo::NOTHING;

#[test]
fn a_timeout_ends_the_wait_of_one_while_another_reads() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        proxy.ice_ping().wait().unwrap();
        let hasty = proxy.ice_timeout(Some(Duration::from_millis(5)));
        let threads: Vec<_> = (0..6)
            .map(|index| {
                let (proxy, hasty) = (proxy.clone(), hasty.clone());
                thread::spawn(move || {
                    for _ in 0..10 {
                        if index % 2 == 0 {
                            let error = returned(&hasty, "late", &NOTHING).unwrap_err();
                            assert!(error.is_timeout(), "{error}");
                        } else {
                            assert_eq!(returned(&proxy, "slow", &NOTHING).unwrap(), NOTHING);
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        call_often(&proxy, 10);
    });
}

#[test]
fn a_wait_with_a_timeout_ends_in_time() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let hasty = server
            .proxy_of(&client)
            .ice_timeout(Some(Duration::from_millis(20)));
        hasty.ice_ping().wait().unwrap();
        let start = Instant::now();
        let error = returned(&hasty, "late", &NOTHING).unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert!(start.elapsed() >= Duration::from_millis(20));
        // The late reply comes before this one, and is ignored.
        let patient = server.proxy_of(&client);
        assert_eq!(returned(&patient, "late", &NOTHING).unwrap(), NOTHING);
        call_often(&patient, 10);
    });
}

/// A server of bare sockets that validates and reads, and answers nothing; it accepts one.
fn silent_server() -> (String, thread::JoinHandle<std::net::TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let header = [0x49, 0x63, 0x65, 0x50, 1, 0, 1, 0, 3, 0, 14, 0, 0, 0];
        stream.write_all(&header).unwrap();
        let mut request = [0; 14];
        stream.read_exact(&mut request).unwrap();
        stream
    });
    (format!("echo:tcp -h 127.0.0.1 -p {port}"), accepted)
}

#[test]
fn all_who_wait_hear_of_a_peer_that_is_killed() {
    soon(|| {
        let (address, accepted) = silent_server();
        let client = Communicator::new();
        let proxy: Proxy = client.proxy(&address).unwrap();
        let threads: Vec<_> = (0..5)
            .map(|_| {
                let proxy = proxy.clone();
                thread::spawn(move || returned(&proxy, "echo", &NOTHING))
            })
            .collect();
        let stream = accepted.join().unwrap();
        thread::sleep(Duration::from_millis(50));
        drop(stream);
        for thread in threads {
            let error = thread.join().unwrap().unwrap_err();
            let is_lost = matches!(
                error,
                InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })
                    // A call that came too late may have tried again, with no server listening.
                    | InvokeError::NotDispatched(LocalError::Connect { .. })
            );
            assert!(is_lost, "{error:?}");
        }
    });
}

/// A client with a call that the server has begun and that takes a while.
fn begun_call(
    server: &Server,
) -> (
    Communicator,
    Proxy,
    thread::JoinHandle<Result<Vec<u8>, InvokeError>>,
) {
    let client = Communicator::new();
    let proxy = server.proxy_of(&client);
    proxy.ice_ping().wait().unwrap();
    let calling = {
        let proxy = proxy.clone();
        thread::spawn(move || returned(&proxy, "slow", &NOTHING))
    };
    until(|| server.slow_count() == 1);
    (client, proxy, calling)
}

#[test]
fn a_shutdown_of_the_server_finishes_what_callers_wait_for() {
    soon(|| {
        let server = Server::start();
        let (_client, proxy, calling) = begun_call(&server);
        server.communicator.shutdown();
        assert_eq!(calling.join().unwrap().unwrap(), NOTHING);
        assert!(proxy.ice_ping().wait().is_err());
    });
}

#[test]
fn a_shutdown_of_the_client_ends_waits_in_order() {
    soon(|| {
        let server = Server::start();
        let (client, proxy, calling) = begun_call(&server);
        client.shutdown();
        assert_eq!(calling.join().unwrap().unwrap(), NOTHING);
        let error = proxy.ice_ping().wait().unwrap_err();
        assert_eq!(error.to_string(), "the communicator is shut down");
    });
}

#[test]
fn an_idle_connection_sees_that_its_peer_closes_it() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        proxy.ice_ping().wait().unwrap();
        assert!(proxy.is_connected());
        // Both together, and after the connection has been idle for a while.
        for pause in [0, 300] {
            thread::sleep(Duration::from_millis(pause));
            call_often(&proxy, 3);
        }
        server.communicator.shutdown();
        until(|| !proxy.is_connected());
    });
}

#[test]
fn an_idle_connection_is_read_and_sends_heartbeats() {
    soon(|| {
        let mut settings = Settings::default();
        settings.outgoing.heartbeat_interval = Duration::from_millis(20);
        settings.incoming.heartbeat_interval = Duration::from_millis(20);
        settings.outgoing.idle_timeout = Duration::from_secs(1);
        settings.incoming.idle_timeout = Duration::from_secs(1);
        let server = Server::with_settings(settings.clone());
        let client = Communicator::with_settings(settings);
        let proxy = server.proxy_of(&client);
        for _ in 0..2 {
            call_often(&proxy, 3);
            thread::sleep(Duration::from_millis(1500));
            assert!(proxy.is_connected());
        }
    });
}

#[test]
fn a_peer_that_owes_a_reply_and_is_silent_is_given_up() {
    soon(|| {
        let (address, accepted) = silent_server();
        let mut settings = Settings::default();
        settings.outgoing.heartbeat_interval = Duration::from_millis(20);
        settings.incoming.heartbeat_interval = Duration::from_millis(20);
        settings.outgoing.idle_timeout = Duration::from_millis(100);
        settings.incoming.idle_timeout = Duration::from_millis(100);
        let client = Communicator::with_settings(settings);
        let proxy: Proxy = client.proxy(&address).unwrap();
        let error = returned(&proxy, "echo", &NOTHING).unwrap_err();
        assert!(
            error.to_string().contains("sent nothing for 100ms"),
            "{error}"
        );
        drop(accepted.join());
    });
}

/// The peer resets a connection that no thread reads, so the write finds out.
#[test]
fn a_oneway_call_that_finds_its_connection_broken_ends() {
    for _ in 0..20 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&crate::raw::header(3, 14)).unwrap();
            // Closed with the rest of the request unread, it is reset.
            stream.read_exact(&mut [0]).unwrap();
        });
        let (sender, ended) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let client = Communicator::new();
            let endpoint = format!("tcp -h 127.0.0.1 -p {port}");
            let proxy: Proxy = client.proxy(&format!("fake:{endpoint}")).unwrap();
            let proxy = proxy.ice_oneway();
            let first = proxy.ice_ping().wait();
            server.join().unwrap();
            // No burst, which another thread would write.
            thread::sleep(Duration::from_millis(1));
            sender.send((first, proxy.ice_ping().wait())).unwrap();
        });
        // The second may have left before the reset came: that it ends is all.
        let (first, _second) = ended
            .recv_timeout(Duration::from_secs(20))
            .expect("expected both calls to end, whether they were sent or not");
        assert!(first.is_ok(), "{first:?}");
    }
}
