//! A busy poll: the thread keeps asking for events instead of sleeping.

use std::pin::pin;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

use crate::core::BackOff;

/// Keeps the thread of the runtime awake for a short time.
///
/// Putting a thread to sleep and waking it from another core takes longer than everything else that the hub does with
/// an event. While events come one after the other, a busy poll gets the next one without this delay. Between two
/// looks, it lets the runtime run other tasks, and yields the core to other threads. If other threads need the core, or
/// no event comes, the poll has failed, and a back-off makes the next waits sleep.
#[derive(Debug, Default)]
pub(super) struct BusyPoll {
    /// The end of the current poll.
    until: Option<Instant>,
    /// True if the poll has looked and found nothing. If events were there before the first look, the poll was not
    /// needed.
    has_looked: bool,
    back_off: BackOff,
}

impl BusyPoll {
    /// If another thread takes the core for longer than this, it needs the core. A peer on the same core takes less
    /// time for an event.
    const OTHERS_MAX: Duration = Duration::from_micros(50);

    /// Begins a poll that ends at `until`, unless the back-off says to sleep.
    pub(super) fn begin(&mut self, until: Instant, context: &mut Context<'_>) {
        if self.back_off.is_due() {
            self.until = Some(until);
            self.has_looked = false;
            poll_again(context);
        }
    }

    /// Notes that no events have come: looks again, or ends the poll.
    pub(super) fn handle_nothing(&mut self, context: &mut Context<'_>) {
        let Some(until) = self.until else {
            return;
        };
        self.has_looked = true;
        let asked = Instant::now();
        // A peer on this core can answer only if it runs.
        thread::yield_now();
        if asked < until && asked.elapsed() <= Self::OTHERS_MAX {
            return poll_again(context);
        }
        self.until = None;
        self.back_off.handle_failure();
    }

    /// Events have come: ends the poll.
    pub(super) fn handle_events(&mut self) {
        if self.until.take().is_some() && self.has_looked {
            self.back_off.handle_success();
        }
    }
}

/// Lets the runtime look for I/O once, and then polls this task again.
fn poll_again(context: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(context);
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_wait_lasts_until_its_time_is_over_and_the_next_ones_sleep() {
        let mut poll = BusyPoll::default();
        let context = &mut Context::from_waker(Waker::noop());
        poll.begin(Instant::now(), context);
        assert!(poll.until.is_some());
        poll.handle_nothing(context);
        let later = Instant::now() + Duration::from_secs(3600);
        for _ in 0..4 {
            poll.begin(later, context);
            assert!(poll.until.is_none());
        }
        poll.begin(later, context);
        assert!(poll.until.is_some());
    }

    #[test]
    fn events_that_were_there_already_are_no_success() {
        let mut poll = BusyPoll::default();
        let context = &mut Context::from_waker(Waker::noop());
        poll.back_off.handle_failure();
        let later = Instant::now() + Duration::from_secs(3600);
        for _ in 0..50 {
            poll.begin(later, context);
            poll.handle_events();
        }
        poll.begin(Instant::now(), context);
        poll.handle_nothing(context);
        let slept = (0..100).take_while(|_| !poll.back_off.is_due()).count();
        assert_eq!(slept, 8);
    }
}
