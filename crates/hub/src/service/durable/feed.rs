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
}

impl Feed {
    /// Begins at this sequence.
    pub(super) fn new(next: u64) -> Self {
        Self {
            events: VecDeque::new(),
            next,
            number: 0,
            is_reading: false,
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

    /// Begins anew at another sequence.
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
        self.is_reading = true;
        Some(ToRead::Next {
            from: self.next,
            feed_number: self.number,
        })
    }

    /// A read for the feed with this number has ended. Returns false if that is of no use any more.
    pub(super) fn end_read(&mut self, number: u64) -> bool {
        let is_current = number == self.number;
        if is_current {
            self.is_reading = false;
        }
        is_current
    }

    /// Adds what was read, up to the sequence `next`.
    pub(super) fn extend(&mut self, read: impl Iterator<Item = (Stamp, Event)>, next: u64) {
        self.events.extend(read);
        self.next = next;
    }
}
