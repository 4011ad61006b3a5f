//! Limits that are reached hold work back, but never for ever.

use std::sync::Arc;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Communicator, Dispatcher, OperationMode, TypedProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::echo::{NOTHING, Server, encapsulation, returned, soon};
use crate::raw::header;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_both_outputs_hold_travels_in_both_directions_at_once() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let parameters = Arc::new(encapsulation(&vec![7; 500_000]));
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (proxy, parameters) = (proxy.clone(), parameters.clone());
            tokio::spawn(async move { returned(&proxy, "echo", &parameters).await })
        })
        .collect();
    for call in calls {
        assert!(soon(call).await.unwrap().unwrap() == *parameters);
    }
}

/// Waits twice for the same lock, so that each dispatch stands in its queue more than once.
#[derive(Default)]
struct Queueing(Mutex<()>);

impl Dispatcher for Queueing {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Queueing {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            {
                let _held = self.0.lock().await;
                tokio::time::sleep(Duration::from_micros(10)).await;
            }
            tokio::task::yield_now().await;
            let _held = self.0.lock().await;
            request.returned_nothing()
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dispatches_that_wait_for_one_another_do_not_wait_for_the_limit() {
    let mut settings = floe::Settings::default();
    settings.dispatch_limit = 4;
    let server = Communicator::with_settings(settings);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter.add("queueing", Queueing::default()).unwrap();
    adapter.activate();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let proxy = proxy.clone();
            tokio::spawn(async move { returned(&proxy, "wait", &NOTHING).await })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap().unwrap();
    }
}

/// A request to the object `gate` without parameters.
fn request(id: u8, operation: &str) -> Vec<u8> {
    let mut bytes = header(0, 0);
    bytes.extend([id, 0, 0, 0, 4]);
    bytes.extend(b"gate\x00\x00");
    bytes.push(operation.len() as u8);
    bytes.extend(operation.as_bytes());
    bytes.extend([0, 0]);
    bytes.extend(NOTHING);
    bytes[10] = bytes.len() as u8;
    bytes
}

#[tokio::test]
async fn a_reply_leaves_before_a_later_request_of_the_same_read_waits_for_the_limit() {
    let mut settings = floe::Settings::default();
    settings.dispatch_limit = 1;
    let server = Communicator::with_settings(settings);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone().lock_owned().await;
    adapter.add("gate", Gate(lock)).unwrap();
    adapter.activate();
    let port = adapter.endpoints()[0].port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let requests = [
        request(1, "ice_ping"),
        request(2, "wait"),
        request(3, "wait"),
    ]
    .concat();
    stream.write_all(&requests).await.unwrap();

    // ValidateConnection, then the reply to the first; the other two wait, one of them for the limit.
    let mut answer = [0; 14 + 25];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    assert_eq!(answer[14 + 14], 1, "the reply to request 1");
    drop(held);
    let mut answers = [0; 2 * 25];
    soon(stream.read_exact(&mut answers)).await.unwrap();
}

/// `wait` waits for the lock.
struct Gate(Arc<Mutex<()>>);

impl Dispatcher for Gate {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Gate {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            if request.operation() == "wait" {
                let _held = self.0.lock().await;
                return request.returned_nothing();
            }
            request.builtin("::Ice::Object", &["::Ice::Object"])
        })
    }
}

/// Notes the order in which requests end; the first takes longest.
#[derive(Default)]
struct Order(std::sync::Mutex<Vec<String>>);

impl Dispatcher for Order {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Order {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            if request.operation() == "first" {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            self.0.lock().unwrap().push(request.operation().to_owned());
            request.returned_nothing()
        })
    }
}

#[tokio::test]
async fn the_requests_of_a_batch_run_one_after_another() {
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let order = Arc::new(Order::default());
    let proxy = adapter.add("order", order.clone()).unwrap();
    adapter.activate();
    let batch = proxy.ice_batch_oneway();
    for operation in ["first", "second", "third"] {
        batch
            .invoke(operation, OperationMode::Normal, &NOTHING)
            .await
            .unwrap();
    }
    batch.ice_flush_batch().await.unwrap();
    soon(async {
        while order.0.lock().unwrap().len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(*order.0.lock().unwrap(), ["first", "second", "third"]);
}

#[tokio::test]
async fn a_connection_that_is_silent_gets_heartbeats() {
    let mut settings = floe::Settings::default();
    settings.outgoing.heartbeat_interval = Duration::from_millis(20);
    settings.incoming.heartbeat_interval = Duration::from_millis(20);
    settings.outgoing.idle_timeout = Duration::from_secs(1);
    settings.incoming.idle_timeout = Duration::from_secs(1);
    let server = Communicator::with_settings(settings.clone());
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone().lock_owned().await;
    let gate = adapter.add("gate", Gate(lock)).unwrap();
    adapter.activate();
    let client = Communicator::with_settings(settings);
    let proxy = client.proxy_from(gate.reference().clone());
    let call = tokio::spawn(async move { returned(&proxy, "wait", &NOTHING).await });
    // Longer than the idle timeout: the server's heartbeats keep the connection.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    drop(held);
    assert_eq!(soon(call).await.unwrap().unwrap(), NOTHING);
}
