//! Slow loris: peers that send a byte now and then, to keep what they occupy.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use crate::log::Log;
use crate::raw::{Came, Raw, request};
use crate::stage::{Face, Server, ms, settings, until};

/// Sends bytes one by one until the server has enough of it; how many it took.
fn dribble(mut stream: TcpStream, bytes: &[u8]) -> usize {
    stream.set_nodelay(true).unwrap();
    stream.set_nonblocking(true).unwrap();
    for (at, byte) in bytes.iter().enumerate() {
        if stream.write_all(&[*byte]).is_err() || has_ended(&stream) {
            return at;
        }
        thread::sleep(ms(20));
    }
    bytes.len()
}

fn has_ended(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[test]
fn a_handshake_that_dribbles_ends_with_the_connect_timeout() {
    let log = Log::of_all();
    Face::each(|face| {
        for transport in ["ssl", "ws", "wss"] {
            let mut settings = crate::certificates::with_tls(settings());
            settings.connect_timeout = ms(400);
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let server = Server::start(face, settings.clone(), &endpoint);
            let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
            let name = stream.local_addr().unwrap().to_string();
            let begun = Instant::now();
            let opening: &[u8] = match transport {
                "ws" => b"GET / HTTP/1.1\r\nHost: ",
                // The header of a record, and room for what never comes whole.
                _ => b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03",
            };
            let mut bytes = opening.to_vec();
            bytes.resize(10_000, b'x');
            assert!(dribble(stream, &bytes) < bytes.len());
            assert!(begun.elapsed() >= ms(400));
            assert_eq!(
                log.only_line_with(&format!("from {name}: its")),
                format!(
                    "refused a connection from {name}: its TLS handshake or the opening of its \
                     WebSocket was not done within 400ms (`Settings::connect_timeout`)"
                )
            );
            let client = face.communicator(settings);
            face.call(&server.proxy(&client), "echo").unwrap();
        }
    });
}

#[test]
fn a_request_that_dribbles_is_no_use_of_the_connection_and_ends_with_inactivity() {
    Face::each(|face| {
        let mut settings = settings();
        settings.incoming.inactivity_timeout = Some(ms(300));
        settings.close_timeout = ms(300);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let raw = Raw::connect(server.port());
        let mut bytes = request(1, "echo");
        // It claims to become long.
        bytes[10..14].copy_from_slice(&100_000_i32.to_le_bytes());
        bytes.resize(100_000, 0);
        assert!(dribble_ignoring_messages(raw.0, &bytes) < bytes.len());
        until("its place is free", || {
            server.adapter.counts().connections == 0
        });
    });
}

/// As [`dribble`], by a peer that reads what comes and does not mind.
fn dribble_ignoring_messages(stream: TcpStream, bytes: &[u8]) -> usize {
    let reading = stream.try_clone().unwrap();
    let reader = thread::spawn(move || {
        let mut raw = Raw(reading);
        while raw.next(crate::stage::PATIENCE) != Came::End {}
    });
    let mut stream = stream;
    for (at, byte) in bytes.iter().enumerate() {
        if stream.write_all(&[*byte]).is_err() || reader.is_finished() {
            return at;
        }
        thread::sleep(ms(10));
    }
    bytes.len()
}

#[test]
fn a_hundred_that_dribble_hold_up_nobody_and_take_little_memory() {
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut loris: Vec<_> = (0..100).map(|_| Raw::connect(server.port())).collect();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        let bytes = request(1, "echo");
        for byte in &bytes[..bytes.len() - 1] {
            for raw in &mut loris {
                raw.send(&[*byte]);
            }
            face.call(&proxy, "echo").unwrap();
        }
        // They were slow, and are answered all the same.
        for raw in &mut loris {
            raw.send(&bytes[bytes.len() - 1..]);
            assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        }
    });
}
