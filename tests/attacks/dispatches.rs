//! The connections of one address have as many requests in dispatch as the adapter may have: others are served all the
//! same.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher, OperationMode, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::raw::request;
use crate::stage::{NOTHING, PATIENCE, settings};

/// Never answers `echo`, which the attacker calls, and answers all others.
#[derive(Default)]
struct Waiting {
    begun: AtomicUsize,
}

impl Dispatcher for Waiting {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Waiting {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            if request.operation() == "echo" {
                self.begun.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
            }
            request.respond(&Outcome::Returned(NOTHING.to_vec().into()))
        })
    }
}

/// A connection from the attacker's address.
async fn attack(port: u16, requests: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut stream = socket.connect(([127, 0, 0, 1], port).into()).await.unwrap();
    stream.read_exact(&mut [0; 14]).await.unwrap();
    stream.write_all(requests).await.unwrap();
    stream
}

#[tokio::test]
async fn an_address_with_many_waiting_dispatches_keeps_no_other_address_waiting() {
    const LIMIT: usize = 512;
    let mut limited = settings();
    limited.adapter_dispatch_limit = LIMIT;
    limited.dispatch_limit = LIMIT / 4;
    let server = Communicator::with_settings(limited);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let servant = Arc::new(Waiting::default());
    adapter.add("echo", servant.clone()).unwrap();
    adapter.activate();
    let endpoint = &adapter.endpoints()[0];

    let requests = request(7, "echo").repeat(LIMIT);
    let mut attackers = Vec::new();
    for _ in 0..8 {
        attackers.push(attack(endpoint.port().unwrap(), &requests).await);
    }
    let begun = || servant.begun.load(Ordering::Relaxed);
    let filled = async {
        while begun() < LIMIT - LIMIT / 16 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, filled).await.expect("the attack begins");

    let client = Communicator::with_settings(settings());
    let other: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
    for _ in 0..100 {
        let called = other.invoke("other", OperationMode::Normal, &NOTHING[..]);
        let called = timeout(Duration::from_secs(10), called).await;
        called.expect("it is dispatched").unwrap();
    }
    // A few that wait are no reason to keep an address waiting.
    let waiting: Vec<_> = (0..15)
        .map(|_| {
            let waiting = other.clone();
            let ask = async move {
                let asked = waiting.invoke("echo", OperationMode::Normal, &NOTHING[..]);
                asked.await.map(drop)
            };
            tokio::spawn(ask)
        })
        .collect();
    let before = begun();
    let have_begun = async {
        while begun() < before + waiting.len() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, have_begun)
        .await
        .expect("they are dispatched");
    let called = other.invoke("other", OperationMode::Normal, &NOTHING[..]);
    let called = timeout(Duration::from_secs(10), called).await;
    called.expect("it is dispatched").unwrap();
    assert_eq!(begun(), before + waiting.len(), "the attacker gets no more");

    drop(attackers);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}
