//! The unit that a window notes: an event, or a run of events that one reply answers; and what the reply says.

use std::fmt;
use std::ops::Range;

use floe::InvokeError;
use floe::forwarding::Events;

/// A reply, with the numbers of the events that it answers.
pub(super) type NumberedReply<E> = (Range<u64>, EventReply<<E as Sendable>::Failure>);

/// A reply, or an error in its place.
#[derive(Debug)]
pub(crate) enum EventReply<F> {
    /// All events arrived.
    Returned,
    /// The last event failed. Those before it arrived.
    Threw(F),
    /// No event is answered, because the connection ended.
    Lost(F),
}

impl<F> EventReply<F> {
    /// The reply that a servant gave, or its exception.
    pub(crate) fn of(answer: Result<(), F>) -> Self {
        match answer {
            Ok(()) => Self::Returned,
            Err(failure) => Self::Threw(failure),
        }
    }
}

/// The part of an event, or of a run of events, that a window keeps until its reply comes.
pub(crate) trait Sendable: Sized {
    /// Why they did not arrive.
    type Failure: fmt::Debug;

    /// The bytes of the events.
    fn byte_count(&self) -> usize;

    /// How many events one reply answers.
    #[inline]
    fn count(&self) -> usize {
        1
    }

    /// Removes the last event and returns it, if there are several.
    fn split_last(&mut self) -> Option<Self> {
        None
    }
}

impl Sendable for Events {
    type Failure = InvokeError;

    #[inline]
    fn byte_count(&self) -> usize {
        self.byte_len()
    }

    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    fn split_last(&mut self) -> Option<Self> {
        let last = self.len() - 1;
        if last == 0 {
            return None;
        }
        let others = self.split_to(last);
        Some(std::mem::replace(self, others))
    }
}
