//! Datagrams as a file that tshark reads.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

/// Datagrams in the order in which they were sent and came.
///
/// The file is in the old pcap format, with link type 101: each packet is an IPv4 packet.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    packets: Vec<Vec<u8>>,
}

impl Capture {
    pub(crate) fn add(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if self.packets.len() >= PACKETS_MAX {
            return;
        }
        let len = |more: usize| {
            u16::try_from(bytes.len() + more)
                .expect("a datagram")
                .to_be_bytes()
        };
        let mut packet = vec![0x45, 0];
        packet.extend(len(28));
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend(octets(from));
        packet.extend(octets(to));
        packet.extend(from.port().to_be_bytes());
        packet.extend(to.port().to_be_bytes());
        packet.extend(len(8));
        packet.extend([0, 0]);
        packet.extend_from_slice(bytes);
        self.packets.push(packet);
    }

    pub(crate) fn write(&self, path: &Path) {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0x0004_0000, 101_u32] {
            file.extend(word.to_le_bytes());
        }
        for (at, packet) in (0_u32..).zip(&self.packets) {
            let len = u32::try_from(packet.len()).expect("a datagram");
            for word in [at / 1000, at % 1000, len, len] {
                file.extend(word.to_le_bytes());
            }
            file.extend_from_slice(packet);
        }
        fs::write(path, file).expect("there is room");
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}

fn octets(address: SocketAddr) -> [u8; 4] {
    match address.ip() {
        IpAddr::V4(ip) => ip.octets(),
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED.octets(),
    }
}

/// Enough for a conversation.
const PACKETS_MAX: usize = 20_000;
