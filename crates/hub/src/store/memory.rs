//! A store that keeps nothing. The hub holds everything in memory.

use std::path::PathBuf;

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

    fn copy(&mut self) -> Result<PathBuf, StoreError> {
        Err(StoreError::new(
            "the hub keeps nothing on disk, so there is nothing to copy: start it with --data DIRECTORY",
        ))
    }

    fn is_slow(&self) -> bool {
        false
    }
}
