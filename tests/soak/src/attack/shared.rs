//! Attacks on any server that calls objects: on a hub, and on a gateway with a server behind it.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::message::{bomb, request};
use super::target::{Kind, Target};
use super::transports;

/// The attacks by name.
pub(super) const KINDS: [(&str, Kind); 9] = [
    ("compressed bombs on one connection", |target| {
        Box::pin(bombs(target, 1))
    }),
    ("compressed bombs on twelve connections", |target| {
        Box::pin(bombs(target, 12))
    }),
    ("compressed bombs on 300 connections", |target| {
        Box::pin(bombs(target, 300))
    }),
    ("pipelined calls on three connections", |target| {
        Box::pin(async move {
            let ping = request(0, target.entry.object, "ice_ping", &[]);
            target.flood(3, &ping.repeat(5_000)).await;
        })
    }),
    ("messages that never end", |target| {
        Box::pin(unfinished(target))
    }),
    ("TLS handshakes that nobody ends", |target| {
        Box::pin(transports::handshakes(target))
    }),
    ("WebSocket pings on 300 connections", |target| {
        Box::pin(transports::pings(target))
    }),
    ("WebSocket frames of one byte", |target| {
        Box::pin(transports::small_frames(target))
    }),
    ("metrics pages that are broken off", |target| {
        Box::pin(transports::metrics(target))
    }),
];

async fn bombs(target: Target, connections: usize) {
    let bombs = bomb(target.entry.object, 1_000_000).repeat(100);
    target.flood(connections, &bombs).await;
}

async fn unfinished(target: Target) {
    let mut message = request(1, target.entry.object, "ice_ping", &vec![0; 1_000_000]);
    message.pop();
    let mut streams = Vec::new();
    while target.lasts() && streams.len() < 1_500 {
        if let Some(mut stream) = target.connect(target.ports.tcp).await {
            let _ = timeout(Duration::from_millis(200), stream.write_all(&message)).await;
            streams.push(stream);
        }
    }
    target.wait_for_end().await;
}
