//! Recorded bytes as a capture file, and what tshark says about it.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The port of the server in the capture.
const SERVER_PORT: u16 = 2809;
/// The port of the client in the capture.
const CLIENT_PORT: u16 = 40_000;

/// The bytes of a TCP segment that fit into an IP packet by far.
const SEGMENT_LEN_MAX: usize = 16 * 1024;

/// The number by which tshark shows the severity "Error".
const SEVERITY_OF_ERRORS: &str = "8388608";

/// The findings of tshark.
pub(crate) struct Seen {
    /// The type of each message of GIOP, in order.
    pub(crate) types: Vec<String>,
    /// Lines about packets that are malformed, or that have an error.
    pub(crate) complaints: Vec<String>,
}

/// Has tshark read a connection: true for the bytes of the client.
pub(crate) fn dissect(recorded: &[(bool, Vec<u8>)]) -> Seen {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("floe-giop-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, pcap(recorded)).expect("there is room");
    let port = format!("tcp.port=={SERVER_PORT},giop");
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args(["-d", &port, "-o", "tcp.check_checksum:FALSE"])
        .args([
            "-Y",
            "giop || _ws.malformed || _ws.expert.severity == Error",
        ])
        .args(["-T", "fields", "-e", "giop.type", "-e", "_ws.malformed"])
        .args(["-e", "_ws.expert.severity", "-e", "_ws.expert.message"])
        .output();
    let output = output.expect("tshark can be started");
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut seen = Seen {
        types: Vec::new(),
        complaints: Vec::new(),
    };
    for line in lines.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        // A field has a value for each message in a packet.
        let types = fields[0].split(',').filter(|number| !number.is_empty());
        seen.types.extend(types.map(str::to_owned));
        let has_error = fields[2]
            .split(',')
            .any(|severity| severity == SEVERITY_OF_ERRORS);
        if !fields[1].is_empty() || has_error {
            seen.complaints.push(line.to_owned());
        }
    }
    let _ = std::fs::remove_file(&path);
    seen
}

/// A file of packets without a link layer.
fn pcap(recorded: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    // Magic, version 2.4, time zone, accuracy, longest packet, raw IP.
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend(word.to_be_bytes());
    }
    let mut sequences = [1u32, 1];
    let segments = recorded.iter().flat_map(|(is_client, bytes)| {
        let segments = bytes.chunks(SEGMENT_LEN_MAX);
        segments.map(move |segment| (*is_client, segment))
    });
    for (at, (is_client, segment)) in segments.enumerate() {
        let (own, other) = if is_client { (0, 1) } else { (1, 0) };
        let packet = packet(is_client, sequences[own], sequences[other], segment);
        for word in [at as u32, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_be_bytes());
        }
        file.extend(packet);
        sequences[own] += segment.len() as u32;
    }
    file
}

/// IPv4 and TCP headers without checksums, and the bytes.
fn packet(is_client: bool, sequence: u32, acknowledged: u32, bytes: &[u8]) -> Vec<u8> {
    let len = 40 + bytes.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(len.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    let (from, to) = match is_client {
        true => (CLIENT_PORT, SERVER_PORT),
        false => (SERVER_PORT, CLIENT_PORT),
    };
    packet.extend(from.to_be_bytes());
    packet.extend(to.to_be_bytes());
    packet.extend(sequence.to_be_bytes());
    packet.extend(acknowledged.to_be_bytes());
    // Header length, PSH and ACK, window, checksum, urgent.
    packet.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(bytes);
    packet
}
