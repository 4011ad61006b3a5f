//! The leader of a connection that callers read: one waiting caller leads and reads, the others follow.
//!
//! ```text
//! free --a caller waits, or the standby task sees bytes--> held --its reply has come--> free, a follower is called
//!                                                          held --connection ends-----> gone
//! ```
//!
//! The leader reads, blocked in the system, and delivers the replies of the others, too. When it leaves for any reason,
//! it gives the leadership back and calls a follower to lead. While no caller waits, a standby task watches the socket,
//! so that heartbeats, requests of the peer and the end of the connection are noticed. It watches only a connection
//! that no caller has used for a while, because a wake-up for each reply would cost the callers as much as the reply
//! itself.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::sync::Notify;

use super::ConnectionCore;
use super::driver::{is_transient, receive_polling};
use super::followers::{Followers, WakeStandby};
use super::pending_reply::PendingReply;
use super::reading::Reading;
use super::reply::{ReadReply, ShortReply};
use super::wait::Sleeper;
use crate::transport::plain::PlainSocket;

/// The leadership of a connection, and the socket that the leader reads.
pub(super) struct Leadership {
    socket: Arc<PlainSocket>,
    followers: Followers<Box<Reading>>,
    /// Wakes the standby task, which reads the socket while no caller waits.
    standby: Notify,
}

impl Leadership {
    pub(super) fn new(socket: Arc<PlainSocket>) -> Self {
        Self {
            socket,
            followers: Followers::new(),
            standby: Notify::new(),
        }
    }

    /// Wakes the standby task, which then checks what has changed.
    pub(super) fn wake_standby(&self) {
        self.standby.notify_one();
    }

    /// Makes the standby task read, because a caller waits for a reply and cannot read it.
    pub(super) fn request_reading(&self) {
        self.followers.request_reading();
        self.standby.notify_one();
    }

    fn wake_if(&self, is_due: WakeStandby) {
        if is_due.0 {
            self.standby.notify_one();
        }
    }

    /// Waits on this thread until the sleeper is woken, or until the deadline. The thread reads meanwhile if there is
    /// no other leader. It may return early.
    pub(super) fn lead_or_follow(
        &self,
        sleeper: &Arc<Sleeper>,
        deadline: Option<Instant>,
        polling: Duration,
    ) {
        self.followers.mark_used();
        match self.followers.take_or_wait(sleeper) {
            Some(reading) => self.lead(reading).read_for(sleeper, deadline, polling),
            None => {
                sleeper.park(deadline);
                self.wake_if(self.followers.stop_waiting(sleeper));
            }
        }
    }

    /// Reads on this thread until the reply is in `pending`, or in `short` if it is short. Returns `None`, with nothing
    /// done, if another thread leads or callers do not do the reading.
    #[inline]
    pub(super) fn read_reply(
        &self,
        pending: &Arc<PendingReply>,
        short: &mut ShortReply,
        polling: Duration,
    ) -> Option<ReadReply> {
        self.followers.mark_used();
        let reading = self.followers.take()?;
        self.lead(reading).read_reply(pending, short, polling)
    }

    #[inline]
    fn lead(&self, reading: Box<Reading>) -> Leader<'_> {
        Leader {
            leadership: self,
            reading: Some(reading),
        }
    }

    /// Offers the leadership for the first time, and then runs the standby task until the connection is closed.
    pub(super) async fn run_standby(&self, connection: &ConnectionCore, reading: Reading) {
        self.wake_if(self.followers.give_back(Box::new(reading)));
        while !connection.lock().machine.is_closed() {
            if !self.followers.is_standby_due() {
                let idle_time = idle_time(connection);
                let _ = tokio::time::timeout(idle_time, self.standby.notified()).await;
                continue;
            }
            if let Err(error) = self.watch_socket(connection).await {
                let reason = format!("its socket cannot be watched: {error}");
                tracing::warn!("dropped the connection to {}: {reason}", connection.peer());
                connection.abort(reason);
            }
        }
        self.followers.end();
    }

    /// Reads input until a caller takes the lead.
    async fn watch_socket(&self, connection: &ConnectionCore) -> std::io::Result<()> {
        let watched = self.socket.watched(Interest::READABLE)?;
        loop {
            let mut ready = tokio::select! {
                ready = watched.readable() => ready?,
                () = self.standby.notified() => return Ok(()),
            };
            ready.clear_ready();
            drop(ready);
            let Some(reading) = self.followers.take_for_standby() else {
                return Ok(());
            };
            self.lead(reading).read_all().await;
            // Taken before the look at the waiters: a caller that begins to wait in between requests it again.
            if self.followers.take_request() && !has_no_waiter(connection) {
                self.followers.request_reading();
            }
            if connection.lock().machine.is_closed() {
                return Ok(());
            }
        }
    }
}

/// The caller that reads for all others.
struct Leader<'a> {
    leadership: &'a Leadership,
    /// `None` after the connection has ended.
    reading: Option<Box<Reading>>,
}

impl Leader<'_> {
    /// Handles the result of a read.
    fn handle(&mut self, read: std::io::Result<usize>) {
        let is_open = |reading: &mut Box<Reading>| reading.handle_blocking(read);
        if !self.reading.as_mut().is_some_and(is_open) {
            self.reading = None;
        }
    }

    /// Reads everything that has arrived.
    async fn read_all(&mut self) {
        while let Some(reading) = &mut self.reading {
            let read = self.leadership.socket.try_receive(reading.room());
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

    /// Reads until the reply is in `pending`, or the connection has ended.
    #[inline]
    fn read_reply(
        &mut self,
        pending: &Arc<PendingReply>,
        short: &mut ShortReply,
        polling: Duration,
    ) -> Option<ReadReply> {
        // The leader before this one may have read the reply. From now on no other thread reads.
        let answer = pending.answer_given();
        if answer.is_some() {
            return answer;
        }
        while let Some(reading) = &mut self.reading {
            let socket = &self.leadership.socket;
            let read = receive_polling(reading, socket, polling)
                .unwrap_or_else(|| socket.receive(reading.room()));
            if let Ok(count @ 1..) = read
                && let Some(reply) = reading.take_own_reply(count, pending, short)
            {
                return Some(Ok(reply));
            }
            if !matches!(&read, Err(error) if is_transient(error)) {
                self.handle(read);
            }
            let answer = pending.answer_given();
            if answer.is_some() {
                return answer;
            }
        }
        // Another thread may have ended the connection, and be about to give the answer.
        pending.take_answer()
    }

    /// Reads until the sleeper is woken, its deadline has passed, or the connection has ended.
    fn read_for(&mut self, sleeper: &Sleeper, deadline: Option<Instant>, polling: Duration) {
        while !sleeper.is_woken() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            let Some(reading) = &mut self.reading else {
                return;
            };
            let socket = &self.leadership.socket;
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

impl Drop for Leader<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.reading.take() {
            // A reading that a panic interrupted must not go on.
            Some(mut reading) if !std::thread::panicking() => {
                reading.input.return_long_buffer();
                let leadership = self.leadership;
                leadership.wake_if(leadership.followers.give_back(reading));
            }
            _ => {}
        }
    }
}

/// Returns true if no caller waits for input: neither for a reply nor for the end of a close.
fn has_no_waiter(connection: &ConnectionCore) -> bool {
    let shared = connection.lock();
    shared.machine.in_flight() == 0 && shared.machine.is_active()
}

/// How long a connection must be idle before the standby task reads it. If the peer may send requests, the time is
/// short, because the peer waits for it.
fn idle_time(connection: &ConnectionCore) -> Duration {
    match connection.adapter() {
        Some(_) => IDLE_TIME_SERVING,
        None => IDLE_TIME,
    }
}

/// How long a connection must be idle before the standby task reads it.
const IDLE_TIME: Duration = Duration::from_millis(100);
/// [`IDLE_TIME`] for a connection over which the peer may send requests.
const IDLE_TIME_SERVING: Duration = Duration::from_millis(1);
