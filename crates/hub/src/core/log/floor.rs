//! The first event that a log keeps, which may lie within a segment: files are removed as a whole, but readers see no event that
//! the retention has dropped.

use super::EventTime;
use super::catalog::{Catalog, Segment};
use super::retention::NewestEvents;

/// Where the kept events of a log begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Floor {
    /// No event with a lower sequence is kept.
    pub(crate) sequence: u64,
    /// How many events lie before it in its segment.
    passed: u64,
}

/// Where a log is to begin: within a segment that lacks events, so that only a look at its records tells the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownFloor {
    /// The first sequence of the segment.
    pub(crate) segment: u64,
    /// How many of its events are not kept.
    pub(crate) passed: u64,
}

impl Segment {
    /// Returns true if it holds each event from its first to its last sequence.
    pub(crate) fn is_whole(&self) -> bool {
        self.events == self.next - self.first
    }

    /// How many of its events are not kept.
    fn passed(&self, floor: &Floor) -> u64 {
        match floor.sequence {
            sequence if sequence >= self.next => self.events,
            // A failed sync may have lost the last of them.
            sequence if sequence > self.first => floor.passed.min(self.events),
            _ => 0,
        }
    }
}

impl Catalog {
    /// How many events are kept.
    pub(crate) fn events(&self) -> u64 {
        let kept = self.segments.iter();
        kept.map(|segment| segment.events - segment.passed(&self.floor))
            .sum()
    }

    /// The lowest sequence that may be kept. It is `next` if no event is kept.
    pub(crate) fn first(&self) -> u64 {
        let mut segments = self.segments.iter();
        let first = segments.find(|it| it.events > it.passed(&self.floor));
        first.map_or(self.next, |it| it.first.max(self.floor.sequence))
    }

    /// Drops the oldest events if there are more than the log keeps. If a segment that lacks events must be looked at for
    /// that, it says so; the caller then calls [`Catalog::set_floor`], and meanwhile these few events stay.
    pub(crate) fn drop_surplus(&mut self) -> Option<UnknownFloor> {
        let mut surplus = self.events().saturating_sub(self.events_max?);
        let floor = self.floor;
        let of_floor = self
            .segments
            .partition_point(|it| it.next <= floor.sequence);
        for segment in self.segments.iter().skip(of_floor) {
            if surplus == 0 {
                return None;
            }
            let passed = segment.passed(&floor);
            let left = segment.events - passed;
            if left <= surplus {
                surplus -= left;
                self.floor = Floor {
                    sequence: segment.next,
                    passed: 0,
                };
                continue;
            }
            let passed = passed + surplus;
            if !segment.is_whole() {
                let segment = segment.first;
                return Some(UnknownFloor { segment, passed });
            }
            self.floor = Floor {
                sequence: segment.first + passed,
                passed,
            };
            return None;
        }
        None
    }

    /// The events before this one, which so many of its segment precede, are no longer kept.
    pub(crate) fn set_floor(&mut self, sequence: u64, of: UnknownFloor) {
        if sequence > self.floor.sequence && self.segment(of.segment).is_some() {
            let passed = of.passed;
            self.floor = Floor { sequence, passed };
        }
    }

    /// The events before this one are too old. If it lies within a segment that lacks events, some of them stay until the
    /// whole segment goes.
    pub(crate) fn drop_before(&mut self, sequence: u64) {
        let at = self.segments.partition_point(|it| it.next <= sequence);
        let passed = match self.segments.get(at) {
            Some(segment) if !segment.is_whole() || sequence < segment.first => return,
            Some(segment) => sequence - segment.first,
            None => 0,
        };
        if sequence > self.floor.sequence {
            self.floor = Floor { sequence, passed };
        }
    }

    /// The kept events from a sequence on. Their bytes, and the time of the first, are those that they have if all events of a
    /// segment are alike.
    pub(crate) fn held_from(&self, from: u64) -> NewestEvents {
        let from = from.max(self.first());
        let mut held = NewestEvents::default();
        for segment in self.segments.iter().filter(|it| it.next > from) {
            let (len, all) = (segment.next - segment.first, segment.events);
            let before = from.saturating_sub(segment.first);
            let share = |of: u64| {
                let share = u128::from(of) * u128::from(len - before) / u128::from(len.max(1));
                u64::try_from(share).unwrap_or(of)
            };
            if all > 0 && held.since.is_none() {
                let span = segment.last_time.0.saturating_sub(segment.first_time.0);
                held.since = Some(EventTime(segment.last_time.0 - share(span)));
            }
            held.events += share(all);
            held.bytes += share(segment.file_len());
        }
        held
    }

    /// A segment was dropped, the oldest.
    pub(crate) fn handle_dropped(&mut self, segment: &Segment) {
        if segment.next > self.floor.sequence {
            self.floor = Floor {
                sequence: segment.next,
                passed: 0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::segment::Header;
    use super::*;

    /// A catalog with segments of these first sequences, sequences after the last, and numbers of events.
    fn catalog(segments: &[(u64, u64, u64)]) -> Catalog {
        let created = |&(first, next, events)| {
            let header = Header {
                first,
                follows: first,
                created: Default::default(),
                salt: 0,
            };
            Segment {
                next,
                events,
                ..Segment::created(&header)
            }
        };
        let segments: VecDeque<_> = segments.iter().map(created).collect();
        let next = segments.back().map_or(1, |last| last.next);
        Catalog {
            segments,
            next,
            synced: next,
            floor: Floor::default(),
            events_max: None,
        }
    }

    #[test]
    fn the_newest_events_are_kept_whatever_segment_they_are_in() {
        for max in 0..=30 {
            let mut catalog = catalog(&[(1, 11, 10), (11, 12, 1), (12, 12, 0), (12, 26, 14)]);
            catalog.events_max = Some(max);
            assert_eq!(catalog.drop_surplus(), None);
            let kept = max.min(25);
            assert_eq!(
                (catalog.events(), catalog.first()),
                (kept, 26 - kept),
                "{max}"
            );
        }
    }

    #[test]
    fn a_segment_that_lacks_events_is_looked_at() {
        let mut catalog = catalog(&[(1, 11, 10), (11, 101, 20), (101, 106, 5)]);
        catalog.events_max = Some(12);
        let unknown = catalog.drop_surplus().expect("it has holes");
        assert_eq!((unknown.segment, unknown.passed), (11, 13));
        assert_eq!(catalog.events(), 25, "until it is known, they stay");
        catalog.set_floor(77, unknown);
        assert_eq!((catalog.events(), catalog.first()), (12, 77));
        catalog.events_max = Some(4);
        assert_eq!(catalog.drop_surplus(), None);
        assert_eq!((catalog.events(), catalog.first()), (4, 102));
        let oldest = catalog.segments.pop_front().expect("there are three");
        catalog.handle_dropped(&oldest);
        assert_eq!((catalog.events(), catalog.first()), (4, 102));
    }

    #[test]
    fn the_events_from_a_sequence_on_are_counted_as_if_all_of_a_segment_were_alike() {
        let mut catalog = catalog(&[(1, 11, 10), (11, 21, 10), (21, 26, 5)]);
        for (at, segment) in catalog.segments.iter_mut().enumerate() {
            (segment.records_end, segment.first_time) = (1000, EventTime(100 * at as u64));
            segment.last_time = EventTime(100 * at as u64 + 100);
        }
        let held = |from| {
            let held = catalog.held_from(from);
            (held.events, held.bytes, held.since.map(|it| it.0))
        };
        assert_eq!(held(0), (25, 3000, Some(0)));
        assert_eq!(held(6), (20, 2500, Some(50)));
        assert_eq!(held(21), (5, 1000, Some(200)));
        assert_eq!(held(26), (0, 0, None));
    }

    #[test]
    fn events_that_are_too_old_go_where_none_is_missing() {
        let mut catalog = catalog(&[(1, 11, 10), (11, 101, 20), (101, 106, 5)]);
        catalog.drop_before(4);
        assert_eq!((catalog.events(), catalog.first()), (32, 4));
        catalog.drop_before(50);
        assert_eq!((catalog.events(), catalog.first()), (32, 4));
        catalog.drop_before(103);
        assert_eq!((catalog.events(), catalog.first()), (3, 103));
        catalog.drop_before(2);
        assert_eq!(catalog.first(), 103, "what is gone stays gone");
        catalog.drop_before(106);
        assert_eq!((catalog.events(), catalog.first()), (0, 106));
    }
}
