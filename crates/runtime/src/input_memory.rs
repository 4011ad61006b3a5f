//! Memory of the unfinished messages of all connections of a communicator.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that unfinished messages hold now.
#[derive(Debug, Default)]
pub(crate) struct InputMemory {
    used: AtomicUsize,
}

impl InputMemory {
    /// Adds this many bytes; how many there are then.
    pub(crate) fn add(&self, len: usize) -> usize {
        self.used.fetch_add(len, Ordering::Relaxed) + len
    }

    /// Takes back bytes that were added.
    pub(crate) fn take_back(&self, len: usize) {
        self.used.fetch_sub(len, Ordering::Relaxed);
    }
}
