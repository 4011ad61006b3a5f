//! The object by which a peer backs up what the hub keeps on disk.

use std::sync::{Arc, Weak};
use std::time::Duration;

use floe::{Current, InvokeError, SystemException};
use floe_access::Action;

use crate::blocking_work::{self, WorkKind};
use crate::contracts::floe::{Backup, BackupPartSeq, BackupRefusedError};
use crate::service::backup::Backups;
use crate::service::registry::Registry;

pub(super) struct BackupServant {
    registry: Arc<Registry>,
    backups: Arc<Backups>,
}

impl BackupServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
            backups: Arc::default(),
        }
    }

    /// Checks that the caller may do all with the hub: a backup has the events of all topics.
    fn check(&self, current: &Current) -> Result<(), InvokeError> {
        Ok(self.registry.guard().check(current, Action::Admin, "")?)
    }

    /// Does what waits for the disk.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Registry, &Backups) -> T + Send + 'static,
    ) -> Result<T, InvokeError> {
        let (registry, backups) = (self.registry.clone(), self.backups.clone());
        let done = blocking_work::run(WorkKind::Read, move || work(&registry, &backups));
        done.await
            .map_err(|error| SystemException::UnknownException(error.to_string()).into())
    }
}

impl Backup for BackupServant {
    async fn begin(&self, current: &Current) -> Result<String, BackupRefusedError> {
        self.check(current)?;
        let begun = self.run(|registry, backups| backups.begin(registry));
        let id = begun.await??;
        tokio::spawn(end_when_idle(Arc::downgrade(&self.backups)));
        Ok(id)
    }

    async fn next(
        &self,
        backup: String,
        number: i64,
        current: &Current,
    ) -> Result<BackupPartSeq, BackupRefusedError> {
        self.check(current)?;
        let next =
            move |registry: &Registry, backups: &Backups| backups.next(registry, &backup, number);
        Ok(self.run(next).await??)
    }

    async fn end(&self, backup: String, current: &Current) -> Result<(), InvokeError> {
        self.check(current)?;
        self.run(move |_, backups| backups.end(&backup)).await
    }
}

/// Ends the backup when nobody goes on with it.
async fn end_when_idle(backups: Weak<Backups>) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        if backups.upgrade().is_none_or(|backups| backups.end_idle()) {
            return;
        }
    }
}

/// How often a backup is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);
