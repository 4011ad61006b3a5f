//! How long a subscriber may hold publishers back.

use std::time::{Duration, Instant};

/// Decides whether publishers wait for room in the queue of a subscriber.
///
/// ```text
///          hold                 rest: no publication is held any more
/// Patient ------> Holding -------------------------------------------> Patient
///                  |   ^ note_progress: the patience begins anew
///                  |   +--+
///                  | end: no progress for the whole patience
///                  +----> Spent ---- has taken a share of its queue, and the pause is over ----> Patient
/// ```
///
/// A subscriber that keeps taking its share in time is healthy: it may hold publishers back as long as they are faster.
/// A subscriber that stops holds them back for one patience. After that, its overflow policy decides until it takes
/// events again, and for at least [`PAUSE_RATIO`] times the patience. So it never delays publishers for more than a
/// twentieth of the time, however often it stops and returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Patience {
    /// Publishers may be held back.
    #[default]
    Patient,
    /// Publishers are held back.
    Holding {
        /// When that began, or when the subscriber last took its share.
        since: Instant,
        /// True if the hub was late since then.
        was_late: bool,
    },
    /// The patience was used up.
    Spent {
        /// The end of the pause; `None` if that is beyond the range of the clock.
        until: Option<Instant>,
        /// True if the subscriber has taken its share since.
        has_progressed: bool,
    },
}

/// If the hub checks the patience this much after its end, the hub itself had no processor, so the subscriber had no
/// chance to take its share. The patience then begins anew, once.
const LATE: Duration = Duration::from_millis(100);
/// The time from the beginning of a hold without progress to the next hold: this many times the patience.
const PAUSE_RATIO: u32 = 20;

impl Patience {
    /// Returns true if a publication that has no room may be held now, with the patience `max`.
    pub(super) fn may_hold(&mut self, max: Duration, now: Instant) -> bool {
        if let Self::Spent {
            until: Some(until),
            has_progressed: true,
        } = *self
            && now >= until
        {
            *self = Self::Patient;
        }
        !max.is_zero() && !matches!(self, Self::Spent { .. })
    }

    /// A publication is held.
    pub(super) fn hold(&mut self, now: Instant) {
        if *self == Self::Patient {
            *self = Self::Holding {
                since: now,
                was_late: false,
            };
        }
    }

    /// The subscriber has taken its share.
    pub(super) fn note_progress(&mut self, now: Instant) {
        match self {
            Self::Patient => {}
            Self::Holding { since, was_late } => (*since, *was_late) = (now, false),
            Self::Spent { has_progressed, .. } => *has_progressed = true,
        }
    }

    /// Notes that no publication is held any more.
    pub(super) fn rest(&mut self) {
        if matches!(self, Self::Holding { .. }) {
            *self = Self::Patient;
        }
    }

    /// When the patience is used up; `None` if no publisher is held back, or for ever.
    pub(super) fn deadline(&self, max: Duration) -> Option<Instant> {
        match self {
            Self::Holding { since, .. } => since.checked_add(max),
            Self::Patient | Self::Spent { .. } => None,
        }
    }

    /// Ends the patience if it is used up now. Returns true if this call ended it: publications are held no longer.
    pub(super) fn end(&mut self, max: Duration, now: Instant) -> bool {
        let Self::Holding { since, was_late } = *self else {
            return false;
        };
        let Some(late) = now.saturating_duration_since(since).checked_sub(max) else {
            return false;
        };
        if late >= LATE && !was_late {
            *self = Self::Holding {
                since: now,
                was_late: true,
            };
            return false;
        }
        *self = Self::Spent {
            until: since.checked_add(max.saturating_mul(PAUSE_RATIO)),
            has_progressed: false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(1);

    #[test]
    fn progress_begins_the_patience_anew() {
        let began = Instant::now();
        let mut patience = Patience::default();
        assert!(patience.may_hold(MAX, began));
        patience.hold(began);
        let later = began + MAX / 2;
        patience.note_progress(later);
        assert_eq!(patience.deadline(MAX), Some(later + MAX));
        assert!(!patience.end(MAX, began + MAX));
        assert!(patience.end(MAX, later + MAX));
    }

    #[test]
    fn a_spent_patience_returns_with_progress_and_after_the_pause() {
        let began = Instant::now();
        let mut patience = Patience::default();
        patience.hold(began);
        assert!(patience.end(MAX, began + MAX));
        let after_pause = began + MAX * PAUSE_RATIO;
        assert!(!patience.may_hold(MAX, after_pause), "it has stopped");
        patience.note_progress(after_pause);
        let within_pause = after_pause - Duration::from_nanos(1);
        assert!(!patience.may_hold(MAX, within_pause), "the pause lasts");
        assert!(patience.may_hold(MAX, after_pause));
    }

    #[test]
    fn a_hub_that_was_late_gives_the_subscriber_one_more_chance() {
        let began = Instant::now();
        let mut patience = Patience::default();
        patience.hold(began);
        let late = began + MAX + LATE;
        assert!(!patience.end(MAX, late));
        assert_eq!(patience.deadline(MAX), Some(late + MAX));
        assert!(patience.end(MAX, late + MAX + LATE));
    }

    #[test]
    fn without_patience_nothing_is_held() {
        assert!(!Patience::default().may_hold(Duration::ZERO, Instant::now()));
    }
}
