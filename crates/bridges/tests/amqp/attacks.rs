//! Peers that are hostile or broken cost their own connection only.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use floe_amqp::frame::AMQP_HEADER;
use floe_amqp::performative::Outcome;
use floe_bridges::amqp::Settings;

use crate::broker::{Broker, line, settings};
use crate::client::{Client, text, text_of};
use crate::eventually;

/// The recorded sessions of `floe-amqp`, from the header of AMQP on: the broker asks nobody who it is.
fn recordings() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../amqp/tests/vectors");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the vectors are there")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.extension().is_some_and(|it| it == "chunks"))
        .collect();
    paths.sort();
    let sessions = paths.iter().filter_map(|path| {
        let mut bytes = &std::fs::read(path).expect("it is there")[..];
        let mut session = Vec::new();
        while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
            let (chunk, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
            session.extend_from_slice(chunk);
            bytes = rest;
        }
        let mut windows = session.windows(AMQP_HEADER.len());
        let at = windows.position(|window| window == AMQP_HEADER)?;
        Some(session.split_off(at))
    });
    let sessions: Vec<_> = sessions.collect();
    assert!(sessions.len() >= 10, "expected the recordings of all steps");
    sessions
}

/// Numbers that are alike in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % limit as u64) as usize
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        match self.below(6) {
            0 => bytes[at] = self.below(256) as u8,
            1 => bytes[at] ^= 1 << self.below(8),
            2 => {
                let words = [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
                let word = words[self.below(words.len())].to_be_bytes();
                for (place, byte) in bytes[at..].iter_mut().zip(word) {
                    *place = byte;
                }
            }
            3 => {
                let len = self.below(8) + 1;
                bytes.drain(at..(at + len).min(bytes.len()));
            }
            4 => {
                let byte = self.below(256) as u8;
                bytes.splice(at..at, vec![byte; self.below(8) + 1]);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Sends bytes, and reads until the broker closes.
fn play(address: &str, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("the broker listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a socket");
    // The broker may close before it has read all.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    assert!(
        answer.len() < 1 << 20,
        "it answers with {} bytes",
        answer.len()
    );
}

/// The topic that the recordings speak of.
fn news() -> Settings {
    let mut settings = settings();
    settings.topics[0].name = Some("news".to_owned());
    settings
}

#[test]
fn damaged_sessions_cost_their_own_connection_only() {
    const ROUNDS: usize = 600;
    let broker = Broker::with(news(), |_| ());
    let address = broker.address();
    let recordings = recordings();
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut consumer = Client::connect(&address);
    consumer.subscribe(0, "news");
    consumer.credit(0, 0, 1_000, false);
    let mut producer = Client::connect(&address);
    producer.publisher(0, "news");
    for round in 0..ROUNDS {
        let mut bytes = recordings[numbers.below(recordings.len())].clone();
        numbers.damage(&mut bytes);
        play(&address, &bytes);
        if round % 50 == 0 {
            let text_sent = line(&round.to_string());
            assert_eq!(producer.publish(0, &text(&text_sent)), Outcome::Accepted);
            let received = consumer.receive();
            assert_eq!(text_of(&received.message), text_sent);
            consumer.settle(received.delivery, Outcome::Accepted);
        }
    }
    eventually("all others to have left", || {
        broker.bridge().state().peer_count == 2
    });
}

#[test]
fn bytes_of_other_protocols_end_their_connection() {
    let broker = Broker::start();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"IceP\x01\0\x01\0\x03\0\x0e\0\0\0",
        b"AMQP\x00\x00\x09\x01",
        b"AMQP\x02\x01\x00\x00",
        b"",
        &[0xFF; 100],
    ] {
        play(&broker.address(), bytes);
    }
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    assert_eq!(
        client.publish(0, &text(&line("still here"))),
        Outcome::Accepted
    );
}

#[test]
fn a_message_longer_than_the_limit_ends_its_link_alone() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    client.publisher(1, "lines");
    let long = vec![b'x'; (8 << 20) + 1];
    client.send(0, &long, false);
    let floe_amqp::performative::Performative::Detach(detach) = client.hear() else {
        panic!("expected a detach");
    };
    let error = detach.error.expect("a reason").to_string();
    assert!(
        error.starts_with("amqp:link:message-size-exceeded"),
        "{error}"
    );
    assert_eq!(client.publish(1, &text(&line("short"))), Outcome::Accepted);
}
