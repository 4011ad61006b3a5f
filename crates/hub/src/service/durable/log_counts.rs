//! How many logs are open, for the limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::core::durable::PublisherNames;
use crate::service::user_accounts::{Counted, UserAccounts, UserName};

/// How many logs there are on disk, and how many durable subscriptions they have.
#[derive(Debug)]
pub(crate) struct LogCounts {
    topics: AtomicUsize,
    subscriptions: AtomicUsize,
    /// The publishers that all topics remember, those without a log on disk included.
    publishers: Arc<PublisherNames>,
    /// The subscriptions of each user.
    users: Arc<UserAccounts>,
}

impl LogCounts {
    pub(super) fn new(users: Arc<UserAccounts>, publishers_max: usize) -> Self {
        Self {
            publishers: Arc::new(PublisherNames::new(publishers_max)),
            topics: AtomicUsize::new(0),
            subscriptions: AtomicUsize::new(0),
            users,
        }
    }

    pub(crate) fn topics(&self) -> usize {
        self.topics.load(Ordering::Relaxed)
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions.load(Ordering::Relaxed)
    }

    pub(crate) fn publishers(&self) -> &Arc<PublisherNames> {
        &self.publishers
    }

    pub(super) fn add_topic(&self) {
        self.topics.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_topic(&self) {
        self.topics.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn add_subscription(&self, user: Option<&UserName>) {
        self.subscriptions.fetch_add(1, Ordering::Relaxed);
        self.users.add(Counted::DurableSubscriptions, user);
    }

    pub(super) fn remove_subscription(&self, user: Option<&UserName>) {
        self.subscriptions.fetch_sub(1, Ordering::Relaxed);
        self.users.remove(Counted::DurableSubscriptions, user);
    }
}
