//! The entries of a log: the events that are appended, and the stamp of a kept event.

use std::sync::Arc;

use floe::forwarding::Events;

/// A moment: microseconds since the beginning of 1970 (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EventTime(pub u64);

impl EventTime {
    /// The moment that was this long before. It is never below the beginning of 1970.
    #[must_use]
    pub fn before(self, age: std::time::Duration) -> Self {
        let micros = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

/// Events that are appended together: either all of them are kept, or none.
#[derive(Debug, Clone)]
pub struct Append {
    /// Operation, mode, context and parameters of each event, in their encoded form.
    pub events: Events,
    /// When they arrived. The log never goes back in time: if its last event is later, they get the time of that.
    pub time: EventTime,
    /// Their publisher, if it numbers its events.
    pub origin: Option<Origin>,
    /// True if they came over a link, so that they cross no other one.
    pub is_forwarded: bool,
}

/// A publisher that numbers its events, and the number of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The publisher's name, at most [`Origin::NAME_LEN_MAX`] bytes.
    pub publisher: Arc<str>,
    /// The publisher's own number of the event. In an [`Append`], the number of the first; the others follow it.
    pub sequence: u64,
}

impl Origin {
    /// A longer name is refused.
    pub const NAME_LEN_MAX: usize = 255;
}

/// The facts that a log knows about an event, apart from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The number that the log gave the event. The first event of a log has 1; each later one has a higher number.
    pub sequence: u64,
    /// When it arrived.
    pub time: EventTime,
    /// Its publisher, if it numbers its events.
    pub origin: Option<Origin>,
    /// True if it came over a link.
    pub is_forwarded: bool,
}

/// The origin of each event of an append, without end.
pub(crate) fn numbered(origin: Option<Origin>) -> impl Iterator<Item = Option<Origin>> {
    (0..).map(move |at: u64| {
        let origin = origin.as_ref()?;
        Some(Origin {
            publisher: origin.publisher.clone(),
            sequence: origin.sequence.wrapping_add(at),
        })
    })
}
