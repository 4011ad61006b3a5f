//! Turns: of all that have the same key, one has its turn at a time, in the order in which they came.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// Turns by key. A key is kept for as long as something has its turn or waits for it.
pub(super) struct Turns<K> {
    /// Held for a moment, never across a wait.
    by_key: Mutex<HashMap<K, Waiting>>,
}

#[derive(Default)]
struct Waiting {
    /// Number of those that wait, with the one whose turn it is.
    count: usize,
    /// A fair lock.
    lock: Arc<tokio::sync::Mutex<()>>,
}

/// A turn, or a wait for it. It ends when this is dropped.
pub(super) struct Turn<'a, K: Eq + Hash> {
    turns: &'a Turns<K>,
    key: K,
    /// `None` while it waits.
    lock: Option<OwnedMutexGuard<()>>,
}

/// Too many wait already.
#[derive(Debug)]
pub(super) struct TooManyWait;

impl<K: Eq + Hash + Clone> Turns<K> {
    /// Waits for a turn, unless `max` have one or wait already.
    ///
    /// # Errors
    /// So many do.
    pub(super) async fn take(&self, key: &K, max: usize) -> Result<Turn<'_, K>, TooManyWait> {
        let lock = {
            let mut all = self.lock();
            let waiting = all.entry(key.clone()).or_default();
            if waiting.count >= max {
                return Err(TooManyWait);
            }
            waiting.count += 1;
            waiting.lock.clone()
        };
        let mut turn = Turn {
            turns: self,
            key: key.clone(),
            lock: None,
        };
        turn.lock = Some(lock.lock_owned().await);
        Ok(turn)
    }
}

impl<K: Eq + Hash> Turns<K> {
    /// Whether something has the turn of this key, or waits for it.
    pub(super) fn is_taken(&self, key: &K) -> bool {
        self.lock().contains_key(key)
    }
}

impl<K> Turns<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Waiting>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self {
            by_key: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.lock = None;
        let mut all = self.turns.lock();
        if let Some(waiting) = all.get_mut(&self.key) {
            waiting.count -= 1;
            if waiting.count == 0 {
                all.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::outgoing::begin;

    #[tokio::test]
    async fn turns_come_one_after_another_and_nothing_is_kept_of_them() {
        let turns = Turns::default();
        let first = turns.take(&'a', 2).await.expect("nobody waits");
        let _other = turns.take(&'b', 2).await.expect("nobody waits");
        let second = begin(turns.take(&'a', 2)).await;
        let second = second.err().expect("it waits");
        assert!(turns.take(&'a', 2).await.is_err(), "two are there");
        drop(first);
        let second = second.await.expect("it is its turn");
        let given_up = begin(turns.take(&'a', 2)).await;
        drop(given_up.err().expect("it waits"));
        drop(second);
        assert_eq!(turns.lock().keys().collect::<Vec<_>>(), [&'b']);
    }
}
