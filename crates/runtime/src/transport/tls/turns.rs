//! Turns of TLS handshakes: how many of them compute at a time.
//!
//! A step of a handshake signs or verifies, which takes a fraction of a millisecond, or several milliseconds with a long
//! key. Hundreds of handshakes may be under way. Without turns, all connections of a thread would wait for the steps of
//! all of them.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The turns of a communicator's handshakes. They come in the order in which they are asked for.
pub(super) struct HandshakeTurns(Semaphore);

/// A turn, which ends when it is dropped.
pub(super) struct HandshakeTurn<'a> {
    _permit: SemaphorePermit<'a>,
}

impl HandshakeTurns {
    /// Handshakes that compute at a time, so that those of programs that connect again do not all wait for one thread.
    const AT_A_TIME: usize = 2;

    pub(super) fn new() -> Self {
        Self(Semaphore::new(Self::AT_A_TIME))
    }

    /// Waits for a turn. Take it when there is input, so that silent peers hold none.
    pub(super) async fn take(&self) -> HandshakeTurn<'_> {
        let permit = self.0.acquire().await;
        HandshakeTurn {
            _permit: permit.expect("the semaphore is never closed"),
        }
    }
}

impl HandshakeTurn<'_> {
    /// Ends the turn after other tasks have run and new input of other connections was seen.
    pub(super) async fn end(self) {
        tokio::task::yield_now().await;
    }
}
