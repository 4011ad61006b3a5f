//! One peer sends more than this side can handle, on one connection or on many: others have their turn all the same.
//!
//! The server and its other client run on one thread, so that it is known what was handled before the other's reply: no
//! clock decides.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher, OperationMode, Proxy, Settings};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::raw::{batch_of, bomb, request};
use crate::stage::{NOTHING, settings};

/// Counts the requests of the attacker, which are `echo`. Each takes so long, without an await.
struct Counting {
    attacks: AtomicUsize,
    time: Duration,
    /// True if they are never answered.
    is_waiting: bool,
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
                std::thread::sleep(self.time);
                if self.is_waiting {
                    pending::<()>().await;
                }
            }
            request.respond(&Outcome::Returned(NOTHING.to_vec().into()))
        })
    }
}

/// The attack of one address.
struct Attack<'a> {
    connections: usize,
    bytes: &'a [u8],
    /// True if each connection sends the bytes as often as the system takes them.
    repeats: bool,
    /// How long each request takes.
    time: Duration,
    /// True if the requests are never answered.
    is_waiting: bool,
}

impl Attack<'_> {
    /// Connects and sends, so that all of it is there before anything of it is handled.
    async fn begin(&self, port: u16) -> Vec<TcpStream> {
        let mut streams = Vec::new();
        for _ in 0..self.connections {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
            let server = ([127, 0, 0, 1], port).into();
            let mut stream = socket.connect(server).await.unwrap();
            stream.read_exact(&mut [0; 14]).await.unwrap();
            streams.push(stream);
        }
        for stream in &streams {
            stream.writable().await.unwrap();
        }
        // There is no await, so that the server does not run meanwhile.
        for stream in &streams {
            while stream.try_write(self.bytes).is_ok() && self.repeats {}
        }
        streams
    }

    /// Requests of the attacker that are dispatched until a connection of another address has made one call, which begins
    /// when the first of them are.
    fn dispatched_meanwhile(&self, settings: Settings) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let servant = Arc::new(Counting {
                attacks: AtomicUsize::new(0),
                time: self.time,
                is_waiting: self.is_waiting,
            });
            let server = Communicator::with_settings(settings.clone());
            let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
            adapter.add("echo", servant.clone()).unwrap();
            adapter.activate();
            let endpoint = &adapter.endpoints()[0];
            let client = Communicator::with_settings(settings);
            let other: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
            let call = || other.invoke("other", OperationMode::Normal, &NOTHING[..]);
            call().await.unwrap();

            let _attackers = self.begin(endpoint.port().unwrap()).await;
            let dispatched = || servant.attacks.load(Ordering::Relaxed);
            while dispatched() == 0 {
                tokio::task::yield_now().await;
            }
            call().await.unwrap();
            let meanwhile = dispatched();
            // Nothing of the attack is left out.
            while !self.repeats && dispatched() < self.connections {
                tokio::task::yield_now().await;
            }
            meanwhile
        })
    }
}

/// As [`Attack::dispatched_meanwhile`], for one connection.
fn dispatched_meanwhile(settings: Settings, bytes: &[u8]) -> usize {
    let attack = Attack {
        connections: 1,
        bytes,
        repeats: true,
        time: Duration::ZERO,
        is_waiting: false,
    };
    attack.dispatched_meanwhile(settings)
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

#[test]
fn connections_of_one_address_that_pipeline_share_a_turn() {
    let mut settings = settings();
    settings.turn_requests_max = 64;
    settings.turn_time_max = Duration::MAX;
    let attack = Attack {
        connections: 100,
        bytes: &request(0, "echo").repeat(5_000),
        repeats: true,
        time: Duration::ZERO,
        is_waiting: false,
    };
    let count = attack.dispatched_meanwhile(settings);
    let most = TURNS_OF_A_CALL * (64 + 32);
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn connections_of_one_address_with_little_to_do_share_a_turn() {
    let mut settings = settings();
    settings.turn_time_max = Duration::from_millis(1);
    let attack = Attack {
        connections: 200,
        bytes: &request(0, "echo"),
        repeats: false,
        time: Duration::from_millis(1),
        is_waiting: false,
    };
    let count = attack.dispatched_meanwhile(settings);
    // An address has four turns of a connection. At first one connection of eight is measured.
    let most = 8 + TURNS_OF_A_CALL * 5;
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn connections_of_one_address_whose_dispatches_are_at_their_limit_share_a_turn() {
    // So few that a connection never looks at the clock.
    const LIMIT: usize = 24;
    let mut settings = settings();
    settings.turn_time_max = Duration::from_millis(1);
    settings.dispatch_limit = LIMIT;
    let attack = Attack {
        connections: 300,
        bytes: &request(7, "echo").repeat(2 * LIMIT),
        repeats: false,
        time: Duration::from_micros(100),
        is_waiting: true,
    };
    let count = attack.dispatched_meanwhile(settings);
    // An address has four turns of a connection. One connection of eight is measured.
    let most = 8 * LIMIT + TURNS_OF_A_CALL * 8 * LIMIT;
    assert!(count <= most, "expected at most {most}, got {count}");
}

#[test]
fn compressed_messages_of_one_address_share_a_turn() {
    let mut settings = settings();
    settings.turn_inflated_max = 40_000;
    settings.turn_requests_max = usize::MAX;
    settings.turn_time_max = Duration::MAX;
    let attack = Attack {
        connections: 50,
        bytes: &bomb("echo", 20_000).repeat(100),
        repeats: true,
        time: Duration::ZERO,
        is_waiting: false,
    };
    let count = attack.dispatched_meanwhile(settings);
    let most = TURNS_OF_A_CALL * 2;
    assert!(count <= most, "expected at most {most}, got {count}");
}
