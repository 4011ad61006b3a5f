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
    /// True while nothing may be written: while the file is being synced, and after it was opened until it is. Otherwise a
    /// loss of power could tear both of its slots.
    is_held_back: bool,
    has_failed: bool,
}

/// The file of a position that is to be synced.
#[derive(Debug)]
pub(super) struct UnsyncedPosition {
    file: Result<File, StoreError>,
    path: PathBuf,
}

impl PositionSaver {
    /// Keeps no position, or that of a new file.
    pub(super) fn new(file: Option<PositionFile>) -> Self {
        Self {
            file,
            is_unsaved: false,
            is_unsynced: false,
            is_held_back: false,
            has_failed: false,
        }
    }

    /// Keeps the position of a file that was there before. It writes nothing before the first sync.
    pub(super) fn opened(file: PositionFile) -> Self {
        Self {
            is_unsynced: true,
            is_held_back: true,
            ..Self::new(Some(file))
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

    /// Returns true if the position may be written now.
    pub(super) fn may_write(&self) -> bool {
        !self.is_held_back
    }

    /// Writes the position of the subscription of this name, if it has changed and may be written now.
    pub(super) fn save(&mut self, name: &str, position: &SubscriptionPosition) {
        if self.is_held_back || !std::mem::take(&mut self.is_unsaved) {
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

    /// The file to be synced, if anything has been written. Then nothing is written until [`PositionSaver::end_sync`].
    pub(super) fn begin_sync(&mut self) -> Option<UnsyncedPosition> {
        if !std::mem::take(&mut self.is_unsynced) {
            return None;
        }
        let file = self.file.as_ref()?;
        self.is_held_back = true;
        Some(UnsyncedPosition {
            file: file.syncer(),
            path: file.path().to_owned(),
        })
    }

    /// The sync has ended. If it failed, it is tried again.
    pub(super) fn end_sync(&mut self, has_succeeded: bool) {
        self.is_held_back = false;
        match &mut self.file {
            Some(file) if has_succeeded => file.handle_synced(),
            _ => self.is_unsynced = true,
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
