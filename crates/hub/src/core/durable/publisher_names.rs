//! How many publishers with numbered events all topics of a hub remember together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit that all topics share. Each remembered publisher takes about half a kilobyte, and the publishers choose how many
/// there are.
#[derive(Debug)]
pub(crate) struct PublisherNames {
    used: AtomicUsize,
    max: AtomicUsize,
}

/// A topic remembers this many publishers, whatever the others have: those of other topics cannot take them away.
pub(crate) const OF_TOPIC_MIN: usize = 100;

impl PublisherNames {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            max: AtomicUsize::new(max),
        }
    }

    /// Changes the limit. If more are remembered now, topics give places back when other publishers come.
    pub(crate) fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    /// How many publishers are remembered.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes a place for a topic that remembers this many publishers. Returns false if there is none for it.
    pub(super) fn take(&self, of_topic: usize) -> bool {
        let max = self.max.load(Ordering::Relaxed);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < max || of_topic < OF_TOPIC_MIN).then_some(used + 1)
            });
        taken.is_ok()
    }

    /// Gives places back.
    pub(super) fn give_back(&self, count: usize) {
        self.used.fetch_sub(count, Ordering::Relaxed);
    }
}
