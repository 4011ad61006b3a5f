//! Keeps the file of a position up to date.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::position_file::PositionFile;
use crate::core::durable::SubscriptionPosition;
use crate::service::user_accounts::UserName;
use crate::store::StoreError;

/// The file of a position, and the changes that it does not have yet.
#[derive(Debug)]
pub(super) struct PositionSaver {
    /// `None` if the position is not kept.
    file: Option<PositionFile>,
    /// True if the position has changed since it was written. No more events are delivered until it is written: if the
    /// hub is killed, it must not repeat more events than may be under way.
    pub(super) is_unsaved: bool,
    /// True if events have been delivered since it was written. Writing that can wait: without it, they come again as
    /// if for the first time.
    pub(super) has_unsaved_attempts: bool,
    /// When it was written last, or could not be.
    saved_at: Option<Instant>,
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

/// Attempts are not written sooner after the last write. Most of their events are acknowledged by then, and one write
/// serves both.
const SAVE_INTERVAL: Duration = Duration::from_millis(2);

impl PositionSaver {
    /// Keeps the position in this file; `None` keeps none.
    pub(super) fn new(file: Option<PositionFile>) -> Self {
        Self {
            file,
            is_unsaved: false,
            has_unsaved_attempts: false,
            saved_at: None,
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

    /// Writes the position if it has changed, or if attempts have waited long enough. Otherwise returns the time until
    /// which they wait.
    pub(super) fn save_when_due(
        &mut self,
        name: &str,
        position: &SubscriptionPosition,
        now: Instant,
    ) -> Option<Instant> {
        let due_at = self.saved_at.map_or(now, |at| at + SAVE_INTERVAL);
        if self.has_unsaved_attempts && !self.is_unsaved && due_at > now {
            return Some(due_at);
        }
        // It is logged, and tried again.
        let _ = self.save(name, position, now);
        None
    }

    /// Writes the position of the subscription of this name, if anything has changed.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses. The first of several is logged.
    pub(super) fn save(
        &mut self,
        name: &str,
        position: &SubscriptionPosition,
        now: Instant,
    ) -> Result<(), StoreError> {
        let has_attempts = std::mem::take(&mut self.has_unsaved_attempts);
        if !std::mem::take(&mut self.is_unsaved) && !has_attempts {
            return Ok(());
        }
        self.saved_at = Some(now);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        match file.write(name, &position.saved()) {
            Ok(()) => {
                self.is_unsynced = true;
                self.has_failed = false;
                Ok(())
            }
            Err(error) => {
                self.is_unsaved = true;
                if !std::mem::replace(&mut self.has_failed, true) {
                    tracing::error!(
                        "cannot save the position of the durable subscription {name:?}; the next acknowledgement tries again: \
                         {error}"
                    );
                }
                Err(error)
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

    /// Ends the sync. If it failed, the position is written and synced again, because the system may have dropped the
    /// bytes that it could not write.
    pub(super) fn end_sync(&mut self, has_succeeded: bool) {
        self.is_unsaved |= !has_succeeded;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::durable::{Member, Redelivery, SavedPosition};

    #[test]
    fn a_position_that_is_not_stored_is_an_error_and_is_tried_again() {
        let folder = std::env::temp_dir().join(format!("floe-unsaved-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("p");
        let at_first = SavedPosition::at(1);
        let file = PositionFile::create(&path, "p", None, &at_first).unwrap();
        let mut saver = PositionSaver::new(Some(file));
        let now = Instant::now();
        let position = SubscriptionPosition::restore(&at_first, Redelivery::default(), 9, now);
        saver.is_unsaved = true;
        let too_long = "n".repeat(70_000);
        saver.save(&too_long, &position, now).unwrap_err();
        assert!(saver.is_unsaved && saver.begin_sync().is_none());
        saver.save("p", &position, now).unwrap();
        assert!(!saver.is_unsaved && saver.begin_sync().is_some());
        saver.end_sync(false);
        assert!(saver.is_unsaved, "what was written may be lost");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn attempts_wait_for_an_acknowledgement_before_they_are_written() {
        let folder = std::env::temp_dir().join(format!("floe-saver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("p");
        let at_first = SavedPosition::at(1);
        let file = PositionFile::create(&path, "p", None, &at_first).unwrap();
        let mut saver = PositionSaver::new(Some(file));
        let start = Instant::now();
        let rules = Redelivery::default();
        let mut position = SubscriptionPosition::restore(&at_first, rules, 9, start);
        let saved = || PositionFile::open(&path).unwrap().2;
        let deliver = |saver: &mut PositionSaver, position: &mut SubscriptionPosition| {
            position.handle_delivery(position.next(), Member(1), start);
            saver.has_unsaved_attempts = true;
        };
        deliver(&mut saver, &mut position);
        assert_eq!(saver.save_when_due("p", &position, start), None);
        assert_eq!(saved(), position.saved(), "nothing was written before");
        deliver(&mut saver, &mut position);
        let due_at = start + SAVE_INTERVAL;
        assert_eq!(saver.save_when_due("p", &position, start), Some(due_at));
        assert_eq!(saved().next, 2);
        assert_eq!(saver.save_when_due("p", &position, due_at), None);
        assert_eq!(saved(), position.saved(), "they have waited");
        assert_eq!(saver.save_when_due("p", &position, due_at), None);
        deliver(&mut saver, &mut position);
        position.handle_acknowledged_to(2);
        saver.is_unsaved = true;
        assert_eq!(saver.save_when_due("p", &position, due_at), None);
        assert_eq!(
            saved(),
            position.saved(),
            "an acknowledgement does not wait"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
