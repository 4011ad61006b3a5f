//! A connection's part in the turns of its address.

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::turn_queue::{Entering, Ticket};
use super::{AddressTurn, ThreadQueue, place_of_thread};

/// A connection's part in the turns of its address.
///
/// It takes part from [`poll_enter`](Self::poll_enter) to [`leave`](Self::leave). The time in between counts. It is
/// measured if others wait, and always from the moment at which the connection looks at the clock. The time without
/// such a look is measured once in [`SAMPLE_INTERVAL`] times, and stands for all of them.
#[derive(Debug)]
pub(crate) struct Participation {
    turn: Arc<AddressTurn>,
    takes_part: bool,
    /// How many times it takes part until it is a sample.
    until_sample: u32,
    /// When it began to take part, if it is a sample.
    sampled: Option<Instant>,
    /// When it looked at the clock first.
    looked: Option<Instant>,
    /// Where it waits for a turn.
    waiting: Option<(usize, Ticket)>,
    /// Set while it gives way to others because it has ended a turn.
    ending: Option<Ending>,
}

/// Without this, each request that comes alone would look at the clock twice.
const SAMPLE_INTERVAL: u32 = 8;

/// The end of a turn. The next turn begins when this is dropped.
#[derive(Debug)]
struct Ending {
    turn: Arc<AddressTurn>,
    place: usize,
}

impl Participation {
    /// The connections of an address have numbers, so that not all are samples at the same time.
    pub(super) fn new(turn: Arc<AddressTurn>, number: usize) -> Self {
        Self {
            turn,
            takes_part: false,
            until_sample: number as u32 % SAMPLE_INTERVAL,
            sampled: None,
            looked: None,
            waiting: None,
            ending: None,
        }
    }

    /// The address; `None` for a socket of this host, and for one of a `udp` endpoint.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.turn.address
    }

    /// Waits until the connection may take part in a turn of its address.
    #[inline]
    pub(crate) fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.takes_part {
            return Poll::Ready(());
        }
        if let Some(queues) = self.turn.queues.get() {
            if self.ending.is_some()
                || self.waiting.is_some()
                || queues[place_of_thread()].is_in_use()
            {
                return self.poll_queue(context);
            }
            match self.until_sample.checked_sub(1) {
                Some(until_sample) => self.until_sample = until_sample,
                None => self.begin_sample(),
            }
        }
        self.takes_part = true;
        Poll::Ready(())
    }

    #[cold]
    fn begin_sample(&mut self) {
        self.until_sample = SAMPLE_INTERVAL - 1;
        self.sampled = Some(Instant::now());
    }

    fn poll_queue(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Others have run since this connection ended a turn.
        self.ending = None;
        let (place, ticket) = match self.waiting {
            Some((place, ticket)) => (place, Some(ticket)),
            None => (place_of_thread(), None),
        };
        let queue = queue_at(&self.turn, place);
        match queue.change(|queue| queue.enter(ticket, context.waker().clone())) {
            Entering::Waits(ticket) => {
                self.waiting = Some((place, ticket));
                Poll::Pending
            }
            Entering::Entered(next) => {
                next.as_ref().map(Waker::wake_by_ref);
                self.waiting = None;
                self.takes_part = true;
                self.look(Instant::now());
                Poll::Ready(())
            }
        }
    }

    /// Notes that the connection has looked at the clock, so that it is measured from here on.
    pub(crate) fn look(&mut self, now: Instant) {
        self.looked.get_or_insert(now);
    }

    /// Notes that the connection handles a lot. Returns how long its turn is; `whole` if few addresses are busy.
    pub(crate) fn share_when_busy(&mut self, now: Instant, whole: Duration) -> Duration {
        self.look(now);
        self.turn.note_busy(now);
        self.turn.connection_share(whole)
    }

    /// Ends the connection's part in a turn. `connection_turn` is how long a connection's turn is, and `is_over` says
    /// that it has used one up.
    #[inline]
    pub(crate) fn leave(&mut self, connection_turn: Duration, is_over: bool) {
        self.takes_part = false;
        let (sampled, looked) = (self.sampled.take(), self.looked.take());
        if sampled.is_some() || looked.is_some() {
            self.spend(sampled, looked, connection_turn, is_over);
        }
    }

    #[cold]
    fn spend(
        &mut self,
        sampled: Option<Instant>,
        looked: Option<Instant>,
        connection_turn: Duration,
        is_over: bool,
    ) {
        if self.turn.queues.get().is_none() {
            return;
        }
        let now = Instant::now();
        let mut used = time_used(sampled, looked, now);
        if is_over {
            used = used.max(self.turn.connection_share(connection_turn));
        }
        let whole = self.turn.share(connection_turn);
        let place = place_of_thread();
        if queue_at(&self.turn, place).change(|queue| queue.spend(used, whole)) {
            self.turn.note_busy(now);
            self.ending = Some(Ending {
                turn: self.turn.clone(),
                place,
            });
        }
    }

    /// Returns true if the connection has ended a turn, so that others must run before it goes on.
    pub(crate) fn has_ended_turn(&self) -> bool {
        self.ending.is_some()
    }

    /// Begins the next turn, after others have run, if the connection has ended one.
    pub(crate) fn begin_next(&mut self) {
        self.ending = None;
    }

    /// Arranges that the task of the connection is polled again after others have run, if it has ended a turn.
    #[inline]
    pub(crate) fn give_way_at_end(&self, context: &mut Context<'_>) {
        if self.has_ended_turn() {
            // Its first poll arranges that.
            let _ = pin!(tokio::task::yield_now()).poll(context);
        }
    }
}

impl Drop for Participation {
    fn drop(&mut self) {
        if let Some((place, ticket)) = self.waiting {
            let next = queue_at(&self.turn, place).change(|queue| queue.leave(ticket));
            next.as_ref().map(Waker::wake_by_ref);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let next = queue_at(&self.turn, self.place).change(|queue| queue.begin());
        next.as_ref().map(Waker::wake_by_ref);
    }
}

/// The time that a connection has used: exact from its first look at the clock on, and before that by the sample.
fn time_used(sampled: Option<Instant>, looked: Option<Instant>, now: Instant) -> Duration {
    let looked = looked.unwrap_or(now);
    let before = sampled.map_or(Duration::ZERO, |begun| {
        looked.saturating_duration_since(begun)
    });
    let after = now.saturating_duration_since(looked);
    before.saturating_mul(SAMPLE_INTERVAL).saturating_add(after)
}

fn queue_at(turn: &AddressTurn, place: usize) -> &ThreadQueue {
    &turn.queues.get_or_init(Box::default)[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_a_look_at_the_clock_counts_by_samples() {
        let begun = Instant::now();
        let after = |micros| begun + Duration::from_micros(micros);
        let used = |sampled: bool, looked: Option<u64>| {
            let used = time_used(sampled.then_some(begun), looked.map(after), after(30));
            used.as_micros()
        };
        assert_eq!(used(false, Some(0)), 30);
        assert_eq!(used(true, Some(0)), 30);
        assert_eq!(used(false, None), 0);
        assert_eq!(used(true, None), 8 * 30);
        // Seven of eight count only the rest, so that all eight count their whole time together.
        assert_eq!(7 * used(false, Some(20)) + used(true, Some(20)), 8 * 30);
    }
}
