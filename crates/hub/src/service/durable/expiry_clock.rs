//! Which events of a log are too old for the subscribers of a durable subscription.

use std::collections::VecDeque;
use std::time::Duration;

use floe::forwarding::Event;

use crate::core::log::{EventTime, Stamp};
use crate::core::{is_over, lifespan_of};

/// Says which events of the log have expired.
#[derive(Debug)]
pub(crate) struct ExpiryClock {
    now: EventTime,
    /// The lifespan of events whose publishers give none.
    of_topic: Option<Duration>,
    /// The age of the oldest events that the subscribers want.
    of_subscribers: Option<Duration>,
}

impl ExpiryClock {
    pub(super) fn new(of_topic: Option<Duration>, of_subscribers: Option<Duration>) -> Self {
        Self {
            now: EventTime::now(),
            of_topic,
            of_subscribers,
        }
    }

    /// Returns true if the lifespan of an event is over.
    pub(crate) fn is_over(&self, stamp: &Stamp, event: &Event) -> bool {
        // An event with a wrong lifespan was refused, or came from an older hub.
        let own = lifespan_of(event.as_bytes()).ok().flatten();
        let lifespans = [own.or(self.of_topic), self.of_subscribers];
        is_over(stamp.time, lifespans, self.now)
    }

    /// Returns true if the first of these events has expired.
    pub(super) fn is_over_first(&self, feed: &VecDeque<(Stamp, Event)>) -> bool {
        let first = feed.front();
        first.is_some_and(|(stamp, event)| self.is_over(stamp, event))
    }
}
