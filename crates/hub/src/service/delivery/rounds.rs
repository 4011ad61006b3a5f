//! How much of the time deliveries take while events keep coming.

use std::time::{Duration, Instant};

/// Rounds of deliveries, each to all subscribers that have events.
///
/// To wake a subscriber costs far more than to send it one event more. While events keep coming as fast as they are
/// sent on, the next round therefore rests for some times as long as the last one took: publishers have that time, and
/// what they publish in it leaves in one write for each subscriber, who acknowledges it in one. An event that comes
/// alone, or is among the first of many, waits for nothing.
#[derive(Default)]
pub(super) struct Rounds {
    under_way: Option<Round>,
    /// When the last one ended, and what it took, until a round is about to follow it.
    last: Option<(Instant, Duration)>,
    /// Rounds that had events at once after the one before, one after the other.
    pressing_count: u32,
}

struct Round {
    began: Instant,
    /// Subscribers it has served.
    served: usize,
}

impl Rounds {
    /// Events that come within this time after a round are pressing: it is longer than a publisher takes that waits for
    /// each answer, on a machine that is slow to wake it.
    const PRESSING_TIME: Duration = Duration::from_micros(100);
    /// So many rounds have events at once before there is a rest: a few events are not yet a stream.
    const PRESSING_MIN: u32 = 4;
    /// A rest is so many times as long as the round before it. With ten subscribers, more gives hardly more events a
    /// second, and half of it a fifth less.
    const REST_RATIO: u32 = 8;
    /// A round that serves fewer subscribers is not worth a rest: its events come together from many publishers as it
    /// is.
    const SERVED_MIN: usize = 2;

    /// How long the next round rests, now that there are events for it; at most so long. Asked once for each round.
    pub(super) fn rest(&mut self, now: Instant, rest_max: Duration) -> Option<Duration> {
        let (ended, took) = self.last.take()?;
        let since = now.saturating_duration_since(ended);
        if since > Self::PRESSING_TIME {
            self.pressing_count = 0;
            return None;
        }
        self.pressing_count = self.pressing_count.saturating_add(1);
        let rest = took.saturating_mul(Self::REST_RATIO).min(rest_max);
        let rest = rest.saturating_sub(since);
        (self.pressing_count >= Self::PRESSING_MIN && !rest.is_zero()).then_some(rest)
    }

    /// So many are served from now on, in a round that begins with them or goes on.
    pub(super) fn serve(&mut self, count: usize, now: Instant) {
        let round = self.under_way.get_or_insert(Round {
            began: now,
            served: 0,
        });
        round.served += count;
    }

    /// All who have called are served.
    pub(super) fn end(&mut self, now: Instant) {
        if let Some(round) = self.under_way.take() {
            let took = match round.served {
                ..Self::SERVED_MIN => Duration::ZERO,
                _ => now.saturating_duration_since(round.began),
            };
            self.last = Some((now, took));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST_MAX: Duration = Duration::from_millis(1);

    /// Time that goes on as it is told to.
    struct Clock(Instant);

    impl Clock {
        fn after(&mut self, micros: u64) -> Instant {
            self.0 += Duration::from_micros(micros);
            self.0
        }
    }

    /// Rests of rounds that serve so many and take so long, each of which has events `gap` after the one before.
    fn rests(count: usize, served: usize, took: u64, gap: u64) -> Vec<Option<u128>> {
        let (mut rounds, mut clock) = (Rounds::default(), Clock(Instant::now()));
        let mut rest = |_| {
            let now = clock.after(gap);
            let rest = rounds.rest(now, REST_MAX);
            clock.0 += rest.unwrap_or_default();
            rounds.serve(served, clock.0);
            rounds.end(clock.after(took));
            rest.map(|rest| rest.as_micros())
        };
        (0..count).map(&mut rest).collect()
    }

    #[test]
    fn the_first_of_many_events_do_not_rest_and_the_others_do_with_what_has_passed_counted() {
        let rests = rests(7, 10, 50, 20);
        assert_eq!(
            rests,
            [None, None, None, None, Some(380), Some(380), Some(380)]
        );
    }

    #[test]
    fn events_that_come_later_than_a_publisher_needs_do_not_rest() {
        assert_eq!(rests(50, 10, 50, 101), [None; 50]);
    }

    #[test]
    fn there_is_a_longest_rest() {
        assert_eq!(rests(9, 1000, 10_000, 1)[5..], [Some(999); 4]);
    }

    #[test]
    fn one_subscriber_alone_is_served_at_once() {
        assert_eq!(rests(50, 1, 10, 5), [None; 50]);
    }

    #[test]
    fn a_pause_of_the_publishers_ends_the_stream() {
        let (mut rounds, mut clock) = (Rounds::default(), Clock(Instant::now()));
        let mut round = |gap| {
            let rest = rounds.rest(clock.after(gap), REST_MAX);
            rounds.serve(10, clock.0);
            rounds.end(clock.after(100));
            rest.is_some()
        };
        let stream = [10, 10, 10, 10, 10, 10, 101, 10, 10, 10, 10];
        let rested = stream.map(&mut round);
        let before = [false, false, false, false, true, true];
        let after = [false, false, false, false, true];
        assert_eq!((&rested[..6], &rested[6..]), (&before[..], &after[..]));
    }

    #[test]
    fn a_round_in_several_turns_is_one() {
        let (mut rounds, mut clock) = (Rounds::default(), Clock(Instant::now()));
        for at in 0..6 {
            let rest = rounds.rest(clock.after(1), REST_MAX);
            assert_eq!(rest.is_some(), at >= 4, "{at}");
            rounds.serve(1, clock.0);
            assert_eq!(rounds.rest(clock.after(10), REST_MAX), None);
            rounds.serve(1, clock.0);
            rounds.end(clock.after(10));
        }
    }

    #[test]
    fn who_wants_no_rests_has_none() {
        let (mut rounds, mut clock) = (Rounds::default(), Clock(Instant::now()));
        for _ in 0..50 {
            assert_eq!(rounds.rest(clock.after(1), Duration::ZERO), None);
            rounds.serve(10, clock.0);
            rounds.end(clock.after(100));
        }
    }
}
