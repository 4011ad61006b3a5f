//! Decides which events a subscriber gets. A link gets those that its cost lets pass. An event that goes round from hub
//! to hub is lost.

use std::sync::Arc;
use std::time::Instant;

use floe::forwarding::{Event, Events};

use super::Subscriber;
use crate::core::{passing_count, with_next_hop};

impl Subscriber {
    /// Returns true if these events, which came for this subscriber alone, are lost because it has failed.
    pub(crate) fn loses_own(self: &Arc<Self>, events: &Events) -> bool {
        let count = self.passing_count(events);
        let is_lost = self.lock().subscription.loses_own(count as u64);
        if is_lost && self.counts_hops {
            self.handle_looped(events.len() - count, Instant::now());
        }
        is_lost
    }

    /// Passes on the events, for a link only those that may pass.
    pub(super) fn for_each_passing(
        self: &Arc<Self>,
        events: Events,
        now: Instant,
        mut take: impl FnMut(Events),
    ) {
        match self.link() {
            None if self.counts_hops => {
                if let Some(passing) = self.without_loops(&events, now) {
                    take(passing.exclusive());
                }
            }
            None => take(events),
            Some(link) => link.cost().passing(&events).for_each(take),
        }
    }

    /// The number of events, for a link of those that may pass.
    fn passing_count(&self, events: &Events) -> usize {
        match self.link() {
            None if self.counts_hops => passing_count(events),
            None => events.len(),
            Some(link) => link.cost().passing_count(events),
        }
    }

    /// Returns true if events for it may have gone round too often.
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
    fn without_loops(self: &Arc<Self>, events: &Events, now: Instant) -> Option<Events> {
        let passing = with_next_hop(events);
        let passing_count = passing.as_ref().map_or(0, Events::len);
        self.handle_looped(events.len() - passing_count, now);
        passing
    }

    /// This many events have gone round too often.
    fn handle_looped(self: &Arc<Self>, count: usize, now: Instant) {
        if count == 0 {
            return;
        }
        let mut shared = self.lock();
        shared.subscription.handle_looped(count as u64, now);
        let notice = shared.subscription.poll_notice();
        drop(shared);
        if let Some(notice) = notice {
            self.log_notice_and_summaries(notice);
        }
    }
}
