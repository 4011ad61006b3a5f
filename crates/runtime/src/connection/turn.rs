//! A connection without a reader of its own: those who wait for replies take turns.
//!
//! ```text
//! free --caller waits, or the watch sees bytes--> held --its reply is here--> free, one waiter is called
//!                                                 held --connection ends--> gone
//! ```
//!
//! One waiting caller reads, blocked in the system, and answers the others, too. When it leaves, for
//! whatever reason, it gives the turn back and calls one of those that still wait. Nobody waits,
//! nobody reads: then a task watches the socket, so that heartbeats, requests of the peer and the end
//! of the connection are seen. It watches only what nobody has used for a while, because to be woken
//! for each reply would cost the callers as much as the reply itself.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::sync::Notify;

use super::Connection;
use super::driver::{Driver, is_transient, receive_polling};
use super::reading::Reading;
use crate::blocking::Sleeper;
use crate::transport::plain::PlainSocket;

/// Whose turn it is to read.
pub(super) struct Turn {
    socket: Arc<PlainSocket>,
    /// Guards who reads and who waits; held for a moment.
    state: Mutex<State>,
    /// Whether a caller has waited since the last look of the watch.
    is_used: AtomicBool,
    /// Wakes the watch.
    watch: Notify,
}

#[derive(Default)]
struct State {
    /// The reading, while nobody holds it. Gone for good when the connection has ended.
    free: Option<Box<Reading>>,
    /// Callers that wait while another one reads.
    waiting: Vec<Arc<Sleeper>>,
    /// Whether the watch shall read as soon as it can, for somebody who cannot.
    is_asked: bool,
}

impl Turn {
    pub(super) fn new(socket: Arc<PlainSocket>) -> Self {
        Self {
            socket,
            state: Mutex::default(),
            is_used: AtomicBool::new(false),
            watch: Notify::new(),
        }
    }

    /// Wakes the watch, which finds out what has changed.
    pub(super) fn look_again(&self) {
        self.watch.notify_one();
    }

    /// Somebody waits for a reply who cannot read it: the watch shall.
    pub(super) fn ask(&self) {
        self.lock().is_asked = true;
        self.watch.notify_one();
    }

    /// The turn; if another one has it, the sleeper is noted as waiting.
    fn take_or_wait(&self, sleeper: &Arc<Sleeper>) -> Option<Box<Reading>> {
        let mut state = self.lock();
        let free = state.free.take();
        if free.is_none() {
            state.waiting.push(sleeper.clone());
        }
        free
    }

    /// The sleeper waits no longer. If the turn was meant for it, another one gets it.
    fn stop_waiting(&self, sleeper: &Arc<Sleeper>) {
        let mut state = self.lock();
        state.waiting.retain(|other| !Arc::ptr_eq(other, sleeper));
        self.call_next(&state);
    }

    /// Whether the watch is needed: somebody asked for it, or nobody has used the turn for a while.
    fn is_watch_due(&self) -> bool {
        let is_used = self.is_used.swap(false, Ordering::Relaxed);
        let state = self.lock();
        state.free.is_some() && (state.is_asked || !is_used)
    }

    /// The turn for the watch, unless callers read by themselves again.
    fn take_unless_used(&self) -> Option<Box<Reading>> {
        let mut state = self.lock();
        let is_needed = state.is_asked || !self.is_used.load(Ordering::Relaxed);
        is_needed.then(|| state.free.take())?
    }

    fn give_back(&self, reading: Box<Reading>) {
        let mut state = self.lock();
        state.free = Some(reading);
        self.call_next(&state);
    }

    /// Sees to it that a free turn is taken, if anybody needs it.
    fn call_next(&self, state: &State) {
        if state.free.is_none() {
            return;
        }
        match state.waiting.first() {
            Some(next) => next.call(),
            None if state.is_asked => self.watch.notify_one(),
            None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn, while somebody has it.
struct Held<'a> {
    turn: &'a Turn,
    /// Gone when the connection has ended.
    reading: Option<Box<Reading>>,
}

impl Held<'_> {
    /// Handles what has been read.
    fn handle(&mut self, read: std::io::Result<usize>) {
        let is_open = |reading: &mut Box<Reading>| reading.handle_here(read);
        if !self.reading.as_mut().is_some_and(is_open) {
            self.reading = None;
        }
    }

    /// Reads all that is there.
    async fn read_all(&mut self) {
        while let Some(reading) = &mut self.reading {
            let read = self.turn.socket.try_receive(reading.room());
            match &read {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if is_transient(error) => {}
                _ => {
                    if !reading.handle(read).await {
                        self.reading = None;
                    }
                }
            }
        }
    }

    /// Reads until the sleeper is woken, its deadline is over, or the connection has ended.
    fn read_for(&mut self, sleeper: &Sleeper, deadline: Option<Instant>, polling: Duration) {
        while !sleeper.is_woken() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            let Some(reading) = &mut self.reading else {
                return;
            };
            let socket = &self.turn.socket;
            let limit = deadline.map_or(polling, |deadline| {
                polling.min(deadline.saturating_duration_since(Instant::now()))
            });
            let read = match receive_polling(reading, socket, limit) {
                Some(read) => read,
                None => match deadline {
                    None => socket.receive(reading.room()),
                    Some(deadline) => socket.receive_until(reading.room(), deadline),
                },
            };
            if !matches!(&read, Err(error) if is_transient(error)) {
                self.handle(read);
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        match self.reading.take() {
            // What a panic left half done must not go on.
            Some(reading) if !std::thread::panicking() => self.turn.give_back(reading),
            _ => {}
        }
    }
}

impl Connection {
    /// Waits on this thread until the sleeper is woken, or until the deadline, and reads meanwhile
    /// if nobody else does. It may return early.
    pub(super) fn take_turn(&self, turn: &Turn, sleeper: &Arc<Sleeper>, deadline: Option<Instant>) {
        turn.is_used.store(true, Ordering::Relaxed);
        match turn.take_or_wait(sleeper) {
            Some(reading) => {
                let reading = Some(reading);
                let mut held = Held { turn, reading };
                held.read_for(sleeper, deadline, self.polling());
            }
            None => {
                sleeper.park(deadline);
                turn.stop_waiting(sleeper);
            }
        }
    }

    /// Gives the turn its reading, and watches from now on until the connection is closed.
    pub(super) async fn watch(self: Arc<Self>, reading: Reading) {
        let Driver::Callers(turn) = &self.driver else {
            return;
        };
        turn.give_back(Box::new(reading));
        while !self.lock().machine.is_closed() {
            if !turn.is_watch_due() {
                let _ = tokio::time::timeout(self.idle_time(), turn.watch.notified()).await;
                continue;
            }
            if let Err(error) = self.watch_socket(turn).await {
                let reason = format!("its socket cannot be watched: {error}");
                tracing::warn!("dropped the connection to {}: {reason}", self.peer);
                self.abort(reason);
            }
        }
        // Nobody else may be there to take it.
        drop(turn.lock().free.take());
    }

    /// How long it must be idle before it is watched: where the peer calls, too, it waits for that.
    fn idle_time(&self) -> Duration {
        match self.adapter() {
            Some(_) => IDLE_TIME_SERVING,
            None => IDLE_TIME,
        }
    }

    /// Reads what comes, until somebody else does.
    async fn watch_socket(&self, turn: &Turn) -> std::io::Result<()> {
        let watched = turn.socket.watched(Interest::READABLE)?;
        loop {
            let mut ready = tokio::select! {
                ready = watched.readable() => ready?,
                () = turn.watch.notified() => return Ok(()),
            };
            ready.clear_ready();
            drop(ready);
            let Some(reading) = turn.take_unless_used() else {
                return Ok(());
            };
            let reading = Some(reading);
            Held { turn, reading }.read_all().await;
            if self.lock().machine.in_flight() == 0 {
                turn.lock().is_asked = false;
            }
            if self.lock().machine.is_closed() {
                return Ok(());
            }
        }
    }
}

/// How long a connection must be idle before it is watched.
const IDLE_TIME: Duration = Duration::from_millis(100);
/// The same for one over which the peer may call.
const IDLE_TIME_SERVING: Duration = Duration::from_millis(1);
