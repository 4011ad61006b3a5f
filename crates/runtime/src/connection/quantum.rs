//! The quantum of a connection: how much of its input is handled before tasks of other connections run.
//!
//! The task that reads a connection continues as long as there is input. If a peer sends faster than this side handles
//! its input, all other connections would wait. So the task yields when its quantum is spent, and continues later. If
//! many addresses are busy, each has shorter quanta. See ADR 58. `address_turn/` limits what all connections of an
//! address do together.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::address_turn::Participation;
use crate::dispatch::LentQuantum;
use crate::settings::Settings;

const LOOK_INTERVAL: usize = LentQuantum::LOOK_INTERVAL;

/// The part of its current quantum that a connection has used.
#[derive(Debug)]
pub(super) struct Quantum {
    /// Requests that were dispatched.
    request_count: usize,
    /// Bytes of compressed messages, after decompression.
    inflated_len: usize,
    /// The number of requests at which to check the clock next.
    next_look: usize,
    /// When the clock was first checked in this quantum.
    begun: Option<Instant>,
    is_over: bool,
    /// The part in the turns of its address.
    turns: Participation,
}

impl Quantum {
    pub(super) fn new(turns: Participation) -> Self {
        Self {
            request_count: 0,
            inflated_len: 0,
            next_look: 0,
            begun: None,
            is_over: false,
            turns,
        }
    }

    /// Waits until it is the turn of the connection's address.
    #[inline]
    pub(super) fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.turns.poll_enter(context)
    }

    /// Notes that requests were dispatched.
    #[inline]
    pub(super) fn spend_requests(&mut self, count: usize, settings: &Settings) {
        self.request_count += count;
        if self.request_count >= self.next_look {
            self.look_after_requests(settings);
        }
    }

    fn look_after_requests(&mut self, settings: &Settings) {
        // The first request of a quantum leads here. It needs no clock if it comes alone.
        let is_first = self.next_look == 0;
        self.next_look = self.request_count + LOOK_INTERVAL;
        self.is_over |= self.request_count >= settings.turn_requests_max;
        if !is_first || self.request_count > LOOK_INTERVAL {
            self.look(settings);
        }
    }

    /// Notes that a compressed message was decompressed to `len` bytes.
    pub(super) fn spend_inflated(&mut self, len: usize, settings: &Settings) {
        self.inflated_len = self.inflated_len.saturating_add(len);
        self.is_over |= self.inflated_len >= settings.turn_inflated_max;
        self.look(settings);
    }

    /// Notes work that began at this time.
    pub(super) fn spend_since(&mut self, begun: Instant, settings: &Settings) {
        self.begun.get_or_insert(begun);
        self.look(settings);
    }

    /// Checks the clock. The time of a quantum begins with its first check.
    pub(super) fn look(&mut self, settings: &Settings) {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        self.is_over |= now.duration_since(begun) >= self.time_max(now, settings);
    }

    /// How long it may last.
    fn time_max(&mut self, now: Instant, settings: &Settings) -> Duration {
        self.turns.share_when_busy(now, settings.turn_time_max)
    }

    /// The part of the quantum that a dispatcher may use for `count` requests.
    pub(super) fn lend(&mut self, count: usize, settings: &Settings) -> LentQuantum {
        let allowed = settings
            .turn_requests_max
            .saturating_sub(self.request_count);
        let end = (count >= LOOK_INTERVAL).then(|| {
            let begun = *self.begun.get_or_insert_with(Instant::now);
            begun.checked_add(self.time_max(begun, settings))
        });
        LentQuantum {
            left_min: count.saturating_sub(allowed),
            end: end.flatten(),
        }
    }

    /// Returns true if the quantum is spent, so that the task should yield.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Begins the next quantum, after other tasks could run.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.request_count = 0;
        self.inflated_len = 0;
        self.next_look = 0;
        self.begun = None;
        self.is_over = false;
    }

    /// Begins the next quantum, because the task waits for input and other tasks run meanwhile.
    #[inline]
    pub(super) fn wait_for_input(&mut self, settings: &Settings, context: &mut Context<'_>) {
        self.turns.leave(settings.turn_time_max, self.is_over);
        self.turns.give_way_at_end(context);
        self.begin();
    }

    /// Ends the quantum before a wait, in which other connections run, or because the connection has ended.
    pub(super) async fn leave(&mut self, settings: &Settings) {
        self.turns.leave(settings.turn_time_max, self.is_over);
        if self.turns.has_ended_turn() {
            tokio::task::yield_now().await;
            self.turns.begin_next();
        }
        self.begin();
    }

    /// Waits until it is the turn of the connection's address, after [`leave`](Self::leave).
    pub(super) async fn enter(&mut self) {
        poll_fn(|context| self.turns.poll_enter(context)).await;
    }

    /// Yields, so that other tasks run and new I/O events are seen, and begins the next quantum when it is the turn of
    /// the connection's address.
    pub(super) async fn give_way(&mut self, settings: &Settings) {
        self.turns.leave(settings.turn_time_max, self.is_over);
        tokio::task::yield_now().await;
        self.enter().await;
        self.begin();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;
    use crate::address_turn::AddressTurns;

    fn settings() -> Settings {
        Settings {
            turn_requests_max: 100,
            turn_inflated_max: 1_000,
            turn_time_max: Duration::MAX,
            ..Settings::default()
        }
    }

    #[test]
    fn a_quantum_is_over_when_any_of_its_budgets_is_spent() {
        let mut quantum = Quantum::new(AddressTurns::default().alone());
        (0..64).for_each(|_| quantum.spend_requests(1, &settings()));
        assert!(!quantum.is_over());
        (0..100).for_each(|_| quantum.spend_requests(1, &settings()));
        assert!(quantum.is_over(), "of its requests");
        quantum.begin();
        quantum.spend_inflated(999, &settings());
        assert!(!quantum.is_over());
        quantum.spend_inflated(1, &settings());
        assert!(quantum.is_over(), "of its bytes");
        quantum.begin();
        let mut settings = settings();
        settings.turn_time_max = Duration::ZERO;
        quantum.spend_requests(1, &settings);
        assert!(
            !quantum.is_over(),
            "the clock is not looked at for one request"
        );
        (0..LOOK_INTERVAL).for_each(|_| quantum.spend_requests(1, &settings));
        assert!(quantum.is_over(), "of its time");
    }

    #[test]
    fn a_connection_that_leaves_lets_others_run_and_then_its_address_continue() {
        let mut settings = settings();
        settings.turn_time_max = Duration::ZERO;
        let turns = AddressTurns::default();
        let join = || Quantum::new(turns.join(Some([127, 0, 0, 2].into())));
        let (mut leaving, mut other) = (join(), join());
        let mut context = Context::from_waker(Waker::noop());
        assert!(leaving.poll_enter(&mut context).is_ready());
        leaving.look(&settings);
        {
            let mut leave = pin!(leaving.leave(&settings));
            assert!(leave.as_mut().poll(&mut context).is_pending());
            assert!(other.poll_enter(&mut context).is_pending());
            assert!(leave.as_mut().poll(&mut context).is_ready());
        }
        assert!(other.poll_enter(&mut context).is_ready());
    }
}
