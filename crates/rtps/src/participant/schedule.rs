//! Which endpoints may have something to send, and when the others will.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Instant;

use crate::guid::EntityId;

/// The turns and the timers of the endpoints.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    ready: BTreeSet<EntityId>,
    served: Option<EntityId>,
    times: BTreeMap<EntityId, Instant>,
    timers: BTreeSet<(Instant, EntityId)>,
}

impl Schedule {
    /// Sets the timer of an endpoint.
    pub(super) fn set(&mut self, id: EntityId, time: Option<Instant>) {
        let before = match time {
            Some(time) => self.times.insert(id, time),
            None => self.times.remove(&id),
        };
        if before == time {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, id));
        }
        if let Some(time) = time {
            self.timers.insert((time, id));
        }
    }

    pub(super) fn make_ready(&mut self, id: EntityId) {
        self.ready.insert(id);
    }

    pub(super) fn remove(&mut self, id: EntityId) {
        self.set(id, None);
        self.ready.remove(&id);
    }

    /// The endpoint whose turn it is.
    pub(super) fn turn(&mut self) -> Option<EntityId> {
        let after = self.served.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.ready.range((after, Bound::Unbounded)).next();
        let id = later.or_else(|| self.ready.first()).copied();
        self.served = id;
        id
    }

    /// It has nothing to send.
    pub(super) fn rest(&mut self, id: EntityId) {
        self.ready.remove(&id);
    }

    pub(super) fn next_time(&self) -> Option<Instant> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// The endpoints whose time has come.
    pub(super) fn due(&self, now: Instant) -> Vec<EntityId> {
        let due = self.timers.iter().take_while(|(time, _)| *time <= now);
        due.map(|(_, id)| *id).collect()
    }
}
