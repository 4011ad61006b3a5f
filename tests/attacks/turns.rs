//! One peer sends more than this side can handle: others have their turn all the same.
//!
//! The server and its other client run on one thread, so that it is known what was handled before the other's reply: no
//! clock decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher, OperationMode, Proxy, Settings};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::raw::{batch_of, bomb, request};
use crate::stage::{NOTHING, settings};

/// Counts the requests of the attacker, which are `echo`; `other` gives the count.
#[derive(Default)]
struct Counting {
    attacks: AtomicUsize,
}

impl Dispatcher for Counting {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Counting {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            if request.operation() == "echo" {
                self.attacks.fetch_add(1, Ordering::Relaxed);
            }
            request.respond(&Outcome::Returned(NOTHING.to_vec().into()))
        })
    }
}

/// Requests of the attacker that are dispatched until another connection has made one call, which begins when the first
/// of them are.
fn dispatched_meanwhile(settings: Settings, attack: &[u8]) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let servant = Arc::<Counting>::default();
        let server = Communicator::with_settings(settings.clone());
        let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        adapter.add("echo", servant.clone()).unwrap();
        adapter.activate();
        let endpoint = &adapter.endpoints()[0];
        let client = Communicator::with_settings(settings);
        let other: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
        let call = || other.invoke("other", OperationMode::Normal, &NOTHING[..]);
        call().await.unwrap();

        let address = ("127.0.0.1", endpoint.port().unwrap());
        let mut attacker = TcpStream::connect(address).await.unwrap();
        attacker.read_exact(&mut [0; 14]).await.unwrap();
        // As much as the system takes is there before anything of it is handled.
        attacker.writable().await.unwrap();
        while attacker.try_write(attack).is_ok() {}
        let dispatched = || servant.attacks.load(Ordering::Relaxed);
        while dispatched() == 0 {
            tokio::task::yield_now().await;
        }
        call().await.unwrap();
        dispatched()
    })
}

/// A call needs a few turns of its own: to be sent, dispatched, and answered.
const TURNS_OF_A_CALL: usize = 8;

#[test]
fn pipelined_requests_give_way_when_the_requests_of_a_turn_are_dispatched() {
    let mut settings = settings();
    settings.turn_requests_max = 64;
    settings.turn_time_max = Duration::MAX;
    let attack = request(0, "echo").repeat(5_000);
    let count = dispatched_meanwhile(settings, &attack);
    // A turn is counted in steps of 32.
    let most = TURNS_OF_A_CALL * (64 + 32);
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn pipelined_requests_give_way_when_the_time_of_a_turn_is_over() {
    let mut settings = settings();
    settings.turn_requests_max = usize::MAX;
    settings.turn_time_max = Duration::ZERO;
    let attack = request(0, "echo").repeat(5_000);
    let count = dispatched_meanwhile(settings, &attack);
    let most = TURNS_OF_A_CALL * 2 * 32;
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn compressed_messages_give_way_when_the_bytes_of_a_turn_are_inflated() {
    let mut settings = settings();
    settings.turn_inflated_max = 40_000;
    settings.turn_requests_max = usize::MAX;
    settings.turn_time_max = Duration::MAX;
    // Each holds one request in some 20 kB.
    let message = bomb("echo", 20_000);
    assert!(message.len() < 500, "{}", message.len());
    let count = dispatched_meanwhile(settings, &message.repeat(500));
    let most = TURNS_OF_A_CALL * 2;
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn the_requests_of_one_long_batch_give_way_too() {
    let mut settings = settings();
    settings.turn_requests_max = 64;
    settings.turn_time_max = Duration::MAX;
    let count = dispatched_meanwhile(settings, &batch_of("echo", 20_000));
    let most = TURNS_OF_A_CALL * (64 + 32);
    assert!(count <= most, "expected at most {most}, got {count}");
}
