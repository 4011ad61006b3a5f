//! The lifespan of an event: how long it is worth delivering.

use std::time::{Duration, Instant};
use std::vec;

use floe::forwarding::Events;

use super::context::{may_have_context, value_of};
use super::log::EventTime;
use super::wishes::positive_milliseconds;

/// The context key with which a publisher says for how many milliseconds an event is worth delivering.
pub(crate) const LIFESPAN_KEY: &str = "floe.lifespan";

/// When events came, and until when they are worth delivering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) came: Instant,
    /// `None` if that is beyond the range of the clock, or they have no lifespan.
    pub(crate) expires: Option<Instant>,
}

impl Timing {
    pub(crate) fn new(came: Instant, lifespan: Option<Duration>) -> Self {
        Self {
            came,
            expires: lifespan.and_then(|lifespan| came.checked_add(lifespan)),
        }
    }

    /// Returns the timing for a subscriber that wants no older events than this.
    pub(crate) fn within(self, lifespan: Option<Duration>) -> Self {
        let own = Self::new(self.came, lifespan).expires;
        Self {
            expires: [self.expires, own].into_iter().flatten().min(),
            ..self
        }
    }

    /// Returns the timing of events that count as having come at this time.
    pub(crate) fn at(self, came: Instant) -> Self {
        Self { came, ..self }
    }

    /// Returns true if the events have expired.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl From<Instant> for Timing {
    fn from(came: Instant) -> Self {
        Self::new(came, None)
    }
}

/// The lifespan in the context of an event, if it has one.
///
/// # Errors
/// What is wrong with the entry, for the publisher.
pub(crate) fn lifespan_of(event: &[u8]) -> Result<Option<Duration>, String> {
    if !may_have_context(event) {
        return Ok(None);
    }
    let Some(value) = value_of(event, LIFESPAN_KEY) else {
        return Ok(None);
    };
    positive_milliseconds(&String::from_utf8_lossy(value))
        .map(Some)
        .map_err(|reason| format!("invalid {LIFESPAN_KEY}: {reason}"))
}

/// Returns true if an event of a log has expired. `lifespans` are all that apply; the shortest counts.
pub(crate) fn is_over(
    time: EventTime,
    lifespans: impl IntoIterator<Item = Option<Duration>>,
    now: EventTime,
) -> bool {
    let shortest = lifespans.into_iter().flatten().min();
    shortest.is_some_and(|lifespan| time <= now.before(lifespan))
}

/// Divides events into groups of equal lifespans. Usually no event has a context. Then all stay together without a look
/// at their contents.
#[derive(Debug)]
pub(crate) struct ByLifespan {
    rest: Option<Events>,
    /// The lifespan that each event gives; empty if none gives one.
    said: vec::IntoIter<Option<Duration>>,
    /// The lifespan of events that give none.
    default: Option<Duration>,
}

impl ByLifespan {
    /// An event with an invalid entry counts as one without an entry. The error describes the last of these.
    pub(crate) fn new(events: Events, default: Option<Duration>) -> (Self, Result<(), String>) {
        let (mut said, mut result) = (Vec::new(), Ok(()));
        if events.iter().any(may_have_context) {
            for event in events.iter() {
                said.push(lifespan_of(event).unwrap_or_else(|error| {
                    result = Err(error);
                    None
                }));
            }
        }
        let divided = Self {
            rest: Some(events),
            said: said.into_iter(),
            default,
        };
        (divided, result)
    }
}

/// Events, and their lifespan.
impl Iterator for ByLifespan {
    type Item = (Events, Option<Duration>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut events = self.rest.take()?;
        let said = self.said.as_slice();
        let Some(first) = said.first().copied() else {
            return Some((events, self.default));
        };
        let count = said.iter().take_while(|said| **said == first).count();
        if count < events.len() {
            let front = events.split_to(count);
            self.rest = Some(std::mem::replace(&mut events, front));
            self.said.nth(count - 1);
        }
        Some((events, first.or(self.default)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::events_with_contexts as events;

    fn divided(contexts: &[&[(&str, &str)]], default: Option<u64>) -> Vec<(usize, Option<u128>)> {
        let (parts, result) =
            ByLifespan::new(events("tick", contexts), default.map(Duration::from_millis));
        result.expect("all is right");
        let shown = |(events, lifespan): (Events, Option<Duration>)| {
            (events.len(), lifespan.map(|it| it.as_millis()))
        };
        parts.map(shown).collect()
    }

    #[test]
    fn events_are_divided_where_their_lifespans_differ() {
        let (short, long) = (&[(LIFESPAN_KEY, "5")][..], &[(LIFESPAN_KEY, "9000")][..]);
        let all = [&[][..], short, short, &[("colour", "blue")], long];
        assert_eq!(
            divided(&all, None),
            [(1, None), (2, Some(5)), (1, None), (1, Some(9000))]
        );
        assert_eq!(
            divided(&all, Some(7)),
            [(1, Some(7)), (2, Some(5)), (1, Some(7)), (1, Some(9000))]
        );
        assert_eq!(divided(&[&[], &[]], None), [(2, None)]);
        assert_eq!(divided(&[&[], &[]], Some(3)), [(2, Some(3))]);
    }

    #[test]
    fn events_that_differ_one_by_one_are_divided_without_a_move_of_those_behind() {
        let contexts = [&[][..], &[(LIFESPAN_KEY, "1")]].repeat(100_000);
        let events = events("tick", &contexts);
        // Moving all remaining events for each of them takes more than ten seconds.
        let begin = Instant::now();
        let (parts, _) = ByLifespan::new(events, None);
        assert_eq!(parts.count(), contexts.len());
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "it took {took:?}");
    }

    #[test]
    fn a_context_is_noticed_behind_an_operation_of_any_length() {
        for len in [0, 1, 254, 255, 300] {
            let operation = "o".repeat(len);
            let of = |context: &[(&str, &str)]| {
                let events = events(&operation, &[context]);
                let first = events.iter().next().expect("one event").to_vec();
                (may_have_context(&first), lifespan_of(&first))
            };
            assert_eq!(of(&[]), (false, Ok(None)));
            let lifespan = Ok(Some(Duration::from_millis(8)));
            assert_eq!(of(&[("a", "b"), (LIFESPAN_KEY, "8")]), (true, lifespan));
        }
        assert!(!may_have_context(&[]));
        assert_eq!(lifespan_of(b"\xff\xff\xff\xff\xff"), Ok(None));
    }

    #[test]
    fn a_wrong_value_is_told_and_its_event_has_no_lifespan() {
        for wrong in ["", "0", "-1", "5s", "99999999999999999999"] {
            let contexts = [&[(LIFESPAN_KEY, wrong)][..], &[]];
            let (parts, result) = ByLifespan::new(events("tick", &contexts), None);
            let expected =
                format!("invalid floe.lifespan: expected milliseconds, at least 1, got {wrong:?}");
            assert_eq!(result, Err(expected));
            let parts: Vec<_> = parts.map(|(events, it)| (events.len(), it)).collect();
            assert_eq!(parts, [(2, None)]);
        }
    }

    #[test]
    fn the_shortest_lifespan_counts_and_one_beyond_the_clock_never_ends() {
        let now = Instant::now();
        let ms = |count| Some(Duration::from_millis(count));
        let timing = Timing::new(now, ms(5)).within(ms(3));
        assert!(!timing.is_over(now + Duration::from_millis(2)));
        assert!(timing.is_over(now + Duration::from_millis(3)));
        assert_eq!(
            Timing::new(now, ms(5)).within(None),
            Timing::new(now, ms(5))
        );
        assert_eq!(Timing::new(now, Some(Duration::MAX)), Timing::from(now));
        let over = |now| is_over(EventTime(1000), [None, ms(2), ms(9)], EventTime(now));
        assert!(!over(2999) && over(3000));
        assert!(!is_over(EventTime(1), [None], EventTime(u64::MAX)));
        assert!(!is_over(
            EventTime(1),
            [Some(Duration::MAX)],
            EventTime(u64::MAX - 1)
        ));
    }
}
