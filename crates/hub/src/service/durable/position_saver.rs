//! Keeps the file of a position up to date.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::position_file::PositionFile;
use crate::core::durable::SubscriptionPosition;
use crate::service::user_accounts::UserName;
use crate::store::StoreError;

/// The file of a position, and the changes that it does not have yet.
#[derive(Debug)]
pub(super) struct PositionSaver {
    /// `None` if the position is not kept.
    file: Option<PositionFile>,
    /// True if the position has changed since it was written.
    pub(super) is_unsaved: bool,
    /// True if it has been written since the file was synced.
    is_unsynced: bool,
    has_failed: bool,
}

/// The file of a position that is to be synced.
#[derive(Debug)]
pub(super) struct UnsyncedPosition {
    file: Result<File, StoreError>,
    path: PathBuf,
}

impl PositionSaver {
    /// Keeps the position in this file; `None` keeps none.
    pub(super) fn new(file: Option<PositionFile>) -> Self {
        Self {
            file,
            is_unsaved: false,
            is_unsynced: false,
            has_failed: false,
        }
    }

    /// Where the position is kept; `None` if it is not.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(PositionFile::path)
    }

    /// The user who began the subscription.
    pub(super) fn user(&self) -> Option<&UserName> {
        self.file.as_ref().and_then(PositionFile::user)
    }

    /// Writes the position of the subscription of this name, if it has changed.
    pub(super) fn save(&mut self, name: &str, position: &SubscriptionPosition) {
        if !std::mem::take(&mut self.is_unsaved) {
            return;
        }
        let Some(file) = &mut self.file else {
            return;
        };
        match file.write(name, &position.saved()) {
            Ok(()) => {
                self.is_unsynced = true;
                self.has_failed = false;
            }
            Err(error) => {
                self.is_unsaved = true;
                if !std::mem::replace(&mut self.has_failed, true) {
                    tracing::error!(
                        "cannot save the position of the durable subscription {name:?}; the next acknowledgement tries again: \
                         {error}"
                    );
                }
            }
        }
    }

    /// The file to be synced, if anything has been written. [`PositionSaver::end_sync`] follows.
    pub(super) fn begin_sync(&mut self) -> Option<UnsyncedPosition> {
        if !std::mem::take(&mut self.is_unsynced) {
            return None;
        }
        let file = self.file.as_mut()?;
        Some(UnsyncedPosition {
            path: file.path().to_owned(),
            file: file.begin_sync(),
        })
    }

    /// The sync has ended. If it failed, it is tried again.
    pub(super) fn end_sync(&mut self, has_succeeded: bool) {
        self.is_unsynced |= !has_succeeded;
        if let Some(file) = &mut self.file {
            file.end_sync(has_succeeded);
        }
    }
}

impl UnsyncedPosition {
    /// Syncs it. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(super) fn sync(self) -> Result<(), StoreError> {
        let synced = self.file?.sync_data();
        let shown = self.path.display();
        synced.map_err(|error| StoreError::because(format!("cannot sync \"{shown}\""), error))
    }
}
