//! Adaptive busy polling: a waiting side polls for a while before it sleeps, if that pays.
//!
//! Waking a sleeping thread costs more than the rest of a call on one host, so polling pays when the answer arrives
//! within the polling time. When the peer computes for longer, or both sides share a core, polling takes away the time
//! that the peer needs. So the poller counts: after a few failed polls it skips more and more of them, and tries again
//! now and then.

use std::time::{Duration, Instant};

/// Busy-polls for one connection, or leaves it, based on its recent waits.
#[derive(Debug, Default)]
pub(crate) struct AdaptivePoll {
    /// Failed polls since the last one that succeeded.
    miss_count: u32,
    /// Polls that are still to be skipped.
    skip_count: u32,
}

impl AdaptivePoll {
    /// Failed polls before any is skipped.
    const MISS_MAX: u32 = 3;
    /// Between two failed polls, at most two to the power of this many polls are skipped.
    const SKIP_SHIFT_MAX: u32 = 10;
    /// Attempts between two looks at the clock.
    const ASKS_PER_LOOK: u32 = 4;
    /// Failed attempts before the thread yields its core between attempts.
    const SPIN_COUNT: u32 = 32;

    /// Polls `ask` until it gives an answer or the time is over. Returns `None` without an answer, also if a poll does
    /// not seem worthwhile. `ask` must not block.
    pub(crate) fn poll<T>(
        &mut self,
        limit: Duration,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if limit.is_zero() || !self.is_worthwhile() {
            return None;
        }
        let answer = ask_until(limit, &mut ask);
        self.learn(answer.is_some());
        answer
    }

    /// Decides whether to poll this time.
    pub(crate) fn is_worthwhile(&mut self) -> bool {
        self.skip_count = match self.skip_count.checked_sub(1) {
            Some(rest) => rest,
            None => return true,
        };
        false
    }

    /// Records whether an answer arrived in time.
    pub(crate) fn learn(&mut self, is_hit: bool) {
        if is_hit {
            self.miss_count = 0;
            return;
        }
        self.miss_count = self.miss_count.saturating_add(1);
        if let Some(excess) = self.miss_count.checked_sub(Self::MISS_MAX) {
            self.skip_count = 1 << (excess + 2).min(Self::SKIP_SHIFT_MAX);
        }
    }
}

fn ask_until<T>(limit: Duration, ask: &mut impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut ask_count = 0_u32;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        ask_count += 1;
        // Reading the clock takes a third of the time of an attempt without an answer.
        if ask_count.is_multiple_of(AdaptivePoll::ASKS_PER_LOOK) && start.elapsed() >= limit {
            return None;
        }
        if ask_count > AdaptivePoll::SPIN_COUNT {
            // On a shared core the peer can answer only if the scheduler lets it run.
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_micros(1);

    /// How many of `count` failing waits poll at all.
    fn polled(polling: &mut AdaptivePoll, wait_count: usize) -> usize {
        let mut polled_count = 0;
        for _ in 0..wait_count {
            let mut has_polled = false;
            let answer: Option<()> = polling.poll(LIMIT, || {
                has_polled = true;
                None
            });
            assert!(answer.is_none());
            polled_count += usize::from(has_polled);
        }
        polled_count
    }

    #[test]
    fn failing_polls_become_rare() {
        let mut polling = AdaptivePoll::default();
        assert_eq!(polled(&mut polling, 3), 3);
        assert!(polled(&mut polling, 10_000) < 25);
    }

    #[test]
    fn one_success_resumes_polling() {
        let mut polling = AdaptivePoll::default();
        polled(&mut polling, 10_000);
        let mut tries = 0;
        while polling.poll(LIMIT, || Some(())).is_none() {
            tries += 1;
        }
        assert!(tries <= 1 << AdaptivePoll::SKIP_SHIFT_MAX);
        assert_eq!(polled(&mut polling, 2), 2);
    }

    #[test]
    fn without_a_polling_time_nothing_is_polled() {
        let answer = AdaptivePoll::default().poll(Duration::ZERO, || -> Option<()> {
            panic!("polled without a polling time");
        });
        assert!(answer.is_none());
    }
}
