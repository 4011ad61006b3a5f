//! Waits that ask whether anything has come instead of sleeping.

use std::pin::pin;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// Keeps the thread of the runtime awake for a while.
///
/// To go to sleep and to be woken by another core takes longer than all else that is done with an event, and most of that
/// time nobody works. While events press, a thread that asks again and again has the next one at once. All
/// else that the runtime has to do is done in between, and so is what other threads of this core have to do. Where
/// those take their time, or nothing comes, it was in vain: then more and more waits sleep as ever.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// Until when, while it lasts.
    until: Option<Instant>,
    /// After the next one in vain, half as many waits sleep.
    asleep_max: u32,
    /// Waits that are still to sleep.
    asleep_count: u32,
}

impl Vigil {
    /// A core that others took for longer is one that they need. What a peer on the same core does with an event takes
    /// less.
    const OTHERS_MAX: Duration = Duration::from_micros(50);
    /// Waits that sleep after one vigil in vain, and at most after many.
    const ASLEEP: std::ops::RangeInclusive<u32> = 4..=4096;

    /// A wait begins, which lasts until then at most. It is awake unless the last ones were so in vain.
    pub(super) fn begin(&mut self, until: Instant, context: &mut Context<'_>) {
        match self.asleep_count.checked_sub(1) {
            Some(left) => self.asleep_count = left,
            None => {
                self.until = Some(until);
                come_back(context);
            }
        }
    }

    /// Nothing has come so far: comes back for the next look, or goes to sleep.
    pub(super) fn go_on(&mut self, context: &mut Context<'_>) {
        let Some(until) = self.until else {
            return;
        };
        let asked = Instant::now();
        if asked < until {
            // A peer on this core can answer only if it gets its turn.
            thread::yield_now();
            if asked.elapsed() <= Self::OTHERS_MAX {
                return come_back(context);
            }
        }
        self.end(false);
    }

    /// What was waited for is there.
    pub(super) fn hit(&mut self) {
        self.end(true);
    }

    fn end(&mut self, is_hit: bool) {
        if self.until.take().is_none() {
            return;
        }
        if is_hit {
            self.asleep_max /= 2;
        } else {
            let (least, most) = (*Self::ASLEEP.start(), *Self::ASLEEP.end());
            self.asleep_max = (self.asleep_max * 2).clamp(least, most);
            self.asleep_count = self.asleep_max;
        }
    }
}

/// The runtime looks once for whatever has come, and then asks this task again.
fn come_back(context: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(context);
}
