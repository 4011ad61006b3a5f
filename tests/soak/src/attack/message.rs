//! Messages as bytes.

use floe_wire::compression::{Compression, Compressor};

/// The identity of the topic manager: name and category.
pub(super) const MANAGER: (&str, &str) = ("TopicManager", "IceStorm");
/// The identity of the administrative object of the hub.
pub(super) const ADMIN: (&str, &str) = ("HubAdmin", "Floe");

/// The identity of the object of logs.
pub(super) const LOGS: (&str, &str) = ("DurableTopics", "Floe");

/// A request; with id 0 it gets no reply. The parameters are without their encapsulation.
pub(super) fn request(
    id: i32,
    identity: (&str, &str),
    operation: &str,
    parameters: &[u8],
) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(id.to_le_bytes());
    for text in [identity.0, identity.1] {
        bytes.extend(string(text));
    }
    bytes.push(0);
    bytes.extend(string(operation));
    bytes.extend([0, 0]);
    let len = i32::try_from(6 + parameters.len()).unwrap_or(i32::MAX);
    bytes.extend(len.to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend(parameters);
    let len = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    bytes[10..14].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// A oneway request with so many zeros, compressed with bzip2.
pub(super) fn bomb(len: usize) -> Vec<u8> {
    let mut bytes = request(0, MANAGER, "ice_ping", &vec![0; len]);
    Compressor::new(Compression::Bzip2).compress(&mut bytes, 0);
    bytes
}

/// A text as it is encoded.
pub(super) fn string(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match u8::try_from(text.len()) {
        Ok(len) if len < 255 => bytes.push(len),
        _ => {
            bytes.push(255);
            let len = i32::try_from(text.len()).unwrap_or(i32::MAX);
            bytes.extend(len.to_le_bytes());
        }
    }
    bytes.extend(text.as_bytes());
    bytes
}
