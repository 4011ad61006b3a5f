//! Ends the loops of events that go from hub to hub, and says so once.

use std::sync::atomic::{AtomicBool, Ordering};

use floe::forwarding::Events;

use super::Subscriber;
use crate::core::{HOPS_MAX, counts_hops, with_next_hop};

/// Counts the hops of events for a publisher object.
#[derive(Debug)]
pub(super) struct LoopGuard {
    has_told: AtomicBool,
}

impl LoopGuard {
    /// The guard of a subscriber whose identity has this name; `None` if it is no publisher object.
    pub(super) fn of(name: &str) -> Option<Self> {
        counts_hops(name).then(|| Self {
            has_told: AtomicBool::new(false),
        })
    }

    /// The events that have not gone round too often.
    pub(super) fn passing(&self, events: &Events, subscriber: &Subscriber) -> Option<Events> {
        let passing = with_next_hop(events);
        let left_out = events.len() - passing.as_ref().map_or(0, Events::len);
        if left_out > 0 && !self.has_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "{} gets no events that have passed {HOPS_MAX} hubs: they go round in a loop of subscriptions, which you should end",
                subscriber.log_name()
            );
        }
        passing
    }
}
