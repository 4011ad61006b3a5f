//! What outlives the process: topics, subscriptions and links. Events and counters do not.
//!
//! - `memory.rs`: nothing does
//! - `disk.rs`: a file
//! - `damage.rs`: reading one that may be damaged
//! - `closed.rs`: the hub has ended

mod closed;
mod damage;
mod disk;
mod memory;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use floe::{Identity, Reference};

pub(crate) use closed::Closed;
pub use damage::is_reading_store;
pub(crate) use disk::Disk;
pub(crate) use memory::Memory;

/// Keeps topics, subscriptions and links.
///
/// When [`Store::apply`] returns, the change is there to stay, or has not happened at all. Callers
/// make sure that changes fit: a subscription is to a topic that exists, and so on.
pub(crate) trait Store: Send {
    /// Everything, topics and what each has in the order of their creation.
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError>;

    /// Makes a change.
    fn apply(&mut self, change: &Change<'_>) -> Result<(), StoreError>;

    /// Whether [`Store::apply`] may take so long that it must not run on a thread that others
    /// wait for.
    fn is_slow(&self) -> bool;
}

/// A change to what is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// A topic is created.
    CreateTopic { topic: &'a str },
    /// A topic is removed with its subscriptions and links.
    DestroyTopic { topic: &'a str },
    /// An object subscribes.
    Subscribe {
        topic: &'a str,
        subscription: &'a StoredSubscription,
    },
    /// A topic is linked to another.
    Link {
        topic: &'a str,
        link: &'a StoredLink,
    },
    /// Subscriptions, or links to topics of these identities, end.
    Unsubscribe {
        topic: &'a str,
        subscribers: &'a [Identity],
    },
}

/// A topic as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) name: String,
    pub(crate) recipients: Vec<StoredRecipient>,
}

/// Who gets the events of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredRecipient {
    Subscription(StoredSubscription),
    Link(StoredLink),
}

/// A subscription as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredSubscription {
    pub(crate) subscriber: Reference,
    pub(crate) qos: BTreeMap<String, String>,
}

/// A link as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLink {
    /// The topic that it leads to.
    pub(crate) topic: Reference,
    /// The receiving end of that topic; none if the topic is in the same hub, whose endpoints may be
    /// others the next time.
    pub(crate) receiver: Option<Reference>,
    pub(crate) cost: i32,
}

/// Why something could not be kept or read.
#[derive(Debug, Clone)]
pub struct StoreError {
    what: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            source: None,
        }
    }

    fn because(
        what: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            source: Some(Arc::new(source)),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for StoreError {}
