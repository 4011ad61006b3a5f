//! A keyed lock: of all tasks that ask for the lock of one key, one has it at a time, in the order in which they came.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// A lock for each key. A key is kept as long as a task has its lock or waits for it.
pub(super) struct KeyedLock<K> {
    /// Held for a moment, never across a wait.
    by_key: Mutex<HashMap<K, LockState>>,
}

#[derive(Default)]
struct LockState {
    /// The number of tasks that wait, including the one that has the lock.
    count: usize,
    /// A fair lock.
    lock: Arc<tokio::sync::Mutex<()>>,
}

/// The lock of a key, or a wait for it. It ends when this is dropped.
pub(super) struct KeyedLockGuard<'a, K: Eq + Hash> {
    locks: &'a KeyedLock<K>,
    key: K,
    /// `None` while it waits.
    guard: Option<OwnedMutexGuard<()>>,
}

/// The error if too many tasks wait already.
#[derive(Debug)]
pub(super) struct TooManyWait;

impl<K: Eq + Hash + Clone> KeyedLock<K> {
    /// Waits for the lock of a key, unless `max` tasks have it or wait for it already.
    ///
    /// # Errors
    /// So many tasks do.
    pub(super) async fn acquire(
        &self,
        key: &K,
        max: usize,
    ) -> Result<KeyedLockGuard<'_, K>, TooManyWait> {
        let lock = {
            let mut all = self.lock_map();
            let waiting = all.entry(key.clone()).or_default();
            if waiting.count >= max {
                return Err(TooManyWait);
            }
            waiting.count += 1;
            waiting.lock.clone()
        };
        let mut acquired = KeyedLockGuard {
            locks: self,
            key: key.clone(),
            guard: None,
        };
        acquired.guard = Some(lock.lock_owned().await);
        Ok(acquired)
    }
}

impl<K: Eq + Hash> KeyedLock<K> {
    /// Returns true if a task has the lock of this key or waits for it.
    pub(super) fn is_taken(&self, key: &K) -> bool {
        self.lock_map().contains_key(key)
    }
}

impl<K> KeyedLock<K> {
    fn lock_map(&self) -> MutexGuard<'_, HashMap<K, LockState>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Default for KeyedLock<K> {
    fn default() -> Self {
        Self {
            by_key: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash> Drop for KeyedLockGuard<'_, K> {
    fn drop(&mut self) {
        self.guard = None;
        let mut all = self.locks.lock_map();
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
    async fn tasks_get_a_lock_one_after_another_and_nothing_is_kept_of_it() {
        let locks = KeyedLock::default();
        let first = locks.acquire(&'a', 2).await.expect("no other task waits");
        let _other = locks.acquire(&'b', 2).await.expect("no other task waits");
        let second = begin(locks.acquire(&'a', 2)).await;
        let second = second.err().expect("it waits");
        assert!(locks.acquire(&'a', 2).await.is_err(), "two are there");
        drop(first);
        let second = second.await.expect("the lock is free");
        let given_up = begin(locks.acquire(&'a', 2)).await;
        drop(given_up.err().expect("it waits"));
        drop(second);
        assert_eq!(locks.lock_map().keys().collect::<Vec<_>>(), [&'b']);
    }
}
