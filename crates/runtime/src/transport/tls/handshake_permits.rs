//! Permits of TLS handshakes: they limit how many handshakes compute at a time.
//!
//! A step of a handshake signs or verifies, which takes a fraction of a millisecond, or several milliseconds with a long
//! key. Hundreds of handshakes may be under way. Without permits, all connections of a thread would wait for the steps
//! of all of them.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The permits of a communicator's handshakes. Handshakes get them in the order in which they ask for them.
pub(super) struct HandshakePermits(Semaphore);

/// A permit for one step of a handshake. The next handshake gets it when this is dropped.
pub(super) struct HandshakePermit<'a> {
    _permit: SemaphorePermit<'a>,
}

impl HandshakePermits {
    /// Handshakes that compute at a time, so that those of programs that connect again do not all wait for one thread.
    const AT_A_TIME: usize = 2;

    pub(super) fn new() -> Self {
        Self(Semaphore::new(Self::AT_A_TIME))
    }

    /// Waits for a permit. Call this when there is input, so that silent peers hold no permit.
    pub(super) async fn acquire(&self) -> HandshakePermit<'_> {
        let permit = self.0.acquire().await;
        HandshakePermit {
            _permit: permit.expect("the semaphore is never closed"),
        }
    }
}

impl HandshakePermit<'_> {
    /// Releases the permit after other tasks have run and new input of other connections was seen.
    pub(super) async fn release(self) {
        tokio::task::yield_now().await;
    }
}
