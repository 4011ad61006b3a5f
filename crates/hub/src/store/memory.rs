//! A store that keeps nothing. The hub holds everything in memory.

use super::{Change, Store, StoreError, StoredTopic};

/// Topics, subscriptions and links end with the process.
#[derive(Debug)]
pub(crate) struct Memory;

impl Store for Memory {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        Ok(Vec::new())
    }

    fn apply(&mut self, _changes: &[Change<'_>]) -> Result<(), StoreError> {
        Ok(())
    }

    fn is_slow(&self) -> bool {
        false
    }
}
