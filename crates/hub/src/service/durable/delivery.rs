//! The messages between a reader and the delivery tasks of its subscribers.

use std::pin::Pin;
use std::time::Instant;

use floe::forwarding::Event;

use crate::core::durable::MissingEvents;
use crate::core::log::EventTime;

/// An event that is to be delivered.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// Its number in the log.
    pub(crate) sequence: u64,
    /// When the hub got it.
    pub(crate) time: EventTime,
    /// Which attempt this is, from 1.
    pub(crate) attempt: u32,
    /// True if it came over a link.
    pub(crate) is_forwarded: bool,
    /// Its bytes.
    pub(crate) event: Event,
}

/// The next step of a delivery task.
#[derive(Debug)]
pub(crate) enum Batch {
    /// It delivers these.
    Deliver(Vec<Delivery>),
    /// It reads from the log, with [`Reader::read`].
    Read(ToRead),
    /// It counts this many events as expired, and polls again.
    Expired(u64),
    /// It waits for [`Reader::changed`], or for this time.
    Wait(Option<Instant>),
}

/// A read from the log that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToRead {
    /// The next events.
    Next {
        /// From this sequence.
        from: u64,
        /// The number of the feed that they are for.
        feed_number: u64,
    },
    /// An event that is delivered again.
    Again {
        /// Its sequence.
        sequence: u64,
        /// Which attempt this is.
        attempt: u32,
    },
    /// A pending event of a sticky subscription.
    Sticky {
        /// Its sequence.
        sequence: u64,
        /// True if a member gets it now. If false, it is read for its key.
        is_wanted: bool,
    },
}

/// The sequence at which the log had no events yet, and a future that ends when it has.
pub(crate) type Readable = (u64, Pin<Box<dyn Future<Output = ()> + Send>>);

/// The result of a read.
#[derive(Debug)]
pub(crate) enum HasRead {
    /// There are events to deliver, or were: the task asks again.
    Events,
    /// As `Events`, behind events that the log does not have any more.
    AfterLoss(MissingEvents),
    /// An event to deliver again.
    Again(Delivery),
    /// The lifespan of an event that was to be delivered again is over.
    Expired,
    /// There is nothing to read from this sequence yet.
    Nothing(u64),
}
