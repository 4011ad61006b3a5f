//! Connections share what an adapter lets run at a time: none takes the turns of the others.

use std::sync::{Arc, Mutex};

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Communicator, Dispatcher, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::echo::{NOTHING, soon};
use crate::raw::header;

/// `hold` runs until it is released. Every operation is noted when it runs.
#[derive(Default)]
struct Turns {
    operations: Mutex<Vec<String>>,
    is_held: Notify,
    release: Notify,
    /// A connection that asked to be watched has sent a heartbeat.
    heartbeat: Arc<Notify>,
}

impl Dispatcher for Turns {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Turns {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let operation = request.operation().to_owned();
            if operation == "watch" {
                let heartbeat = self.heartbeat.clone();
                let connection = request.current().connection().expect("over the wire");
                connection.on_heartbeat(move |_| heartbeat.notify_one());
            }
            if operation == "hold" {
                self.is_held.notify_one();
                self.release.notified().await;
            }
            self.operations.lock().unwrap().push(operation);
            request.returned_nothing()
        })
    }
}

/// A twoway request without parameters to the object `t`.
fn request(operation: &str) -> Vec<u8> {
    let mut bytes = header(0, 0);
    bytes.extend(b"\x01\x00\x00\x00\x01t\x00\x00");
    bytes.push(operation.len() as u8);
    bytes.extend(operation.as_bytes());
    bytes.extend([0, 0]);
    bytes.extend(NOTHING);
    bytes[10] = bytes.len() as u8;
    bytes
}

/// Length of a reply without results.
const REPLY_LEN: usize = 25;

async fn connect(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.read_exact(&mut [0; 14]).await.unwrap();
    stream
}

async fn send(stream: &mut TcpStream, messages: &[Vec<u8>]) {
    stream.write_all(&messages.concat()).await.unwrap();
}

async fn replies(stream: &mut TcpStream, count: usize) {
    let mut replies = vec![0; count * REPLY_LEN];
    soon(stream.read_exact(&mut replies)).await.unwrap();
}

/// All tasks run in one thread. A task that is woken by something that a connection has read runs after that connection
/// has gone as far as it can.
#[tokio::test]
async fn a_connection_with_many_requests_lets_another_one_in_between() {
    let mut settings = Settings::default();
    settings.adapter_dispatch_limit = 1;
    let server = Communicator::with_settings(settings);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let turns = Arc::new(Turns::default());
    adapter.add("t", turns.clone()).unwrap();
    adapter.activate();
    let port = adapter.endpoints()[0].port().unwrap();

    let mut polite = connect(port).await;
    send(&mut polite, &[request("watch")]).await;
    replies(&mut polite, 1).await;

    let mut greedy = connect(port).await;
    let greed = [&[request("hold")][..], &vec![request("greedy"); 20]].concat();
    send(&mut greedy, &greed).await;
    soon(turns.is_held.notified()).await;
    // The heartbeat is told of before the request behind it stands in the queue.
    send(&mut polite, &[header(3, 14), request("polite")]).await;
    soon(turns.heartbeat.notified()).await;
    turns.release.notify_one();
    replies(&mut polite, 1).await;
    replies(&mut greedy, 21).await;

    let operations = turns.operations.lock().unwrap();
    let at = operations
        .iter()
        .position(|operation| operation == "polite");
    assert_eq!(
        at,
        Some(3),
        "after `watch`, `hold` and the one that waited longer: {operations:?}"
    );
}
