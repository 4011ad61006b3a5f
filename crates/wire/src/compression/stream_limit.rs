//! How many compressed streams all connections of a program may have together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A limit on the streams of [`Compression::ZstdStream`](super::Compression::ZstdStream) that are open at the same time.
///
/// A stream holds its memory, about 1.2 MiB to receive and 3 MiB to send, for as long as its connection is open, and it is the
/// peer that begins it.
#[derive(Debug)]
pub struct StreamLimit {
    open: AtomicUsize,
    max: usize,
}

/// A stream of the limit. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct StreamPermit(Arc<StreamLimit>);

impl StreamLimit {
    /// A limit of this many streams. Each direction of a connection is one.
    pub fn new(max: usize) -> Self {
        Self {
            open: AtomicUsize::new(0),
            max,
        }
    }

    /// How many streams are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// How many may be open.
    pub fn max(&self) -> usize {
        self.max
    }

    /// Takes a stream, unless all are taken.
    pub(super) fn take(self: &Arc<Self>) -> Option<StreamPermit> {
        let is_free = |open| (open < self.max).then_some(open + 1);
        let taken = self
            .open
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_free);
        taken.ok().map(|_| StreamPermit(self.clone()))
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
