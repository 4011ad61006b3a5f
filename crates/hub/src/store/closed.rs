//! Takes the place of a store when the hub has ended.

use std::path::PathBuf;

use super::{Change, Store, StoreError, StoredTopic};

/// Refuses every change.
#[derive(Debug)]
pub(crate) struct Closed;

impl Store for Closed {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        Err(ended())
    }

    fn apply(&mut self, _changes: &[Change<'_>]) -> Result<(), StoreError> {
        Err(ended())
    }

    fn copy(&mut self) -> Result<PathBuf, StoreError> {
        Err(ended())
    }

    fn is_slow(&self) -> bool {
        false
    }
}

fn ended() -> StoreError {
    StoreError::new("the hub has ended")
}
