//! Peers that send requests and read no replies.

use std::sync::Arc;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher, OperationMode, Proxy};

use crate::log::Log;
use crate::raw::{Raw, request};
use crate::stage::{NOTHING, settings, until};

/// Gives long replies, `now` in place and any other after other tasks have run.
struct Long;

impl Dispatcher for Long {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, respond);
    }
}

fn respond(request: Request) -> DispatchFuture {
    Box::pin(async move {
        if request.operation() == "short" {
            return request.respond(&Outcome::Returned(NOTHING.to_vec().into()));
        }
        if request.operation() != "now" {
            tokio::task::yield_now().await;
        }
        let mut reply = vec![0; LEN];
        reply[..4].copy_from_slice(&(LEN as i32).to_le_bytes());
        reply[4..6].copy_from_slice(&[1, 1]);
        request.respond(&Outcome::Returned(reply.into()))
    })
}

const LEN: usize = 100_000;

/// Sends requests whose replies nobody reads, and checks that their memory is bounded and others are served.
async fn attack(operation: &str, connections: usize) {
    let log = Log::of_all();
    let mut settings = settings();
    settings.reply_memory_max = 2_000_000;
    settings.output_limit = 300_000;
    let server = Communicator::with_settings(settings.clone());
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    adapter.add("echo", Arc::new(Long)).unwrap();
    adapter.activate();
    let endpoint = adapter.endpoints()[0].clone();
    let requests = request(1, operation).repeat(500);
    let mut attackers = Vec::new();
    for _ in 0..connections {
        let mut raw = Raw::connect(endpoint.port().unwrap());
        raw.send(&requests);
        attackers.push(raw);
    }
    until("the connection of an attacker is closed", || {
        let lines = log.lines_with("`Settings::reply_memory_max`");
        let is_of = |raw: &Raw| lines.iter().any(|line| line.contains(&raw.name()));
        attackers.iter().any(is_of)
    });
    let client = Communicator::with_settings(settings);
    let other: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
    let call = other.invoke("short", OperationMode::Normal, &NOTHING[..]);
    tokio::time::timeout(Duration::from_secs(60), call)
        .await
        .expect("it is served")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_wait_for_one_peer_hold_no_more_than_the_limit() {
    attack("later", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_wait_for_many_peers_hold_no_more_than_the_limit() {
    attack("now", 30).await;
}
