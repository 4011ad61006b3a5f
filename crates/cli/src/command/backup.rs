//! `floe backup` and `floe restore`: what a hub keeps on disk, copied while it runs, and put in place for another start.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use floe::{Communicator, InvokeError, SystemException};
use floe_hub::contracts::floe::{BackupPart, BackupProxy, BackupRefusedError};
use serde_json::json;

use crate::backup_folder::{BackedUpFile, CompleteBackup, NewBackup};
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};
use crate::progress::ProgressLine;

/// Copies all that a hub keeps on disk to a folder, while the hub goes on
///
/// Topics, subscriptions and links are those of the moment when the backup begins. The log of each durable topic has at
/// least the events that it had then, and each durable subscription is where it was then or later: after a restore, no
/// event that waited is missing, and some may come again. It needs the permission `admin`. `floe restore` puts the copy
/// in place.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder, which does not exist or is empty. It is complete when the command ends
    folder: PathBuf,

    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// Puts a backup in place as the data directory of a hub, or only verifies it
///
/// A hub is then started with `floe serve --data DIRECTORY`, with the settings of the hub that was copied. Nothing is
/// overwritten: the directory must not exist, or be empty. No hub needs to run.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The folder of the backup
    folder: PathBuf,

    /// The data directory to be
    #[arg(long, value_name = "DIRECTORY", required_unless_present = "check")]
    data: Option<PathBuf>,

    /// Only read the backup, and compare it with its manifest
    #[arg(long, conflicts_with = "data")]
    check: bool,
}

/// A backup is begun again so often if topics are destroyed meanwhile.
const ATTEMPTS: usize = 3;

impl Backup {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::run(self.timeout, async |communicator| {
            self.copy(&communicator, output).await?;
            Ok(Exit::Success)
        })
    }

    async fn copy(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let hub = self.hub.backup(communicator)?;
        let mut copy = NewBackup::begin(&self.folder)?;
        match self.fill(&hub, &mut copy).await {
            Ok(()) => {
                let (files, bytes) = copy.size();
                report(output, &self.folder, files, bytes)
            }
            Err(failure) => {
                copy.abandon();
                Err(failure)
            }
        }
    }

    async fn fill(&self, hub: &BackupProxy, copy: &mut NewBackup) -> Result<(), Failure> {
        let begun = SystemTime::now();
        let mut attempt = 1;
        while let Err(refused) = self.copy_once(hub, copy).await? {
            if attempt == ATTEMPTS {
                return Err(refused);
            }
            output::talk(format_args!("begins anew: {}", refused.message()));
            attempt += 1;
            copy.clear()?;
        }
        let about = json!({
            "hub": self.hub.described(),
            "begunUnixSeconds": begun.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            "floe": env!("CARGO_PKG_VERSION"),
        });
        copy.finish(&about)
    }

    /// Copies all; a refusal after which a new backup may succeed is inside.
    async fn copy_once(
        &self,
        hub: &BackupProxy,
        copy: &mut NewBackup,
    ) -> Result<Result<(), Failure>, Failure> {
        let backup = match hub.begin().await {
            Err(error) => return Err(self.failure(error)),
            Ok(backup) => backup,
        };
        let progress = ProgressLine::new();
        let copied = self.take(hub, &backup, copy, &progress).await;
        progress.clear();
        match copied {
            Ok(()) => Ok(Ok(())),
            Err(Stopped::Refused(failure)) => Ok(Err(failure)),
            Err(Stopped::Failed(failure)) => {
                // The hub would wait for a minute before it begins another one.
                let _ = hub.end(&backup).await;
                Err(failure)
            }
        }
    }

    async fn take(
        &self,
        hub: &BackupProxy,
        backup: &str,
        copy: &mut NewBackup,
        progress: &ProgressLine,
    ) -> Result<(), Stopped> {
        for number in 0.. {
            let parts = match hub.next(backup, number).await {
                Ok(parts) => parts,
                Err(BackupRefusedError::BackupRefused(refused)) if refused.can_begin_anew => {
                    return Err(Stopped::Refused(Failure::new(
                        Exit::Failure,
                        refused.reason,
                    )));
                }
                Err(error) => return Err(Stopped::Failed(self.failure(error))),
            };
            if parts.is_empty() {
                break;
            }
            for BackupPart {
                file,
                offset,
                bytes,
            } in parts
            {
                let offset = u64::try_from(offset).unwrap_or(u64::MAX);
                let added = copy.add(&file, offset, &bytes);
                added.map_err(Stopped::Failed)?;
            }
            let (files, bytes) = copy.size();
            progress.rewrite(format_args!("{files} files, {} MB", bytes / 1_000_000));
        }
        Ok(())
    }

    fn failure(&self, error: BackupRefusedError) -> Failure {
        match error {
            BackupRefusedError::BackupRefused(refused) => {
                Failure::new(Exit::Refused, refused.reason)
            }
            BackupRefusedError::Invoke(InvokeError::System(
                SystemException::ObjectNotExist(_) | SystemException::OperationNotExist(_),
            )) => Failure::not_found("the hub makes no backups")
                .help("it is no Floe hub, or an older one; `floe migrate` copies an IceStorm"),
            BackupRefusedError::Invoke(error) => self.hub.unanswered(error.into()),
            error => Failure::new(Exit::Failure, error),
        }
    }
}

/// Why a copy ended before it was complete.
enum Stopped {
    /// A new one may succeed.
    Refused(Failure),
    Failed(Failure),
}

impl Restore {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let backup = CompleteBackup::open(&self.folder)?;
        let progress = ProgressLine::new();
        let (mut files, mut bytes) = (0, 0);
        let done = |file: &BackedUpFile| {
            (files, bytes) = (files + 1, bytes + file.len);
            progress.rewrite(format_args!("{files} files, {} MB", bytes / 1_000_000));
        };
        let result = match &self.data {
            Some(data) => backup.restore(data, done),
            None => backup.verify(done),
        };
        progress.clear();
        result?;
        let place = self.data.as_deref().unwrap_or(&self.folder);
        report(output, place, files, bytes)?;
        if let Some(data) = &self.data {
            output::talk(format_args!(
                "start the hub with `floe serve --data {}` and the settings of the one that was copied",
                output::word(&data.display().to_string())
            ));
        }
        Ok(Exit::Success)
    }
}

fn report(output: &Output, folder: &Path, files: usize, bytes: u64) -> Result<(), Failure> {
    let folder = folder.display().to_string();
    output.record(
        &json!({ "folder": folder, "files": files, "bytes": bytes }),
        "folder",
    )
}
