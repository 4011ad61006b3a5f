//! Bad messages at a running `floe serve`: each closes its own connection with one logged line, and
//! nothing else happens.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::Duration;

use floe_tests::hub::Hub;
use floe_tests::workspace;

/// A request `ice_ping` to the topic manager, as Ice sends it.
fn ping() -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00".to_vec();
    bytes.extend(b"\x0cTopicManager\x08IceStorm\x00\x08ice_ping\x01\x00\x06\x00\x00\x00\x01\x01");
    let len = bytes.len() as u32;
    bytes[10..14].copy_from_slice(&len.to_le_bytes());
    bytes
}

fn connect(hub: &Hub) -> TcpStream {
    let port = hub
        .endpoint()
        .rsplit(' ')
        .next()
        .expect("the endpoint ends with its port");
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("the hub listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let mut validate = [0; 14];
    stream
        .read_exact(&mut validate)
        .expect("the hub validates at once");
    stream
}

/// Sends bytes and the end of the stream, and waits until the hub has closed its end.
fn send(hub: &Hub, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(hub);
    // The hub may close as soon as it has seen enough.
    let _ = stream
        .write_all(bytes)
        .and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Resident memory of the hub, in bytes.
fn resident(hub: &mut Hub) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", hub.peer().id())).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("Linux");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<usize>().expect("a number") * 1024
}

fn assert_alive(hub: &Hub) {
    let answer = send(hub, &ping());
    assert_eq!(
        answer.len(),
        25,
        "expected a reply to ice_ping, got {answer:x?}"
    );
    let list = Command::new(workspace::program("floe"))
        .args(["topic", "list", "--hub", hub.endpoint()])
        .output()
        .expect("floe starts");
    assert!(
        list.status.success(),
        "{}",
        String::from_utf8_lossy(&list.stderr)
    );
}

#[test]
fn each_bad_message_is_one_line_with_its_reason() {
    let mut hub = Hub::start(&[]);
    let mut oversized = ping();
    oversized[10..14].copy_from_slice(&2_000_000_u32.to_le_bytes());
    let mut flipped = ping();
    flipped[0] ^= 0x20;
    let mut compressed = ping();
    compressed[9] = 2;
    let mut unknown = ping();
    unknown[9] = 3;
    let mut bad_string = ping();
    bad_string[18] = 0xF0;
    for (bytes, reason) in [
        (
            ping()[..30].to_vec(),
            "in the middle of a message, after 30 of",
        ),
        (oversized, "expected a message of at most 1048576 bytes"),
        (flipped, "does not speak the Ice protocol"),
        (
            compressed,
            "cannot decompress a Request message: expected a size",
        ),
        (
            unknown,
            "expected a compression byte of 0, 1, 2 or 70 to 75, got 3",
        ),
        (
            bad_string,
            "malformed Request message: cannot decode identity name",
        ),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xff\xff\xff".to_vec(),
            "16 03 01 02",
        ),
    ] {
        let before = hub.peer().errors().lines().count();
        send(&hub, &bytes);
        let errors = hub.peer().errors_with(reason);
        assert_eq!(errors.lines().count(), before + 1, "{errors}");
        assert!(
            errors
                .lines()
                .last()
                .is_some_and(|line| line.contains("closed the connection to"))
        );
    }
    assert_alive(&hub);
}

#[test]
fn two_thousand_bad_messages_cost_no_memory() {
    let mut hub = Hub::start(&[]);
    assert_alive(&hub);
    let bystander = connect(&hub);
    let before = resident(&mut hub);
    let mut random = 0x0F10_E5EE_D000_0002_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    for round in 0..2_000 {
        let mut bytes = ping();
        match round % 3 {
            0 => bytes.truncate(next() % bytes.len()),
            1 => bytes[next() % 48] ^= 1 << (next() % 8),
            _ => bytes
                .iter_mut()
                .skip(14)
                .for_each(|byte| *byte = next() as u8),
        }
        send(&hub, &bytes);
    }
    assert_alive(&hub);
    let growth = resident(&mut hub).saturating_sub(before);
    assert!(growth < 16 << 20, "2,000 bad messages took {growth} bytes");
    bystander
        .shutdown(Shutdown::Both)
        .expect("a bystander's connection is still open");
}
