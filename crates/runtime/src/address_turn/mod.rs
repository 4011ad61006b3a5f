//! The turns of addresses: the connections of one address together keep others waiting no longer than a few connections
//! do, however many there are. ADR 90.
//!
//! A connection takes part in a turn of its address whenever it handles input. When they have used the turn up, the
//! connections of the address wait until all others have run, and then they continue one after another.
//!
//! - `turn_queue.rs` decides whose turn it is
//! - `participation.rs` is what a connection has of it
//! - `busy_addresses.rs` makes turns shorter if many addresses are busy
//!
//! Each thread has turns of its own, because others wait for a thread. An address with one connection has none.

mod busy_addresses;
mod participation;
mod turn_queue;

use std::cell::Cell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use busy_addresses::{BusyAddresses, CountedWindow};
pub(crate) use participation::Participation;
use turn_queue::TurnQueue;

/// The turns of all addresses of a communicator.
#[derive(Debug, Default)]
pub(crate) struct AddressTurns {
    busy_addresses: Arc<BusyAddresses>,
    /// The address is `None` for sockets of this host.
    by_address: Mutex<ByAddress>,
}

#[derive(Debug, Default)]
struct ByAddress {
    turns: HashMap<Option<IpAddr>, Weak<AddressTurn>>,
    /// When the map grows beyond this length, addresses without connections leave it.
    prune_at: usize,
}

/// The turns of one address.
#[derive(Debug)]
pub(crate) struct AddressTurn {
    address: Option<IpAddr>,
    busy_addresses: Arc<BusyAddresses>,
    counted: CountedWindow,
    /// The number of connections that have ever been there.
    connection_count: AtomicUsize,
    /// Set once there is a second connection.
    queues: OnceLock<Box<[ThreadQueue; QUEUES]>>,
}

/// If there are more threads than queues, some share one.
const QUEUES: usize = 16;
/// The turn of an address is as long as this many turns of a connection.
const CONNECTION_TURNS: u32 = 4;

/// The turns of an address on one thread.
#[derive(Debug, Default)]
// Threads do not disturb each other's cache lines.
#[repr(align(128))]
struct ThreadQueue {
    /// True if connections must ask the queue before they take part. A thread that sees an old value lets one
    /// connection take part too early, or asks without need.
    is_in_use: AtomicBool,
    queue: Mutex<TurnQueue<Waker>>,
}

impl AddressTurns {
    /// Returns a new connection's part in the turns of its address.
    pub(crate) fn join(&self, address: Option<IpAddr>) -> Participation {
        let mut by_address = self
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let ByAddress { turns, prune_at } = &mut *by_address;
        let known = turns.get(&address).and_then(Weak::upgrade);
        let turn = known.unwrap_or_else(|| {
            if turns.len() >= *prune_at {
                turns.retain(|_, turn| turn.strong_count() > 0);
                *prune_at = 2 * turns.len() + 16;
            }
            let turn = Arc::new(self.new_turn(address));
            turns.insert(address, Arc::downgrade(&turn));
            turn
        });
        drop(by_address);
        turn.join()
    }

    /// Returns the part of a connection that shares its turns with no other.
    pub(crate) fn alone(&self) -> Participation {
        Arc::new(self.new_turn(None)).join()
    }

    fn new_turn(&self, address: Option<IpAddr>) -> AddressTurn {
        AddressTurn {
            address,
            busy_addresses: self.busy_addresses.clone(),
            counted: CountedWindow::default(),
            connection_count: AtomicUsize::new(0),
            queues: OnceLock::new(),
        }
    }
}

impl AddressTurn {
    fn join(self: Arc<Self>) -> Participation {
        let number = self.connection_count.fetch_add(1, Ordering::Relaxed);
        if number > 0 {
            self.queues.get_or_init(Box::default);
        }
        Participation::new(self, number)
    }

    /// Notes that a connection of the address handles a lot.
    fn note_busy(&self, now: Instant) {
        self.busy_addresses.note(&self.counted, now);
    }

    /// The part of a connection's turn that there is now.
    fn connection_share(&self, whole: Duration) -> Duration {
        self.busy_addresses.share(whole)
    }

    /// The part of the address's turn that there is now; `whole` is the turn of a connection.
    fn share(&self, whole: Duration) -> Duration {
        self.busy_addresses
            .share(whole.saturating_mul(CONNECTION_TURNS))
    }
}

impl ThreadQueue {
    fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Relaxed)
    }

    fn change<T>(&self, change: impl FnOnce(&mut TurnQueue<Waker>) -> T) -> T {
        let mut queue: MutexGuard<'_, _> =
            self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut queue);
        self.is_in_use.store(!queue.is_free(), Ordering::Relaxed);
        changed
    }
}

/// The place of this thread's queue.
#[inline]
fn place_of_thread() -> usize {
    THREAD_NUMBER.with(|number| match number.get() {
        usize::MAX => {
            number.set(THREAD_COUNT.fetch_add(1, Ordering::Relaxed) % QUEUES);
            number.get()
        }
        known => known,
    })
}

static THREAD_COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD_NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}
