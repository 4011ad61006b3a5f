//! The overhead of a stream: bytes of its input that carry no payload, such as headers of frames and records, pings, and
//! key updates.
//!
//! A connection gives way after some payload, which it sees. It does not see overhead. A peer that sends little else
//! would therefore keep the task of its connection busy, and all others waiting.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

/// The overhead of a stream since its task last gave way.
#[derive(Debug, Default)]
pub(super) struct Overhead {
    len: usize,
}

impl Overhead {
    /// Bytes of overhead after which other tasks have their turn. That is a quarter of a millisecond of the shortest
    /// frames and records, and thousands of usual ones.
    pub(super) const LEN_MAX: usize = 16 * 1024;

    /// Counts input, as overhead until its payload is known.
    pub(super) fn add_input(&mut self, len: usize) {
        self.len = self.len.saturating_add(len);
    }

    /// Takes the payload of the counted input off.
    pub(super) fn take_off_payload(&mut self, len: usize) {
        self.len = self.len.saturating_sub(len);
    }

    /// Returns true if other tasks should have their turn now.
    pub(super) fn is_long(&self) -> bool {
        self.len >= Self::LEN_MAX
    }

    /// Gives way to other tasks once if the overhead is long.
    pub(super) fn poll_give_way(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_long() {
            return Poll::Ready(());
        }
        self.reset();
        give_way(context);
        Poll::Pending
    }

    /// Begins to count anew, because other tasks run now.
    pub(super) fn reset(&mut self) {
        self.len = 0;
    }
}

/// Arranges that this task continues after others have run. The caller returns `Pending`.
pub(super) fn give_way(context: &mut Context<'_>) {
    // The first poll does so.
    let _ = pin!(tokio::task::yield_now()).poll(context);
}
