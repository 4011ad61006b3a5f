//! Pull points and subscriptions, until they end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::pull_point::PullPoint;

/// The most pull points. Each holds a queue of the hub for each of its subscriptions.
pub(super) const PULL_POINT_MAX: usize = 1000;
/// The most subscriptions.
pub(super) const SUBSCRIPTION_MAX: usize = 1000;

/// All pull points and subscriptions, by the ids in their URLs.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    pull_points: HashMap<String, Arc<PullPoint>>,
    subscriptions: HashMap<String, Subscription>,
}

/// A subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) until: Instant,
    pub(super) end: End,
    /// For lists.
    pub(super) peer: String,
}

/// How a subscription is ended: by dropping this.
#[derive(Debug)]
pub(super) enum End {
    /// Its events are pushed by a task.
    Task(AbortHandle),
    /// It is one of a pull point.
    Source {
        id: String,
        pull_point: Arc<PullPoint>,
    },
}

impl Drop for End {
    fn drop(&mut self) {
        match self {
            Self::Task(task) => task.abort(),
            Self::Source { id, pull_point } => pull_point.remove(id),
        }
    }
}

impl Leases {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a pull point; false if there are too many.
    pub(super) fn add_pull_point(&self, id: &str, pull_point: Arc<PullPoint>) -> bool {
        let mut held = self.held();
        let has_room = held.pull_points.len() < PULL_POINT_MAX;
        if has_room {
            held.pull_points.insert(id.to_owned(), pull_point);
        }
        has_room
    }

    pub(super) fn pull_point(&self, id: &str) -> Option<Arc<PullPoint>> {
        self.held().pull_points.get(id).cloned()
    }

    /// Ends a pull point with its subscriptions; false if there is none.
    pub(super) fn end_pull_point(&self, id: &str) -> bool {
        let mut held = self.held();
        let Some(ended) = held.pull_points.remove(id) else {
            return false;
        };
        held.end_subscriptions_of(&ended);
        true
    }

    /// True if one more subscription may come.
    pub(super) fn has_room(&self) -> bool {
        self.held().subscriptions.len() < SUBSCRIPTION_MAX
    }

    /// Adds a subscription. If there are too many, it ends at once, and the answer is false.
    pub(super) fn add_subscription(&self, id: &str, subscription: Subscription) -> bool {
        let mut held = self.held();
        let has_room = held.subscriptions.len() < SUBSCRIPTION_MAX;
        if has_room {
            held.subscriptions.insert(id.to_owned(), subscription);
        }
        has_room
    }

    /// Extends a lease; false if there is none.
    pub(super) fn renew(&self, id: &str, until: Instant) -> bool {
        let mut held = self.held();
        let subscription = held.subscriptions.get_mut(id);
        let is_there = subscription.is_some();
        if let Some(subscription) = subscription {
            subscription.until = until;
        }
        is_there
    }

    /// The end of a lease.
    pub(super) fn until(&self, id: &str) -> Option<Instant> {
        self.held().subscriptions.get(id).map(|it| it.until)
    }

    /// Ends a subscription; false if there is none.
    pub(super) fn end_subscription(&self, id: &str) -> bool {
        self.held().subscriptions.remove(id).is_some()
    }

    /// Ends whatever has had its time: subscriptions whose lease is over, and pull points that nobody has used for so long.
    pub(super) fn sweep(&self, now: Instant, idle_max: Duration) {
        let mut held = self.held();
        held.subscriptions.retain(|_, it| it.until > now);
        let idle: Vec<String> = held
            .pull_points
            .iter()
            .filter(|(_, it)| it.idle() > idle_max)
            .map(|(id, _)| id.clone())
            .collect();
        for id in idle {
            if let Some(ended) = held.pull_points.remove(&id) {
                held.end_subscriptions_of(&ended);
            }
        }
    }

    /// Ends everything.
    pub(super) fn clear(&self) {
        let mut held = self.held();
        held.subscriptions.clear();
        held.pull_points.clear();
    }

    /// Some of the programs that have subscriptions, and how many subscriptions there are.
    pub(super) fn peers(&self, max: usize) -> (Vec<String>, usize) {
        let held = self.held();
        let peers = held.subscriptions.values().take(max);
        (
            peers.map(|it| it.peer.clone()).collect(),
            held.subscriptions.len(),
        )
    }
}

impl Held {
    fn end_subscriptions_of(&mut self, ended: &Arc<PullPoint>) {
        self.subscriptions.retain(|_, it| match &it.end {
            End::Source { pull_point, .. } => !Arc::ptr_eq(pull_point, ended),
            End::Task(_) => true,
        });
    }
}
