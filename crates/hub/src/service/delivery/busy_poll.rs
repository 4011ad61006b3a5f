//! Waits that ask whether events have come instead of sleeping.

use std::pin::pin;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

use crate::core::BackOff;

/// Keeps the thread of the runtime awake for a while.
///
/// To sleep and to be woken by another core takes longer than all else that the hub does with an event. While events come
/// one after the other, a thread that looks again and again has the next one immediately. Between two looks it does all else
/// that the runtime has to do, and yields the core to other threads. Where others need the core, or nothing comes, the wait
/// was in vain, and later waits sleep.
#[derive(Debug, Default)]
pub(super) struct BusyPoll {
    /// Until when, while it lasts.
    until: Option<Instant>,
    /// Whether it has looked in vain once: an event that was there already would not have needed it.
    has_looked: bool,
    back_off: BackOff,
}

impl BusyPoll {
    /// Other threads that take the core for longer than this need it. A peer on the same core takes less for an event.
    const OTHERS_MAX: Duration = Duration::from_micros(50);

    /// A wait begins, which lasts until then at most.
    pub(super) fn begin(&mut self, until: Instant, context: &mut Context<'_>) {
        if self.back_off.is_due() {
            self.until = Some(until);
            self.has_looked = false;
            poll_again(context);
        }
    }

    /// Nothing has come so far: comes back for the next look, or sleeps.
    pub(super) fn handle_nothing(&mut self, context: &mut Context<'_>) {
        let Some(until) = self.until else {
            return;
        };
        self.has_looked = true;
        let asked = Instant::now();
        // A peer on this core can answer only if it gets its turn.
        thread::yield_now();
        if asked < until && asked.elapsed() <= Self::OTHERS_MAX {
            return poll_again(context);
        }
        self.until = None;
        self.back_off.handle_failure();
    }

    /// Events have come.
    pub(super) fn handle_events(&mut self) {
        if self.until.take().is_some() && self.has_looked {
            self.back_off.handle_success();
        }
    }
}

/// Lets the runtime look once for whatever has come, and then poll this task again.
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
