//! Busy polls: whether a side that waits asks again and again before it sleeps.
//!
//! To wake a sleeping thread costs more than all else of a call on one host, so to ask for a while
//! pays where the answer comes within that while. Where it does not, because the peer computes for
//! longer or because both ends share a core, it takes away the time that the peer needs. So it counts:
//! after a few waits in vain it leaves more and more of them out, and tries again now and then.

use std::time::{Duration, Instant};

/// Decides for one connection, from what the last waits were like.
#[derive(Debug, Default)]
pub(crate) struct BusyPoll {
    /// Waits in vain since the last one that paid.
    miss_count: u32,
    /// Waits that are still to be left out.
    skip_count: u32,
}

impl BusyPoll {
    /// Waits in vain before any is left out.
    const MISS_MAX: u32 = 3;
    /// Between two tries in vain, at most two to the power of this many waits are left out.
    const SKIP_SHIFT_MAX: u32 = 10;
    /// Tries between two looks at the clock.
    const ASKS_PER_LOOK: u32 = 4;
    /// Tries without success before the thread offers its core to others in between.
    const SPIN_COUNT: u32 = 32;

    /// Asks until there is an answer, the time is over, or it does not seem to be worth it: then
    /// there is none. `ask` must not block.
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

    /// Whether to ask this time.
    pub(crate) fn is_worthwhile(&mut self) -> bool {
        self.skip_count = match self.skip_count.checked_sub(1) {
            Some(rest) => rest,
            None => return true,
        };
        false
    }

    /// Remembers whether there was an answer in time.
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
        // To read the clock takes a third of the time of an answer that is none.
        if ask_count.is_multiple_of(BusyPoll::ASKS_PER_LOOK) && start.elapsed() >= limit {
            return None;
        }
        if ask_count > BusyPoll::SPIN_COUNT {
            // On a shared core the peer can answer only if it gets its turn.
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

    /// How many of so many waits in vain ask at all.
    fn asking(polling: &mut BusyPoll, wait_count: usize) -> usize {
        let mut asking_count = 0;
        for _ in 0..wait_count {
            let mut has_asked = false;
            let answer: Option<()> = polling.poll(LIMIT, || {
                has_asked = true;
                None
            });
            assert!(answer.is_none());
            asking_count += usize::from(has_asked);
        }
        asking_count
    }

    #[test]
    fn waits_in_vain_fall_off() {
        let mut polling = BusyPoll::default();
        assert_eq!(asking(&mut polling, 3), 3);
        assert!(asking(&mut polling, 10_000) < 25);
    }

    #[test]
    fn polling_is_tried_again_and_one_success_brings_it_back() {
        let mut polling = BusyPoll::default();
        asking(&mut polling, 10_000);
        let mut tries = 0;
        while polling.poll(LIMIT, || Some(())).is_none() {
            tries += 1;
        }
        assert!(tries <= 1 << BusyPoll::SKIP_SHIFT_MAX);
        assert_eq!(asking(&mut polling, 2), 2);
    }

    #[test]
    fn without_a_limit_nobody_asks() {
        let answer = BusyPoll::default().poll(Duration::ZERO, || -> Option<()> {
            panic!("nobody asks");
        });
        assert!(answer.is_none());
    }
}
