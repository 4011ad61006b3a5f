//! Keeps topics, subscriptions and links when the process ends. Events and counters are not kept.
//!
//! - `memory.rs`: keeps nothing
//! - `disk.rs`: keeps them in two files that say the same
//! - `file.rs`: one of these files; `contents.rs` what it says, `format_1.rs` how earlier hubs wrote it
//! - `record.rs`, `codec.rs`: sealed records, and what they say; pure
//! - `damage.rs`: reads a file that may be damaged
//! - `reserve.rs`: space for the time when the disk is full
//! - `closed.rs`: takes the place of a store when the hub has ended

mod closed;
mod codec;
mod contents;
mod damage;
mod disk;
mod file;
mod format_1;
mod memory;
mod record;
mod reserve;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use floe::{Identity, Reference};
use floe_access::Caller;

pub(crate) use closed::Closed;
pub use codec::inspect_store_record;
pub use damage::is_reading_store;
pub(crate) use disk::{Disk, FILES};
pub(crate) use memory::Memory;
#[cfg(test)]
pub(crate) use reserve::faults as full_disk;
pub(crate) use reserve::{Reserve, is_full};

/// Keeps topics, subscriptions and links.
///
/// When [`Store::apply`] returns, the changes are either permanent or have not happened. Callers make sure that changes
/// are consistent: for example, that the topic of a subscription exists.
pub(crate) trait Store: Send {
    /// Loads all topics with their recipients, both in the order of their creation.
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError>;

    /// Makes changes: all of them or none.
    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError>;

    /// Writes all that is kept to a file of its own beside the store, and returns its path. The caller removes it; the next
    /// start does if not. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if nothing is kept, or the system refuses.
    fn copy(&mut self) -> Result<PathBuf, StoreError>;

    /// The problem that keeps it from storing changes, or soon will, as far as it knows. It may wait for the disk.
    fn problem(&mut self) -> Option<String> {
        None
    }

    /// Returns true if [`Store::apply`] may block a thread until other tasks suffer.
    fn is_slow(&self) -> bool;
}

/// A change to what is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// A topic is created, or its record written anew.
    CreateTopic {
        topic: &'a str,
        /// The user who creates it, if the hub knows.
        user: Option<&'a str>,
        /// True if it has a log, so that a log which is gone is noticed.
        is_durable: bool,
    },
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
    /// Subscriptions, or links to topics with these identities, end.
    Unsubscribe {
        topic: &'a str,
        subscribers: &'a [Identity],
    },
}

/// A stored topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) name: String,
    /// The user who created it, if the hub knew.
    pub(crate) user: Option<String>,
    /// True if it has a log. Earlier hubs did not store that.
    pub(crate) is_durable: bool,
    pub(crate) recipients: Vec<StoredRecipient>,
}

/// A stored subscriber or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoredRecipient {
    Subscription(StoredSubscription),
    Link(StoredLink),
}

/// A stored subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredSubscription {
    pub(crate) subscriber: Reference,
    pub(crate) qos: BTreeMap<String, String>,
    /// The user who subscribed it, if the hub knew.
    pub(crate) user: Option<String>,
    /// The caller who has chosen the topic for its dead letters; `None` if nobody has, and for subscriptions of earlier hubs.
    pub(crate) chooser: Option<StoredCaller>,
}

/// A stored link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredLink {
    /// The topic at the other end.
    pub(crate) topic: Reference,
    /// The link receiver of that topic. `None` if the topic is in the same hub, whose endpoints may differ the next
    /// time.
    pub(crate) receiver: Option<Reference>,
    pub(crate) cost: i32,
    /// The caller who made it; `None` for this program itself, and for links that earlier hubs stored.
    pub(crate) maker: Option<StoredCaller>,
}

/// A caller, as far as rules may ask again what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCaller(pub(crate) Arc<Caller>);

/// Why the store failed.
#[derive(Debug, Clone)]
pub struct StoreError {
    what: String,
    is_damage: bool,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            is_damage: false,
            source: None,
        }
    }

    /// That a store on disk does not verify, or lacks something.
    pub(crate) fn damaged(what: String) -> Self {
        Self {
            is_damage: true,
            ..Self::new(what)
        }
    }

    /// Returns true if the store is damaged. A hub then starts with it only if its user accepts the damage.
    pub fn is_damage(&self) -> bool {
        self.is_damage
    }

    /// Returns true if the disk is full.
    pub(crate) fn is_full(&self) -> bool {
        let Some(source) = &self.source else {
            return false;
        };
        let source: &(dyn std::error::Error + 'static) = &**source;
        let of_system = source.downcast_ref::<std::io::Error>();
        of_system.is_some_and(is_full)
            || matches!(source.downcast_ref(), Some(redb::Error::Io(error)) if is_full(error))
    }

    pub(crate) fn because(
        what: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            is_damage: false,
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
