//! The events that a reader has read and not delivered yet.

use std::collections::VecDeque;

use floe::forwarding::Event;

use super::delivery::ToRead;
use crate::core::log::Stamp;

/// The next events of a log, as far as they were read.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) events: VecDeque<(Stamp, Event)>,
    /// The sequence from which to read next.
    next: u64,
    /// Changes when the position is set: a read that began before that is of no use.
    number: u64,
    is_reading: bool,
    /// The sequence from which the last read began that brought events.
    last_from: u64,
    /// Missing events follow the waiting ones, as a read ahead has found.
    has_gap: bool,
}

impl Feed {
    /// Begins at this sequence.
    pub(super) fn new(next: u64) -> Self {
        Self {
            events: VecDeque::new(),
            next,
            number: 0,
            is_reading: false,
            last_from: next,
            has_gap: false,
        }
    }

    /// The sequence from which to read next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// A number that changes when the position is set.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes of the events.
    pub(super) fn byte_len(&self) -> usize {
        self.events.iter().map(|(_, event)| event.len()).sum()
    }

    /// Continues at another sequence, with nothing read yet.
    pub(super) fn set(&mut self, next: u64) {
        *self = Self {
            number: self.number + 1,
            ..Self::new(next)
        };
    }

    /// Begins to read, if there are no events and no other task reads.
    pub(super) fn begin_read(&mut self) -> Option<ToRead> {
        if self.is_reading || !self.events.is_empty() {
            return None;
        }
        self.has_gap = false;
        Some(self.begin())
    }

    /// Begins to read while the events of the last read wait, if no other task reads. So the feed holds the events of
    /// at most two reads.
    pub(super) fn begin_read_ahead(&mut self) -> Option<ToRead> {
        let Some((first, _)) = self.events.front() else {
            return self.begin_read();
        };
        let may_read = !self.is_reading && !self.has_gap && first.sequence >= self.last_from;
        may_read.then(|| self.begin())
    }

    fn begin(&mut self) -> ToRead {
        self.is_reading = true;
        ToRead::Next {
            from: self.next,
            feed_number: self.number,
        }
    }

    /// A read for the feed with this number has ended. Returns false if its events are no longer wanted.
    pub(super) fn end_read(&mut self, number: u64) -> bool {
        let is_current = number == self.number;
        if is_current {
            self.is_reading = false;
        }
        is_current
    }

    /// Adds the events of a read, up to the sequence `next`.
    pub(super) fn extend(&mut self, read: impl Iterator<Item = (Stamp, Event)>, next: u64) {
        self.events.extend(read);
        self.last_from = self.next;
        self.next = next;
    }

    /// Notes that the next events are missing. Returns true if other events wait before them. The events of this read
    /// are then dropped, and the gap is found again when the waiting ones have gone.
    pub(super) fn defer_gap(&mut self) -> bool {
        self.has_gap = !self.events.is_empty();
        self.has_gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::EventTime;
    use crate::core::tests::events_with_contexts;

    /// Adds events up to the sequence `next`, as a read does.
    fn read(feed: &mut Feed, next: u64) {
        let event = events_with_contexts("read", &[&[]]).each().next();
        let event = event.expect("there is one");
        let read = (feed.next()..next).map(|sequence| {
            let (time, origin) = (EventTime(0), None);
            let stamp = Stamp {
                is_forwarded: false,
                sequence,
                time,
                origin,
            };
            (stamp, event.clone())
        });
        assert!(feed.end_read(0));
        feed.extend(read, next);
    }

    #[test]
    fn the_events_of_two_reads_are_held_at_most() {
        let mut feed = Feed::new(1);
        assert!(feed.begin_read_ahead().is_some());
        assert!(feed.begin_read().is_none() && feed.begin_read_ahead().is_none());
        read(&mut feed, 11);
        assert!(feed.begin_read().is_none());
        assert!(matches!(
            feed.begin_read_ahead(),
            Some(ToRead::Next { from: 11, .. })
        ));
        read(&mut feed, 16);
        for sequence in 1..11 {
            assert!(feed.begin_read_ahead().is_none(), "{sequence}");
            feed.events.pop_front();
        }
        assert!(matches!(
            feed.begin_read_ahead(),
            Some(ToRead::Next { from: 16, .. })
        ));
        assert!(feed.begin_read_ahead().is_none());
    }

    #[test]
    fn events_that_wait_come_before_a_gap() {
        let mut feed = Feed::new(1);
        assert!(!feed.defer_gap());
        feed.begin_read();
        read(&mut feed, 3);
        feed.begin_read_ahead();
        assert!(feed.end_read(0) && feed.defer_gap());
        assert!(feed.begin_read_ahead().is_none(), "the gap is known");
        feed.events.clear();
        assert!(matches!(
            feed.begin_read(),
            Some(ToRead::Next { from: 3, .. })
        ));
        assert!(!feed.defer_gap());
    }
}
