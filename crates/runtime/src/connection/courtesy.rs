//! When a thread gives up its core to those it has just woken.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

/// Gives up the core for a turn once an event that came alone has been sent on: who was woken by that runs now, and not when
/// this thread has answered the publisher, too, and sleeps. So it is there sooner.
pub(super) fn let_peers_run() {
    let mut courtesy = COURTESY.get();
    let begin = Instant::now();
    if courtesy.is_due(begin) {
        thread::yield_now();
        courtesy.learn(begin.elapsed());
    }
    COURTESY.set(courtesy);
}

thread_local! {
    /// Of all connections that this thread reads.
    static COURTESY: Cell<Courtesy> = const { Cell::new(Courtesy::NEW) };
}

/// When a thread gives up its core: while it has little to do itself, and as long as it soon gets it back.
#[derive(Debug, Clone, Copy)]
struct Courtesy {
    /// When the event before this one came that was alone.
    before: Option<Instant>,
    /// So many turns were left out after the last long one, less what short ones have brought back.
    last_left_out: u32,
    /// Turns that are still to be left out.
    left_out_count: u32,
}

impl Courtesy {
    const NEW: Self = Self {
        before: None,
        last_left_out: 0,
        left_out_count: 0,
    };
    /// Events of several publishers that are closer together than this keep the thread busy.
    const CALM_TIME: Duration = Duration::from_micros(250);
    /// Longer than some dozens of peers take with an event. Who keeps the core for longer does something else with it.
    const TURN_MAX: Duration = Duration::from_millis(1);
    /// Turns left out after a long one, and twice as many after the next, up to so many.
    const LEFT_OUT_MIN: u32 = 4;
    const LEFT_OUT_MAX: u32 = 4096;

    /// Whether to give up the core after an event at this time.
    fn is_due(&mut self, now: Instant) -> bool {
        let before = self.before.replace(now);
        let is_calm =
            before.is_none_or(|before| now.saturating_duration_since(before) >= Self::CALM_TIME);
        if !is_calm {
            return false;
        }
        match self.left_out_count.checked_sub(1) {
            Some(left) => self.left_out_count = left,
            None => return true,
        }
        false
    }

    /// It was given up for so long.
    fn learn(&mut self, took: Duration) {
        if took <= Self::TURN_MAX {
            self.last_left_out /= 2;
            return;
        }
        self.last_left_out = (self.last_left_out * 2).clamp(Self::LEFT_OUT_MIN, Self::LEFT_OUT_MAX);
        self.left_out_count = self.last_left_out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many events, each so long after the one before, give up the core, if that takes so long.
    fn turns(courtesy: &mut Courtesy, count: u32, apart: Duration, took: Duration) -> usize {
        let start = courtesy.before.unwrap_or_else(Instant::now);
        let is_due = |number| {
            let is_due = courtesy.is_due(start + apart * (number + 1));
            if is_due {
                courtesy.learn(took);
            }
            is_due
        };
        (0..count).map(is_due).filter(|is_due| *is_due).count()
    }

    #[test]
    fn each_event_alone_gives_up_the_core_while_it_is_soon_given_back() {
        let (apart, short) = (Duration::from_millis(2), Duration::from_micros(900));
        let mut courtesy = Courtesy::NEW;
        assert_eq!(turns(&mut courtesy, 1000, apart, short), 1000);
    }

    #[test]
    fn events_of_many_publishers_do_not() {
        let mut courtesy = Courtesy::NEW;
        let close = Duration::from_micros(200);
        assert_eq!(
            turns(&mut courtesy, 1000, close, Duration::ZERO),
            1,
            "the first"
        );
        assert_eq!(
            turns(&mut courtesy, 1, Duration::from_micros(250), Duration::ZERO),
            1
        );
    }

    #[test]
    fn a_core_that_others_need_is_given_up_less_and_less_until_they_are_gone() {
        let mut courtesy = Courtesy::NEW;
        let (apart, long) = (Duration::from_millis(2), Duration::from_millis(3));
        let count = turns(&mut courtesy, 100_000, apart, long);
        assert!((10..50).contains(&count), "{count}");
        let short = Duration::from_micros(20);
        assert!(turns(&mut courtesy, 4096 + 20, apart, short) >= 20);
        assert_eq!(turns(&mut courtesy, 100, apart, short), 100);
        // It was forgotten by and by.
        assert_eq!(turns(&mut courtesy, 5, apart, long), 1);
    }
}
