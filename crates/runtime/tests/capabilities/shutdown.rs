//! The end of a communicator: nothing that was accepted is forgotten.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Communicator, Dispatcher, OperationMode, Proxy, Settings, TypedProxy};

use tokio::sync::Notify;

use crate::echo::{NOTHING, Server, soon};

/// Counts what begins and what ends, a while later.
#[derive(Default)]
struct Slow {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Dispatcher for Slow {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Slow {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.ended.fetch_add(1, Ordering::SeqCst);
            request.returned_nothing()
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twoway_oneway_and_batched_requests_in_flight_all_end() {
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let slow = Arc::new(Slow::default());
    let there = adapter.add("slow", slow.clone()).expect("new");
    adapter.activate();
    let client = Communicator::new();
    let proxy = client.proxy_from(there.reference().clone());
    proxy.connect().await.expect("connected");

    let batch = proxy.ice_batch_oneway();
    for _ in 0..5 {
        batch
            .invoke("op", OperationMode::Normal, &NOTHING)
            .await
            .expect("collected");
    }
    batch.flush_batch().await.expect("flushed");
    for _ in 0..10 {
        let oneway = proxy.ice_oneway();
        let sent = oneway.invoke("op", OperationMode::Normal, &NOTHING).await;
        sent.expect("sent");
    }
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let proxy = proxy.clone();
        calls.spawn(async move { proxy.invoke("op", OperationMode::Normal, &NOTHING).await });
    }
    // The first of the batch, and all others.
    while slow.begun.load(Ordering::SeqCst) < 21 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    soon(server.shutdown()).await;
    while let Some(call) = calls.join_next().await {
        call.expect("no panic").expect("answered");
    }
    assert_eq!(slow.ended.load(Ordering::SeqCst), 25);
}

#[tokio::test]
async fn a_shutdown_flushes_batches_first() {
    let server = Server::start().await;
    let client = Communicator::new();
    let batch = server.proxy_of(&client, "echo").ice_batch_oneway();
    for _ in 0..3 {
        batch
            .invoke("echo", OperationMode::Normal, &NOTHING)
            .await
            .expect("collected");
    }
    soon(client.shutdown()).await;
    server.proxy("echo").ice_ping().await.expect("a ping");
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_abort_ends_a_shutdown_that_takes_too_long() {
    struct Stuck(Arc<Notify>);
    impl Dispatcher for Stuck {
        fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
            requests.each(slot, move |request| self.clone().respond(request));
        }
    }

    impl Stuck {
        fn respond(self: Arc<Self>, _: Request) -> DispatchFuture {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }
    }
    let mut settings = Settings::default();
    settings.close_timeout = Duration::from_secs(2);
    let server = Communicator::with_settings(settings);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let begun = Arc::new(Notify::new());
    let there = adapter.add("stuck", Stuck(begun.clone())).expect("new");
    adapter.activate();
    let client = Communicator::new();
    let proxy: Proxy = client.proxy_from(there.reference().clone());
    proxy.connect().await.expect("connected");
    let call =
        tokio::spawn(async move { proxy.invoke("op", OperationMode::Normal, &NOTHING).await });
    soon(begun.notified()).await;
    let mut stopping = std::pin::pin!(server.shutdown());
    let asked = poll_fn(|context| Poll::Ready(stopping.as_mut().poll(context)));
    assert!(asked.await.is_pending());
    assert!(!call.is_finished());
    server.abort();
    soon(call).await.expect("no panic").unwrap_err();
    soon(stopping).await;
}

#[tokio::test]
async fn an_adapter_that_is_destroyed_ends_the_batch_that_it_began() {
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let slow = Arc::new(Slow::default());
    let there = adapter.add("slow", slow.clone()).expect("new");
    adapter.activate();
    let client = Communicator::new();
    let batch = client.proxy_from(there.reference().clone());
    let batch = batch.ice_batch_oneway();
    for _ in 0..5 {
        let collected = batch.invoke("op", OperationMode::Normal, &NOTHING).await;
        collected.expect("collected");
    }
    batch.flush_batch().await.expect("flushed");
    while slow.begun.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    soon(adapter.destroy()).await;
    assert_eq!(slow.ended.load(Ordering::SeqCst), 5);
}
