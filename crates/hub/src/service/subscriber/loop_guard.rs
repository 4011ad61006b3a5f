//! Ends the loops of events that go from hub to hub, and counts the events.

use std::sync::Arc;
use std::time::Instant;

use floe::forwarding::{Event, Events};

use super::Subscriber;
use crate::core::with_next_hop;

impl Subscriber {
    /// Whether events for it may have gone round too often.
    pub(crate) fn has_loop_guard(&self) -> bool {
        self.counts_hops
    }

    /// An event from the log as it may be sent; `None` if it has gone round too often.
    pub(crate) fn with_next_hop(self: &Arc<Self>, event: Event) -> Option<Event> {
        match self.counts_hops {
            false => Some(event),
            true => {
                let passing = self.without_loops(&event.into(), Instant::now())?;
                passing.each().next()
            }
        }
    }

    /// The events that have not gone round too often, with their counts raised. The others count as lost.
    pub(super) fn without_loops(self: &Arc<Self>, events: &Events, now: Instant) -> Option<Events> {
        let passing = with_next_hop(events);
        let passing_count = passing.as_ref().map_or(0, Events::len);
        self.handle_looped(events.len() - passing_count, now);
        passing
    }

    /// This many events have gone round too often.
    pub(super) fn handle_looped(self: &Arc<Self>, count: usize, now: Instant) {
        if count == 0 {
            return;
        }
        let mut shared = self.lock();
        shared.subscription.handle_looped(count as u64, now);
        let notice = shared.subscription.poll_notice();
        drop(shared);
        self.log_notice_and_summaries(notice);
    }
}
