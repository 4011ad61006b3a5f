//! Logins on one connection run one after another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use floe::Connection;
use tokio::sync::OwnedMutexGuard;

/// Connections on which clients log in.
#[derive(Default)]
pub(super) struct LoginTurns {
    /// Held for a moment, never across a wait.
    by_connection: Mutex<HashMap<Connection, Arc<tokio::sync::Mutex<()>>>>,
}

/// Too many logins wait on this connection already.
#[derive(Debug)]
pub(super) struct TooManyLogins;

/// The logins on one connection at a time. All but the first one that succeeds fail, so that no program has use for many of
/// them, and one that waits takes ten kilobytes.
pub(super) const LOGINS_MAX: usize = 8;

impl LoginTurns {
    /// Waits until no other login runs on this connection. The login may run while the guard is held.
    ///
    /// # Errors
    /// Too many wait already.
    pub(super) async fn take(
        &self,
        connection: &Connection,
    ) -> Result<OwnedMutexGuard<()>, TooManyLogins> {
        let turn = {
            let all = self.by_connection.lock();
            let mut all = all.unwrap_or_else(PoisonError::into_inner);
            // There are no more of them in use than connections.
            if all.len() >= all.capacity() {
                all.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            let turn = all.entry(connection.clone()).or_default();
            if Arc::strong_count(turn) > LOGINS_MAX {
                return Err(TooManyLogins);
            }
            turn.clone()
        };
        Ok(turn.lock_owned().await)
    }
}
