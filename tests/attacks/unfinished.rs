//! Messages that never end: each has a time, and all of them together a limit of their memory.

use std::time::Duration;

use crate::log::Log;
use crate::raw::{Came, Raw, parameters, request};
use crate::stage::{Face, Server, ms, settings, until};

/// A message that claims this size, and its first bytes.
fn beginning(size: i32, come: usize) -> Vec<u8> {
    let mut bytes = request(1, "echo");
    bytes[10..14].copy_from_slice(&size.to_le_bytes());
    bytes.extend(parameters(come));
    bytes.truncate(come);
    bytes
}

/// Waits for the end of the connection.
fn wait_for_end(raw: &mut Raw) {
    assert_eq!(raw.next_but_heartbeats(), Came::End);
}

#[test]
fn a_message_that_does_not_become_whole_in_its_time_ends_its_connection() {
    let log = Log::of_all();
    Face::each(|face| {
        for (size, come) in [(100, 20), (100, 5), (100_000, 90_000)] {
            let mut settings = settings();
            settings.message_timeout = ms(100);
            settings.message_rate_min = 1_000_000;
            let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
            let mut raw = Raw::connect(server.port());
            let name = raw.name();
            raw.send(&beginning(size, come));
            wait_for_end(&mut raw);
            let line = log.only_line_with(&format!("{name}: expected a message of"));
            assert!(line.contains("Settings::message_timeout"), "{line}");
            assert!(line.contains(&format!("{come} bytes have come")), "{line}");
        }
    });
}

#[test]
fn a_slow_message_has_the_time_of_its_rate_and_an_idle_connection_has_any() {
    Face::each(|face| {
        let mut settings = settings();
        settings.message_timeout = ms(1);
        // 50 s for this message.
        settings.message_rate_min = 1;
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        let message = request(1, "echo");
        raw.send(&message[..20]);
        assert_eq!(raw.next(ms(50)), Came::Silence);
        raw.send(&message[20..]);
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        assert_eq!(raw.next(ms(50)), Came::Silence);
        raw.send(&message);
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
    });
}

#[test]
fn unfinished_messages_of_all_connections_hold_no_more_than_the_limit() {
    let log = Log::of_all();
    Face::each(|face| {
        let mut settings = settings();
        settings.message_size_max = 200_000;
        settings.input_memory_max = 500_000;
        settings.message_timeout = Duration::MAX;
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut others: Vec<Raw> = Vec::new();
        let mut refused = None;
        for _ in 0..20 {
            let mut raw = Raw::connect(server.port());
            raw.send(&beginning(150_000, 140_000));
            // It is held, or refused, when the server has read it.
            match raw.next(2 * ms(1_000)) {
                Came::End => {
                    refused = Some(raw.name());
                    break;
                }
                _ => others.push(raw),
            }
        }
        let name = refused.expect("the limit holds");
        assert!((2..=3).contains(&others.len()), "{}", others.len());
        let line = log.only_line_with(&format!("{name}: the unfinished"));
        assert!(line.contains("Settings::input_memory_max"), "{line}");
        // Small messages come through meanwhile.
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "echo"));
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        // What they held is there again.
        drop(others);
        until("their memory is free again", || {
            server.adapter.counts().connections == 1
        });
        raw.send(&beginning(150_000, 140_000));
        assert_eq!(raw.next(ms(1_500)), Came::Silence);
    });
}
