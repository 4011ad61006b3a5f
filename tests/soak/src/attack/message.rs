//! Messages as bytes.

use floe_wire::compression::{Compression, Compressor};

/// The identity of the topic manager: name and category.
pub(super) const MANAGER: (&str, &str) = ("TopicManager", "IceStorm");
/// The identity of the administrative object of the hub.
pub(super) const ADMIN: (&str, &str) = ("HubAdmin", "Floe");

/// The identity of the router of a gateway.
pub(super) const ROUTER: (&str, &str) = ("router", "Glacier2");

/// The identity of the object of logs.
pub(super) const LOGS: (&str, &str) = ("DurableTopics", "Floe");

/// A request; with id 0 it gets no reply. The parameters are without their encapsulation.
pub(super) fn request(
    id: i32,
    identity: (&str, &str),
    operation: &str,
    parameters: &[u8],
) -> Vec<u8> {
    request_to(id, identity, None, operation, &[], parameters)
}

/// A request to a facet, with a context.
pub(super) fn request_to(
    id: i32,
    identity: (&str, &str),
    facet: Option<&str>,
    operation: &str,
    context: &[(&str, &str)],
    parameters: &[u8],
) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(id.to_le_bytes());
    for text in [identity.0, identity.1] {
        bytes.extend(string(text));
    }
    bytes.extend(facet.map_or(vec![0], |facet| [vec![1], string(facet)].concat()));
    bytes.extend(string(operation));
    bytes.push(0);
    bytes.extend(size(context.len()));
    for (key, value) in context {
        bytes.extend([string(key), string(value)].concat());
    }
    let len = i32::try_from(6 + parameters.len()).unwrap_or(i32::MAX);
    bytes.extend(len.to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend(parameters);
    let len = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
    bytes[10..14].copy_from_slice(&len.to_le_bytes());
    bytes
}

/// A oneway request with so many zeros, compressed with bzip2.
pub(super) fn bomb(object: (&str, &str), len: usize) -> Vec<u8> {
    let mut bytes = request(0, object, "ice_ping", &vec![0; len]);
    Compressor::new(Compression::Bzip2).compress(&mut bytes, 0);
    bytes
}

/// A text as it is encoded.
pub(super) fn string(text: &str) -> Vec<u8> {
    let mut bytes = size(text.len());
    bytes.extend(text.as_bytes());
    bytes
}

/// A size as it is encoded.
fn size(size: usize) -> Vec<u8> {
    match u8::try_from(size) {
        Ok(size) if size < 255 => vec![size],
        _ => {
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            [&[255][..], &size.to_le_bytes()].concat()
        }
    }
}

/// A request to the router that registers objects: identities, each with the port and the timeout in milliseconds of its endpoint.
pub(super) fn add_proxies(id: i32, objects: &[(&str, u16, i32)]) -> Vec<u8> {
    let mut parameters = size(objects.len());
    for (name, port, timeout) in objects {
        parameters.extend([string(name), string("")].concat());
        // No facet, twoway, not secure, protocol 1.0, encoding 1.1, one endpoint, of tcp.
        parameters.extend([0, 0, 0, 1, 0, 1, 1, 1, 1, 0]);
        let mut endpoint = string("127.0.0.1");
        endpoint.extend(i32::from(*port).to_le_bytes());
        endpoint.extend(timeout.to_le_bytes());
        endpoint.push(0);
        let len = i32::try_from(endpoint.len() + 6).unwrap_or(i32::MAX);
        parameters.extend(len.to_le_bytes());
        parameters.extend([1, 1]);
        parameters.extend(endpoint);
    }
    let mut bytes = request(id, ROUTER, "addProxies", &parameters);
    // Its mode is idempotent.
    let mode = bytes.len() - parameters.len() - 6 - 2;
    bytes[mode] = 2;
    bytes
}

/// A request for a session.
pub(super) fn create_session(id: i32, user: &str, password: &str) -> Vec<u8> {
    let parameters = [string(user), string(password)].concat();
    request(id, ROUTER, "createSession", &parameters)
}
