//! Bad messages at a running `floe serve`: each closes its own connection with one logged line, and
//! nothing else happens.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::Duration;

use floe_tests::hub::Hub;
use floe_tests::peer::Peer;
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
    unknown[8] = 9;
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
        (unknown, "expected a message type from 0 to 4, got 9"),
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
fn each_refused_request_is_one_line_and_its_connection_stays_open() {
    let mut hub = Hub::start(&[]);
    let mut unknown_mode = ping();
    let mode = unknown_mode.len() - 8;
    unknown_mode[mode] = 3;
    let mut bad_parameters = ping();
    let size = bad_parameters.len() - 6;
    bad_parameters[size] = 5;
    for (bytes, reason) in [
        (
            unknown_mode,
            "operation mode at byte 50: unexpected value 3",
        ),
        (
            bad_parameters,
            "encapsulation size at byte 52: unexpected value 5",
        ),
    ] {
        let before = hub.peer().errors().lines().count();
        let answer = send(&hub, &[bytes, ping()].concat());
        assert_eq!(answer[18], 5, "the first is refused: {answer:x?}");
        assert!(answer.ends_with(b"\x01\x00\x00\x00\x00\x06\x00\x00\x00\x01\x01"));
        let errors = hub.peer().errors_with(reason);
        assert_eq!(errors.lines().count(), before + 1, "{errors}");
        let last = errors.lines().last().unwrap_or_default();
        assert!(last.contains("refused a request from 127.0.0.1:"), "{last}");
    }
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

/// The answer of the server of the example `graph` to `list` with this folder.
fn listed(stream: &mut TcpStream, folder: &[u8]) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00".to_vec();
    bytes.extend(b"\x07library\x00\x00\x04list\x00\x00");
    bytes.extend((6 + folder.len() as u32).to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend(folder);
    let len = bytes.len() as u32;
    bytes[10..14].copy_from_slice(&len.to_le_bytes());
    stream.write_all(&bytes).expect("it reads");
    let mut head = [0; 14];
    stream.read_exact(&mut head).expect("it answers");
    let len = u32::from_le_bytes([head[10], head[11], head[12], head[13]]);
    let mut answer = vec![0; len as usize - 14];
    stream.read_exact(&mut answer).expect("the whole answer");
    answer
}

#[test]
fn folders_in_themselves_and_in_many_others_do_not_end_a_server_that_lists_them() {
    let mut command = Command::new(workspace::program("graph-server"));
    let mut server = Peer::start("graph-server", command.arg("tcp -h 127.0.0.1 -p 0"));
    let ready = server.ready();
    let port = ready
        .split(" -p ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let port = port.expect("it names its port");
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).expect("a timeout");
    stream.read_exact(&mut [0; 14]).expect("it validates");
    // An instance in its place, with one slice, its type by name, and a name of no characters.
    let first = b"\x01\x21\x0e::Demo::Folder\x00";
    // As the first, with its type by the number that it got there.
    let next = b"\x01\x22\x01\x00";
    let in_itself = [&first[..], &[1, 2]].concat();
    // Each is twice in the one above it: 2^90 folders as a tree.
    let mut doubled = first.to_vec();
    for _ in 0..90 {
        doubled.push(2);
        doubled.extend(next);
    }
    doubled.push(0);
    // The references to instances begin with 2, in the order in which they came.
    doubled.extend((3..=92_u8).rev());
    for folder in [in_itself, doubled] {
        let answer = listed(&mut stream, &folder);
        let text = String::from_utf8_lossy(&answer);
        assert!(
            text.contains("expected a tree of at most 10000 folders"),
            "{text}"
        );
    }
    // One folder, and its line.
    let answer = listed(&mut stream, &[&first[..], &[0]].concat());
    assert_eq!(answer[4..], [0, 8, 0, 0, 0, 1, 1, 1, 0]);
}
