//! The schedule of deliveries: when they rest before a round, and for how long.

use std::time::{Duration, Instant};

/// Schedules rounds of deliveries. A round serves all subscribers that have events when it begins.
///
/// Waking a subscriber costs far more than sending it one event more. While events keep coming immediately after each
/// round, the scheduler therefore rests before the next round, for a multiple of the time that the last round took.
/// Events that are published during the rest leave in one write for each subscriber, which acknowledges them in one.
/// There is no rest before the first events after a break, nor before a few events that come together.
pub(crate) struct Schedule {
    current: Option<Round>,
    /// When the last round ended and how long it took, until the next round is about to begin.
    last: Option<(Instant, Duration)>,
    /// True if the current round has rested.
    has_rested: bool,
    /// The number of rounds in a row that had events immediately after the round before.
    streak: u32,
    /// The streak at which rounds begin to rest.
    rest_streak: u32,
    /// The length of a streak before its first rest. It doubles with each rest that brings no more events.
    patience: u32,
}

struct Round {
    began: Instant,
    /// Subscribers that it serves.
    served: usize,
    /// Subscribers that it has yet to serve.
    left: usize,
    /// Subscribers that had several events.
    batched: usize,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            current: None,
            last: None,
            has_rested: false,
            streak: 0,
            rest_streak: Self::STREAK_MIN,
            patience: Self::STREAK_MIN,
        }
    }
}

impl Schedule {
    /// Events that come within this time after a round continue the streak. It is longer than a publisher takes to publish
    /// its next event after a reply, on a machine that is slow to wake it.
    pub(crate) const GAP_MAX: Duration = Duration::from_micros(100);
    /// The shortest streak that counts as a stream of events.
    const STREAK_MIN: u32 = 4;
    /// The longest streak before a rest, after rests that brought hardly any more events. There, one event leads to the
    /// next, for example because subscribers publish what they receive.
    const PATIENCE_MAX: u32 = 4096;
    /// A rest is this many times as long as the round before it. With ten subscribers, a higher ratio gives hardly more
    /// events a second, and half of it gives a fifth less.
    const REST_RATIO: u32 = 8;
    /// A round that serves fewer subscribers takes no rest: its events are batched already, since they come from many
    /// publishers.
    const SERVED_MIN: usize = 2;

    /// How long the scheduler rests before the next round, now that it has events. Called once for each round.
    pub(crate) fn rest(&mut self, now: Instant, rest_max: Duration) -> Option<Duration> {
        let (ended, took) = self.last.take()?;
        let gap = now.saturating_duration_since(ended);
        if gap > Self::GAP_MAX {
            self.streak = 0;
            self.rest_streak = self.patience;
            return None;
        }
        self.streak = self.streak.saturating_add(1);
        let rest = rest_after(took, rest_max).saturating_sub(gap);
        (self.streak >= self.rest_streak && !rest.is_zero()).then_some(rest)
    }

    /// Returns true if a busy poll for the next events is worth it: they will probably come immediately, and no rest
    /// will follow. A rest ends at a fixed time after the last round, so seeing events earlier would gain nothing. A
    /// very short rest is over when they come.
    pub(crate) fn expects_events(&self, rest_max: Duration) -> bool {
        let may_rest = self.streak.saturating_add(1) >= self.rest_streak;
        let would_rest = |(_, took)| may_rest && rest_after(took, rest_max) >= Self::GAP_MAX;
        self.streak >= Self::STREAK_MIN && !self.last.is_some_and(would_rest)
    }

    /// Notes that the scheduler rests before the next round.
    pub(crate) fn note_rest(&mut self) {
        self.has_rested = true;
    }

    /// Begins a round or continues it. Returns how many of the `ready` subscribers to serve now, at most `max`.
    pub(crate) fn serve(&mut self, ready: usize, max: usize, now: Instant) -> usize {
        let round = self.current.get_or_insert(Round {
            began: now,
            served: ready,
            left: ready,
            batched: 0,
        });
        let count = round.left.min(ready).min(max);
        round.left -= count;
        count
    }

    /// Notes that these subscribers were served, and that `batched` of them had several events. Returns the time if the
    /// round has ended; `now` is called only then.
    pub(crate) fn note_served(
        &mut self,
        batched: usize,
        now: impl FnOnce() -> Instant,
    ) -> Option<Instant> {
        let round = self.current.as_mut()?;
        round.batched += batched;
        let round = self.current.take_if(|round| round.left == 0)?;
        let now = now();
        self.end(&round, now);
        Some(now)
    }

    fn end(&mut self, round: &Round, now: Instant) {
        if std::mem::take(&mut self.has_rested) {
            let was_useful = round.batched * 2 >= round.served;
            (self.patience, self.rest_streak) = match was_useful {
                true => (Self::STREAK_MIN, Self::STREAK_MIN),
                false => {
                    let patience = (self.patience * 2).min(Self::PATIENCE_MAX);
                    (patience, self.streak.saturating_add(patience))
                }
            };
        }
        let took = match round.served {
            ..Self::SERVED_MIN => Duration::ZERO,
            _ => now.saturating_duration_since(round.began),
        };
        self.last = Some((now, took));
    }
}

/// How long after the end of a round the next one begins, if the round took `took`.
fn rest_after(took: Duration, rest_max: Duration) -> Duration {
    took.saturating_mul(Schedule::REST_RATIO).min(rest_max)
}

#[cfg(test)]
mod tests;
