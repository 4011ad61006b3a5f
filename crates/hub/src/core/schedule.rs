//! How much of the time deliveries take while events keep coming.

use std::time::{Duration, Instant};

/// Schedule of deliveries, each to all subscribers that have events when it begins.
///
/// To wake a subscriber costs far more than to send it one event more. While events keep coming as soon as a round is
/// over, the next one therefore rests for some times as long as the last one took: publishers have that time, and
/// what they publish in it leaves in one write for each subscriber, who acknowledges it in one. Who has published
/// nothing for a while, and a few events that come together, wait for nothing.
pub(crate) struct Schedule {
    under_way: Option<Round>,
    /// When the last one ended, and what it took, until a round is about to follow it.
    last: Option<(Instant, Duration)>,
    /// Whether the next one has rested.
    has_rested: bool,
    /// Schedule that had events at once after the one before, one after the other.
    pressing_count: u32,
    /// So many are needed for a rest.
    rest_count: u32,
    /// So many more after a rest in vain.
    vain_count: u32,
}

struct Round {
    began: Instant,
    /// Subscribers it serves, and those of them that are left.
    served: usize,
    left: usize,
    /// Those that had several events.
    gained: usize,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            under_way: None,
            last: None,
            has_rested: false,
            pressing_count: 0,
            rest_count: Self::PRESSING_MIN,
            vain_count: Self::PRESSING_MIN,
        }
    }
}

impl Schedule {
    /// Events that come within this time after a round are pressing: it is longer than a publisher takes that waits for
    /// each answer, on a machine that is slow to wake it.
    pub(crate) const PRESSING_TIME: Duration = Duration::from_micros(100);
    /// So many rounds have events at once before there is a rest: a few events are not yet a stream.
    const PRESSING_MIN: u32 = 4;
    /// The same after rests in which hardly any more events came: these only follow each other, as those of subscribers do that
    /// publish what they were sent.
    const PRESSING_MAX: u32 = 4096;
    /// A rest is so many times as long as the round before it. With ten subscribers, more gives hardly more events a
    /// second, and half of it a fifth less.
    const REST_RATIO: u32 = 8;
    /// A round that serves fewer subscribers is not worth a rest: its events come together from many publishers as it
    /// is.
    const SERVED_MIN: usize = 2;

    /// How long the next round rests, now that there are events for it; at most so long. Asked once for each round.
    pub(crate) fn rest(&mut self, now: Instant, rest_max: Duration) -> Option<Duration> {
        let (ended, took) = self.last.take()?;
        let since = now.saturating_duration_since(ended);
        if since > Self::PRESSING_TIME {
            self.pressing_count = 0;
            self.rest_count = self.vain_count;
            return None;
        }
        self.pressing_count = self.pressing_count.saturating_add(1);
        let rest = rest_after(took, rest_max).saturating_sub(since);
        (self.pressing_count >= self.rest_count && !rest.is_zero()).then_some(rest)
    }

    /// Whether the next events are expected at once, and would not rest. A rest lasts until a fixed time after the last
    /// round, so that to be awake before it gains nothing; a short one is over when they come.
    pub(crate) fn are_awaited(&self, rest_max: Duration) -> bool {
        let may_rest = self.pressing_count.saturating_add(1) >= self.rest_count;
        let would_rest = |(_, took)| may_rest && rest_after(took, rest_max) >= Self::PRESSING_TIME;
        self.pressing_count >= Self::PRESSING_MIN && !self.last.is_some_and(would_rest)
    }

    /// It rests.
    pub(crate) fn note_rest(&mut self) {
        self.has_rested = true;
    }

    /// How many of those who have called are served now, of which there are some; at most so many.
    pub(crate) fn serve(&mut self, callers: usize, max: usize, now: Instant) -> usize {
        let round = self.under_way.get_or_insert(Round {
            began: now,
            served: callers,
            left: callers,
            gained: 0,
        });
        let count = round.left.min(callers).min(max);
        round.left -= count;
        count
    }

    /// They are served, and so many of them had several events. At the end of a round `now` is asked for, and given.
    pub(crate) fn note_served(
        &mut self,
        gained: usize,
        now: impl FnOnce() -> Instant,
    ) -> Option<Instant> {
        let round = self.under_way.as_mut()?;
        round.gained += gained;
        let round = self.under_way.take_if(|round| round.left == 0)?;
        let now = now();
        self.end(&round, now);
        Some(now)
    }

    fn end(&mut self, round: &Round, now: Instant) {
        if std::mem::take(&mut self.has_rested) {
            let is_in_vain = round.gained * 2 < round.served;
            (self.vain_count, self.rest_count) = match is_in_vain {
                true => {
                    let more = (self.vain_count * 2).min(Self::PRESSING_MAX);
                    (more, self.pressing_count.saturating_add(more))
                }
                false => (Self::PRESSING_MIN, Self::PRESSING_MIN),
            };
        }
        let took = match round.served {
            ..Self::SERVED_MIN => Duration::ZERO,
            _ => now.saturating_duration_since(round.began),
        };
        self.last = Some((now, took));
    }
}

/// How long the next round is to begin after one that took so long.
fn rest_after(took: Duration, rest_max: Duration) -> Duration {
    took.saturating_mul(Schedule::REST_RATIO).min(rest_max)
}

#[cfg(test)]
mod tests;
