//! A clock that does not follow each jump of the system's clock, because the times of a log last for ever.
//!
//! ```text
//!            differs                           for a time
//!  steady ------------> watching the jump ----------------> steady, with the system's time
//!     ^                       |
//!     +-----------------------+
//!        agrees again
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::EventTime;

/// Follows the system's clock, but a jump of it only after a while. Until then it goes on by a clock that never jumps.
#[derive(Debug, Default)]
pub(crate) struct SteadyClock {
    /// The last moment at which both clocks agreed.
    agreed: Option<ClockReading>,
    /// A jump that is not followed yet.
    jump: Option<Jump>,
    /// Jumps ahead that were followed, and by how much: the newest [`SteadyClock::FOLLOWED_MAX`].
    followed: VecDeque<(EventTime, Duration)>,
}

/// The times of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockReading {
    /// The system's clock.
    pub(crate) system: EventTime,
    /// The time since the computer started, the time included in which it slept.
    pub(crate) up: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    /// When it was noticed, since the computer started.
    noticed: Duration,
    /// The system's time less the steady one, in microseconds.
    micros: i64,
}

/// News for an operator about the system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockNotice {
    /// It has jumped by so many microseconds, and is not followed.
    Jumped(i64),
    /// It is right again.
    CameBack,
    /// It has stayed where it jumped to, and is followed from now on.
    Followed(i64),
}

impl SteadyClock {
    /// How long a jump must last. A clock that is set by mistake, or by a bad source of time, is put right within minutes.
    pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);
    /// Steps up to this are no jumps.
    const STEP_MAX: Duration = Duration::from_secs(2);
    /// Clocks differ by less than one part of this.
    const DRIFT_PARTS: u32 = 1000;
    const FOLLOWED_MAX: usize = 16;

    /// The time now.
    pub(crate) fn now(&mut self, reading: ClockReading) -> (EventTime, Option<ClockNotice>) {
        let Some(agreed) = self.agreed else {
            self.agreed = Some(reading);
            return (reading.system, None);
        };
        let elapsed = reading.up.saturating_sub(agreed.up);
        let elapsed_micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let expected = EventTime(agreed.system.0.saturating_add(elapsed_micros));
        let micros = difference(reading.system, expected);
        let step_max = Self::STEP_MAX + elapsed / Self::DRIFT_PARTS;
        if is_within(micros, step_max) {
            self.agreed = Some(reading);
            let came_back = self.jump.take().map(|_| ClockNotice::CameBack);
            return (reading.system, came_back);
        }
        let is_same = |jump: &Jump| is_within(micros.saturating_sub(jump.micros), step_max);
        let Some(jump) = self.jump.filter(is_same) else {
            self.jump = Some(Jump {
                noticed: reading.up,
                micros,
            });
            return (expected, Some(ClockNotice::Jumped(micros)));
        };
        if reading.up.saturating_sub(jump.noticed) < Self::PATIENCE {
            return (expected, None);
        }
        self.agreed = Some(reading);
        self.jump = None;
        if let Ok(ahead) = u64::try_from(micros) {
            if self.followed.len() == Self::FOLLOWED_MAX {
                self.followed.pop_front();
            }
            let ahead = Duration::from_micros(ahead);
            self.followed.push_back((reading.system, ahead));
        }
        (reading.system, Some(ClockNotice::Followed(micros)))
    }

    /// The moment before which events are older than `age`. Events from before a jump look older than they are, as long as it
    /// lies within their age.
    pub(crate) fn oldest(&self, now: EventTime, age: Duration) -> EventTime {
        let mut oldest = now.before(age);
        for (at, ahead) in self.followed.iter().rev() {
            if *at < oldest {
                break;
            }
            oldest = oldest.before(*ahead);
        }
        oldest
    }
}

fn difference(one: EventTime, other: EventTime) -> i64 {
    let apart = i64::try_from(one.0.abs_diff(other.0)).unwrap_or(i64::MAX);
    match one < other {
        true => -apart,
        false => apart,
    }
}

fn is_within(micros: i64, limit: Duration) -> bool {
    Duration::from_micros(micros.unsigned_abs()) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;
    const START: u64 = 1_800_000_000;

    struct Clocks {
        steady: SteadyClock,
        up: u64,
        ahead: i64,
    }

    impl Clocks {
        fn new() -> Self {
            let mut new = Self {
                steady: SteadyClock::default(),
                up: 5,
                ahead: 0,
            };
            assert_eq!(new.after(0), (0, None));
            new
        }

        /// The seconds since the start by the steady clock, after some more have passed.
        fn after(&mut self, seconds: u64) -> (i64, Option<ClockNotice>) {
            self.up += seconds;
            let system = (START as i64 + self.up as i64 - 5 + self.ahead) as u64;
            let reading = ClockReading {
                system: EventTime(system * 1_000_000),
                up: Duration::from_secs(self.up),
            };
            let (now, notice) = self.steady.now(reading);
            (now.0 as i64 / 1_000_000 - START as i64, notice)
        }
    }

    #[test]
    fn a_clock_that_jumps_and_comes_back_dates_nothing() {
        for jump in [100 * 365 * 24 * HOUR as i64, -(HOUR as i64)] {
            let mut clocks = Clocks::new();
            clocks.ahead = jump;
            let jumped = ClockNotice::Jumped(jump * 1_000_000);
            assert_eq!(clocks.after(1), (1, Some(jumped)));
            assert_eq!(clocks.after(300), (301, None));
            clocks.ahead = 0;
            assert_eq!(clocks.after(1), (302, Some(ClockNotice::CameBack)));
            let now = EventTime(1);
            assert_eq!(clocks.steady.oldest(now, Duration::ZERO), now);
        }
    }

    #[test]
    fn a_jump_that_lasts_is_followed_and_makes_no_event_older() {
        let mut clocks = Clocks::new();
        clocks.ahead = 2 * HOUR as i64;
        clocks.after(1);
        let (now, notice) = clocks.after(SteadyClock::PATIENCE.as_secs());
        assert_eq!(now, 2 * HOUR as i64 + 601);
        assert_eq!(
            notice,
            Some(ClockNotice::Followed(2 * HOUR as i64 * 1_000_000))
        );
        let at = |seconds: i64| EventTime((START as i64 + seconds) as u64 * 1_000_000);
        let hour = Duration::from_secs(HOUR);
        // An event of the start is ten minutes old.
        assert!(clocks.steady.oldest(at(now), hour) < at(0));
        // An hour later, it is older than an hour.
        let (now, _) = clocks.after(HOUR + 1);
        assert_eq!(clocks.steady.oldest(at(now), hour), at(now - HOUR as i64));
    }

    #[test]
    fn small_steps_and_drift_are_followed() {
        let mut clocks = Clocks::new();
        for _ in 0..100 {
            clocks.ahead += 1;
            assert_eq!(clocks.after(1).1, None);
        }
        assert_eq!(clocks.after(1).0, 201);
        // A week without a look, and a drift of a hundred millionths.
        clocks.ahead += 60;
        assert_eq!(clocks.after(7 * 24 * HOUR).1, None);
    }
}
