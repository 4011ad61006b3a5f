//! A run: two sides, their connections one after another, the time, and what is to happen when.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Buf;
use floe_wire::connection::{AttemptEnd, Flush, FlushPolicy, WriteBatch};
use floe_wire::message::{RequestId, VALIDATE_CONNECTION};

use crate::book::Book;
use crate::end::End;
use crate::keepalive::{Due, Seen};
use crate::pipe::{Pipe, Read};
use crate::plan::{Plan, Trouble};
use crate::random::Random;

/// Something that is to happen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// A call is attempted, for the first time or again.
    Attempt(usize),
    /// The time of a call is over.
    Deadline(usize),
    /// Connecting has succeeded, or failed.
    Connected,
    /// The client gives up a connection that was not validated.
    ConnectTimeout(usize),
    /// There may be something to read for a side.
    Arrive(usize, usize),
    /// There may be room to write for a side.
    Writable(usize, usize),
    /// The driver of a side writes what senders have left to it.
    Flush(usize, usize),
    /// A dispatch is done: connection, side of the servant, request, call.
    Dispatched(usize, usize, RequestId, usize),
    /// A graceful close has had its time.
    CloseTimeout(usize, usize),
    /// The system gives up a connection over which nothing comes through.
    GiveUp(usize),
    /// A side looks at its connections.
    Look(usize),
    /// A side closes its connections.
    Close(usize),
    /// Something goes wrong: see `trouble.rs`.
    Cut,
    Abort(usize),
    Silence,
    Stall,
    Jump,
}

/// A connection: what side `n` writes goes into pipe `n`.
#[derive(Debug)]
pub(crate) struct Joint {
    pub(crate) ends: [End; 2],
    pub(crate) pipes: [Pipe; 2],
    pub(crate) is_validated: bool,
}

/// Where a call of the client finds a connection.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) joint: Option<usize>,
    pub(crate) is_connecting: bool,
    pub(crate) waiting: Vec<usize>,
}

/// Everything there is.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) now: Duration,
    /// The moment at which the time of the simulation begins. No decision depends on it.
    epoch: Instant,
    agenda: BTreeMap<(Duration, u64), Action>,
    added_count: u64,
    pub(crate) book: Book,
    pub(crate) joints: Vec<Joint>,
    pub(crate) pool: Pool,
    pub(crate) close_count: usize,
    /// True if the sides have stopped to look: then the agenda runs empty.
    is_over: bool,
    is_traced: bool,
}

/// How long the system tries to get something through.
const GIVE_UP: Duration = Duration::from_secs(15 * 60);
/// The longest time until the driver writes what senders have left to it.
const FLUSH_DELAY_MAX: Duration = Duration::from_micros(200);
/// How long a connection may take to be made and validated.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl World {
    /// Nothing has happened yet.
    pub(crate) fn new(plan: Plan, random: Random) -> Self {
        Self {
            plan,
            random,
            now: Duration::ZERO,
            epoch: Instant::now(),
            agenda: BTreeMap::new(),
            added_count: 0,
            book: Book::default(),
            joints: Vec::new(),
            pool: Pool::default(),
            close_count: 0,
            is_over: false,
            is_traced: std::env::var_os("FLOE_SIM_TRACE").is_some(),
        }
    }

    /// Something is to happen after this time.
    pub(crate) fn after(&mut self, wait: Duration, action: Action) {
        self.at(self.now + wait, action);
    }

    /// Something is to happen then.
    pub(crate) fn at(&mut self, time: Duration, action: Action) {
        self.added_count += 1;
        self.agenda.insert((time, self.added_count), action);
    }

    /// Returns true if nothing goes wrong in this run.
    pub(crate) fn is_gentle(&self) -> bool {
        self.plan.trouble == Trouble::Gentle
    }

    /// Runs until each call has ended, then closes everything, and judges.
    pub(crate) fn run(mut self) {
        self.schedule();
        let enough = Duration::from_secs(5 * 86_400);
        while self.book.open_count > 0 {
            let is_late = self.now > enough || !self.step();
            assert!(!is_late, "{}", self.stuck());
        }
        self.is_over = true;
        for side in 0..2 {
            let wait = self.random.time(Duration::from_secs(1));
            self.after(wait, Action::Close(side));
        }
        while self.step() {}
        self.judge();
    }

    /// Describes a call that never ends.
    fn stuck(&self) -> String {
        let call = self.book.calls.iter().find(|call| call.told.is_none());
        let joint = call.and_then(|call| call.in_flight.map(|(joint, _)| joint).or(call.bound_to));
        let joint = joint.map(|joint| &self.joints[joint]);
        format!("a call never ends: {call:?}, {joint:#?}")
    }

    fn judge(&self) {
        let retries = self.plan.retry_intervals.len();
        let is_quiet = self.is_gentle();
        self.book
            .check(is_quiet, is_quiet && self.close_count <= retries);
        for (number, joint) in self.joints.iter().enumerate() {
            for end in &joint.ends {
                assert!(end.ended.is_some(), "connection {number} never ended");
                assert_eq!(
                    end.machine.in_flight(),
                    0,
                    "connection {number} keeps requests"
                );
            }
        }
    }

    fn step(&mut self) -> bool {
        let due = self.agenda.range(..=(self.now, u64::MAX)).take(8).count();
        // What is overdue at once, after a leap of the clock, happens in any order.
        let nth = if due > 1 {
            self.random.up_to(due - 1)
        } else {
            0
        };
        let Some((&key, _)) = self.agenda.iter().nth(nth) else {
            return false;
        };
        let action = self.agenda.remove(&key).expect("it was just found");
        self.now = self.now.max(key.0);
        if self.is_traced {
            eprintln!("{:?} {action:?}", self.now);
        }
        self.act(action);
        self.check_bounds();
        true
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Attempt(call) => self.attempt(call),
            Action::Deadline(call) => self.time_out(call),
            Action::Connected => self.connected(),
            Action::ConnectTimeout(joint) => {
                if !self.joints[joint].is_validated {
                    self.fail(joint, 0, AttemptEnd::Lost);
                }
            }
            Action::Arrive(joint, side) => self.read(joint, side),
            Action::Writable(joint, side) => self.flush(joint, side, true),
            Action::Flush(joint, side) => self.flush_collected(joint, side),
            Action::Dispatched(joint, side, id, call) => self.reply(joint, side, id, call),
            Action::CloseTimeout(joint, side) => self.close_timed_out(joint, side),
            Action::GiveUp(joint) => {
                let first = self.random.up_to(1);
                self.broken(joint, first);
            }
            Action::Look(side) => self.look(side),
            Action::Close(side) => self.close_all(side),
            trouble => self.trouble(trouble),
        }
    }

    /// A new connection, whose server writes at once.
    fn connected(&mut self) {
        self.pool.is_connecting = false;
        if self.is_over || self.random.percent(self.plan.refused_percent) {
            for call in std::mem::take(&mut self.pool.waiting) {
                self.attempt_failed(call, AttemptEnd::Lost, false);
            }
            return;
        }
        let number = self.joints.len();
        self.joints.push(Joint {
            ends: [0, 1].map(|side| End::new(side, (self.epoch, self.now))),
            pipes: [0, 1].map(|_| Pipe::new(self.plan.weather.clone())),
            is_validated: false,
        });
        self.pool.joint = Some(number);
        self.flush(number, 1, false);
        self.after(CONNECT_TIMEOUT, Action::ConnectTimeout(number));
    }

    /// Writes what is pending, unless that waits for room.
    pub(crate) fn flush(&mut self, joint: usize, side: usize, is_writable: bool) {
        let end = &mut self.joints[joint].ends[side];
        if end.ended.is_some() || (end.writing.is_some() && !is_writable) {
            return;
        }
        end.is_write_due = false;
        let next = end.writing.take().or_else(|| end.output.take());
        self.write(joint, side, next);
    }

    /// Writes what a sender has just appended, if the flush policy says so.
    ///
    /// Source: `flush_by` in `crates/runtime/src/connection/send_half.rs`.
    pub(crate) fn flush_by(&mut self, joint: usize, side: usize, policy: FlushPolicy) {
        let now = self.epoch + self.now;
        let policy = match policy {
            // A thread is about to wait for the reply, unless its future begins several calls.
            FlushPolicy::WithOthers
                if self.plan.has_blocking_senders[side] && self.random.percent(50) =>
            {
                FlushPolicy::Now
            }
            policy => policy,
        };
        let end = &mut self.joints[joint].ends[side];
        match end.output.flush(policy, end.machine.in_flight(), || now) {
            Flush::Write(batch) => self.write(joint, side, Some(batch)),
            Flush::Busy => assert!(end.writing.is_some(), "nothing is being written"),
            Flush::Schedule => {
                assert!(!end.is_flush_scheduled, "a flush is scheduled twice");
                end.is_flush_scheduled = true;
                let wait = self.random.time(FLUSH_DELAY_MAX);
                self.after(wait, Action::Flush(joint, side));
            }
            Flush::Scheduled => assert!(end.is_flush_scheduled, "no flush is scheduled"),
        }
    }

    /// Source: `flush_soon` in `crates/runtime/src/connection/send_half.rs`, and `flush_thread.rs` beside it.
    fn flush_collected(&mut self, joint: usize, side: usize) {
        let now = self.epoch + self.now;
        let has_blocking_senders = self.plan.has_blocking_senders[side];
        let end = &mut self.joints[joint].ends[side];
        end.is_flush_scheduled = false;
        if end.ended.is_some() {
            return;
        }
        if self.random.percent(25) {
            // The thread sees that the sender goes on.
            end.output.mark_overdue();
            end.is_flush_scheduled = true;
            let wait = self.random.time(FLUSH_DELAY_MAX);
            return self.after(wait, Action::Flush(joint, side));
        }
        let batch = end.output.take_scheduled(now);
        if batch.is_some() && has_blocking_senders {
            // The thread looks again after a while.
            end.is_flush_scheduled = true;
            let wait = self.random.time(FLUSH_DELAY_MAX);
            self.after(wait, Action::Flush(joint, side));
        }
        self.write(joint, side, batch);
        let end = &mut self.joints[joint].ends[side];
        if !has_blocking_senders && end.ended.is_none() {
            let batch = end.output.end_scheduled();
            self.write(joint, side, batch);
        }
    }

    /// Writes a batch and what comes after it, until the network is full.
    fn write(&mut self, joint: usize, side: usize, mut next: Option<WriteBatch>) {
        let Joint { ends, pipes, .. } = &mut self.joints[joint];
        let end = &mut ends[side];
        while let Some(mut batch) = next {
            match pipes[side].write(self.now, batch.remaining().chunk(), &mut self.random) {
                Ok(Some((count, arrives))) => {
                    self.added_count += 1;
                    let action = Action::Arrive(joint, 1 - side);
                    self.agenda.insert((arrives, self.added_count), action);
                    end.keepalive.mark_written(self.now);
                    let is_done = batch.advance(count);
                    end.output.progress(count);
                    next = match is_done {
                        true => end.output.put_back(batch),
                        false => Some(batch),
                    };
                }
                Ok(None) => {
                    end.writing = Some(batch);
                    break;
                }
                Err(()) => return self.fail(joint, side, AttemptEnd::Lost),
            }
        }
        self.use_room(joint, side);
    }

    /// Lets those go on who wait for room in an output.
    fn use_room(&mut self, joint: usize, side: usize) {
        let limit = self.plan.output_limit;
        let end = &mut self.joints[joint].ends[side];
        let reply_count = end.replies.len();
        while end.output.replies_len() <= limit
            && let Some(mut reply) = end.replies.pop_front()
        {
            end.output.append_replies(&mut reply);
            end.machine.handle_dispatched(end.output.bytes());
            end.dispatch_count -= 1;
            end.keepalive.mark_used(self.now);
        }
        if end.replies.len() < reply_count {
            // What was read may be dispatched now.
            self.after(Duration::ZERO, Action::Arrive(joint, side));
        }
        let end = &mut self.joints[joint].ends[side];
        if end.output.waiting_len() <= limit {
            for call in std::mem::take(&mut end.waiting) {
                self.after(Duration::ZERO, Action::Attempt(call));
            }
        }
        let end = &mut self.joints[joint].ends[side];
        if end.replies.len() < reply_count && end.writing.is_none() {
            end.is_write_due = true;
            self.after(Duration::ZERO, Action::Writable(joint, side));
        }
    }

    /// Reads what has arrived, unless the dispatches are at their limit.
    fn read(&mut self, joint: usize, side: usize) {
        // Also after the end: what was read has come.
        self.handle_events(joint, side);
        let Joint { ends, pipes, .. } = &mut self.joints[joint];
        let end = &mut ends[side];
        if !end.arrived.is_empty() || end.ended.is_some() {
            return;
        }
        match pipes[1 - side].read(self.now, &mut self.random) {
            Read::Nothing => {}
            Read::Bytes(bytes) => {
                end.keepalive.mark_read(self.now);
                end.input.extend_from_slice(&bytes);
                end.take_messages(self.plan.message_size_max);
                self.handle_events(joint, side);
                self.flush(joint, side, false);
                self.after(Duration::ZERO, Action::Arrive(joint, side));
                self.after(Duration::ZERO, Action::Writable(joint, 1 - side));
            }
            Read::End if end.machine.is_closing() => {
                self.fail(joint, side, AttemptEnd::ClosedByPeer);
            }
            Read::End => self.fail(joint, side, AttemptEnd::Lost),
            Read::Broken => self.broken(joint, side),
        }
    }

    /// Both sides hear that the stream is broken, this one first.
    pub(crate) fn broken(&mut self, joint: usize, first: usize) {
        for pipe in &mut self.joints[joint].pipes {
            pipe.is_broken = true;
            pipe.is_silent = false;
        }
        self.fail(joint, first, AttemptEnd::Lost);
        let wait = self.random.time(self.plan.weather.delay_max);
        self.after(wait, Action::Arrive(joint, 1 - first));
        self.after(wait, Action::Writable(joint, 1 - first));
    }

    /// The end of a connection: whoever waits for it hears of that.
    ///
    /// Source: `fail` in `crates/runtime/src/connection/core.rs`.
    pub(crate) fn fail(&mut self, joint: usize, side: usize, why: AttemptEnd) {
        let Joint { ends, pipes, .. } = &mut self.joints[joint];
        let end = &mut ends[side];
        if end.ended.is_some() {
            return;
        }
        end.ended = Some(why);
        let tokens = end.machine.fail();
        end.output.clear();
        end.writing = None;
        end.dispatch_count -= end.replies.drain(..).count();
        let taken = end.output.taken();
        let waiting = std::mem::take(&mut end.waiting);
        pipes[side].is_ended = true;
        pipes[1 - side].is_broken = !pipes[1 - side].is_silent;
        for token in tokens {
            self.attempt_failed(token.call, why, token.start < taken);
        }
        for call in waiting {
            self.attempt_failed(call, why, false);
        }
        if side == 0 && self.pool.joint == Some(joint) {
            self.pool.joint = None;
            for call in std::mem::take(&mut self.pool.waiting) {
                self.attempt_failed(call, AttemptEnd::Lost, false);
            }
        }
        let wait = self.random.time(self.plan.weather.delay_max);
        self.after(wait, Action::Arrive(joint, 1 - side));
        self.after(wait, Action::Writable(joint, 1 - side));
    }

    /// Starts to close all connections of a side in order.
    fn close_all(&mut self, side: usize) {
        for joint in 0..self.joints.len() {
            self.close(joint, side);
        }
    }

    /// Source: `close` in `crates/runtime/src/connection/core.rs`.
    pub(crate) fn close(&mut self, joint: usize, side: usize) {
        let end = &mut self.joints[joint].ends[side];
        if end.ended.is_some() || end.close_began.is_some() {
            return;
        }
        self.close_count += 1;
        end.close_began = Some(self.now);
        if end.machine.is_validating() {
            return self.fail(joint, side, AttemptEnd::Final);
        }
        end.machine.close(end.output.bytes());
        self.flush(joint, side, false);
        self.after(self.plan.close_timeout, Action::CloseTimeout(joint, side));
    }

    fn close_timed_out(&mut self, joint: usize, side: usize) {
        let end = &self.joints[joint].ends[side];
        if end.ended.is_none() {
            let (in_flight, dispatching) = (end.machine.in_flight(), end.machine.dispatching());
            assert!(
                !self.is_gentle(),
                "a close of side {side} did not end though nothing went wrong: \
                 {in_flight} replies due, {dispatching} dispatches"
            );
            self.fail(joint, side, AttemptEnd::Lost);
        }
    }

    fn look(&mut self, side: usize) {
        for joint in 0..self.joints.len() {
            self.look_at(joint, side);
        }
        if !self.is_over {
            self.after(self.plan.manners[side].tick(), Action::Look(side));
        }
    }

    fn look_at(&mut self, joint: usize, side: usize) {
        let end = &mut self.joints[joint].ends[side];
        if end.ended.is_some() || end.machine.is_validating() {
            return;
        }
        let is_paused = !end.arrived.is_empty();
        let seen = Seen {
            is_client: side == 0,
            is_reply_due: end.machine.in_flight() > 0,
            is_dispatching: end.machine.dispatching() > 0 || end.dispatch_count > 0,
            is_paused,
        };
        match end
            .keepalive
            .look(self.plan.manners[side], seen, (self.epoch, self.now))
        {
            Due::Nothing => {}
            Due::Heartbeat => {
                // What waits already says as much, and heartbeats must not pile up.
                if end.machine.is_active() && end.output.pending_len() == 0 {
                    end.output.bytes().extend_from_slice(&VALIDATE_CONNECTION);
                    self.flush(joint, side, false);
                    self.joints[joint].ends[side]
                        .keepalive
                        .mark_heartbeat(self.now);
                }
            }
            Due::Drop => {
                assert!(
                    !self.is_gentle(),
                    "side {side} dropped a connection that lives"
                );
                self.fail(joint, side, AttemptEnd::Lost);
            }
            Due::Close => self.close(joint, side),
        }
    }

    /// No limit is passed by more than what was appended last.
    fn check_bounds(&self) {
        let (plan, message) = (&self.plan, self.plan.message_size_max);
        for end in self.joints.iter().flat_map(|joint| &joint.ends) {
            let has_writer = end.writing.is_some() || end.is_flush_scheduled || end.is_write_due;
            assert!(
                has_writer || end.ended.is_some() || end.output.pending_len() == 0,
                "{} bytes wait, and nothing will write them",
                end.output.pending_len()
            );
            let most = 2 * (plan.output_limit + message);
            assert!(
                end.output.waiting_len() <= most,
                "an output holds {} bytes",
                end.output.waiting_len()
            );
            let most = message + plan.weather.piece_max;
            assert!(
                end.input.len() <= most,
                "an input holds {} bytes",
                end.input.len()
            );
            let dispatching = end.dispatch_count;
            assert!(
                dispatching <= plan.dispatch_limit,
                "{dispatching} dispatches under way"
            );
        }
    }

    /// The system gives up a silent connection at last.
    pub(crate) fn give_up_later(&mut self, joint: usize) {
        self.after(GIVE_UP, Action::GiveUp(joint));
    }
}
