//! Recorded bytes as a capture file, and what tshark says about it.

use std::process::Command;

/// The port of the server in the capture.
const SERVER_PORT: u16 = 2809;
/// The port of the client in the capture.
const CLIENT_PORT: u16 = 40_000;

/// The bytes of a TCP segment that fit into an IP packet by far.
const SEGMENT_LEN_MAX: usize = 16 * 1024;

/// The findings of tshark.
pub(crate) struct Seen {
    /// The type of each message of GIOP, in order.
    pub(crate) types: Vec<String>,
    /// Lines about packets that are malformed, or that have an error.
    pub(crate) complaints: Vec<String>,
}

/// Has tshark read a connection: true for the bytes of the client.
pub(crate) fn dissect(recorded: &[(bool, Vec<u8>)]) -> Seen {
    let path = std::env::temp_dir().join(format!("floe-giop-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap(recorded)).expect("there is room");
    let port = format!("tcp.port=={SERVER_PORT},giop");
    let tshark = |arguments: &[&str]| {
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&path)
            .args(["-d", &port, "-o", "tcp.check_checksum:FALSE"])
            .args(arguments)
            .output();
        let output = output.expect("tshark can be started");
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let types = tshark(&["-Y", "giop", "-T", "fields", "-e", "giop.type"]);
    // A field has a value for each message in a packet.
    let types = types.iter().flat_map(|line| line.split(','));
    let seen = Seen {
        types: types.map(str::to_owned).collect(),
        complaints: tshark(&["-Y", "_ws.malformed || _ws.expert.severity == \"Error\""]),
    };
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
