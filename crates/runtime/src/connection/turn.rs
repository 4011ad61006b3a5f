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
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::sync::Notify;

use super::ConnectionCore;
use super::driver::{Driver, is_transient, receive_polling};
use super::pending_reply::PendingReply;
use super::reading::Reading;
use super::received::{ReadHere, Received, Short};
use super::turns::{CallWatch, Turns};
use super::wait::Sleeper;
use crate::transport::plain::PlainSocket;

/// Whose turn it is to read, and from where.
pub(super) struct Turn {
    socket: Arc<PlainSocket>,
    turns: Turns<Box<Reading>>,
    /// Wakes the watch.
    watch: Notify,
}

impl Turn {
    pub(super) fn new(socket: Arc<PlainSocket>) -> Self {
        Self {
            socket,
            turns: Turns::new(),
            watch: Notify::new(),
        }
    }

    /// Wakes the watch, which finds out what has changed.
    pub(super) fn look_again(&self) {
        self.watch.notify_one();
    }

    /// Somebody waits for a reply who cannot read it: the watch shall.
    pub(super) fn ask(&self) {
        self.turns.ask();
        self.watch.notify_one();
    }

    fn call(&self, watch: CallWatch) {
        if watch.0 {
            self.watch.notify_one();
        }
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

    /// Reads until there is an answer in this slot, or the connection has ended.
    #[inline]
    fn read_reply(
        &mut self,
        slot: &Arc<PendingReply>,
        short: &mut Short,
        polling: Duration,
    ) -> Option<ReadHere> {
        // Whoever had the turn before may have read it. From now on nobody else does.
        let answer = slot.answer_given();
        if answer.is_some() {
            return answer;
        }
        while let Some(reading) = &mut self.reading {
            let socket = &self.turn.socket;
            let read = receive_polling(reading, socket, polling)
                .unwrap_or_else(|| socket.receive(reading.room()));
            match read {
                Err(error) if is_transient(&error) => continue,
                Ok(count @ 1..) => {
                    if reading.take_short_reply(count, slot, short) {
                        return Some(Ok(Received::Short));
                    }
                    reading.filled(count);
                    if let Some(reply) = reading.take_sole_reply(slot) {
                        return Some(Ok(Received::Whole(reply)));
                    }
                    if !reading.handle_filled_here() {
                        self.reading = None;
                    }
                }
                read => self.handle(read),
            }
            let answer = slot.answer_given();
            if answer.is_some() {
                return answer;
            }
        }
        // Somebody else may have ended the connection, and be about to say so.
        slot.take_answer()
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
    #[inline]
    fn drop(&mut self) {
        match self.reading.take() {
            // What a panic left half done must not go on.
            Some(mut reading) if !std::thread::panicking() => {
                reading.rest_long();
                self.turn.call(self.turn.turns.give_back(reading));
            }
            _ => {}
        }
    }
}

impl ConnectionCore {
    /// Waits on this thread until the sleeper is woken, or until the deadline, and reads meanwhile
    /// if nobody else does. It may return early.
    pub(super) fn take_turn(&self, turn: &Turn, sleeper: &Arc<Sleeper>, deadline: Option<Instant>) {
        turn.turns.mark_used();
        match turn.turns.take_or_wait(sleeper) {
            Some(reading) => {
                let reading = Some(reading);
                let mut held = Held { turn, reading };
                held.read_for(sleeper, deadline, self.polling());
            }
            None => {
                sleeper.park(deadline);
                turn.call(turn.turns.stop_waiting(sleeper));
            }
        }
    }

    /// Reads on this thread until there is an answer in this slot, or in the place for a short one; `None`,
    /// and nothing has happened, if that is for others to do, or somebody does it already.
    #[inline]
    pub(super) fn read_reply(
        &self,
        slot: &Arc<PendingReply>,
        short: &mut Short,
    ) -> Option<ReadHere> {
        let Driver::Callers(turn) = &self.driver else {
            return None;
        };
        turn.turns.mark_used();
        let reading = Some(turn.turns.take()?);
        Held { turn, reading }.read_reply(slot, short, self.polling())
    }

    /// Gives the turn its reading, and watches from now on until the connection is closed.
    pub(super) async fn watch(self: Arc<Self>, reading: Reading) {
        let Driver::Callers(turn) = &self.driver else {
            return;
        };
        turn.call(turn.turns.give_back(Box::new(reading)));
        while !self.lock().machine.is_closed() {
            if !turn.turns.is_watch_due() {
                let _ = tokio::time::timeout(self.idle_time(), turn.watch.notified()).await;
                continue;
            }
            if let Err(error) = self.watch_socket(turn).await {
                let reason = format!("its socket cannot be watched: {error}");
                tracing::warn!("dropped the connection to {}: {reason}", self.peer);
                self.abort(reason);
            }
        }
        turn.turns.end();
    }

    /// Whether nobody waits for what is read: neither for a reply, nor for the end of a close.
    fn is_unasked(&self) -> bool {
        let shared = self.lock();
        shared.machine.in_flight() == 0 && shared.machine.is_active()
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
            let Some(reading) = turn.turns.take_unless_used() else {
                return Ok(());
            };
            let reading = Some(reading);
            Held { turn, reading }.read_all().await;
            if self.is_unasked() {
                turn.turns.stop_asking();
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
