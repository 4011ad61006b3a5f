//! A store in two files that say the same: `hub.redb`, and its backup `hub.backup.redb`. Each change is a transaction in
//! both, and on disk when the call returns.
//!
//! When the store is opened, every record of both files is verified. A file that does not verify, vanished, or is behind
//! the other is replaced by a copy of the other, and the log says so. If neither verifies, the store is refused unless
//! its user accepts the damage.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use floe::regular_file;

use super::codec::{encoded, encoded_topic};
use super::contents::StoreContents;
use super::file::{Edit, FORMAT, Found, StoreFile};
use super::record::{Kind, Summary};
use super::{Change, Reserve, Store, StoreError, StoredTopic};

/// Stores topics, subscriptions and links in a directory.
pub(crate) struct Disk {
    main: StoreFile,
    /// `None` after an error: the next change writes it anew.
    backup: Option<StoreFile>,
    backup_path: PathBuf,
    /// How many copies were made. Each has a name of its own: one whose reader is slow to end is not removed for another.
    copies: u64,
    /// The topics, if the disk is so full that the files cannot be opened to be changed. Loading takes them.
    unopened: Option<Vec<StoredTopic>>,
    reserve: Reserve,
    /// Keeps other hubs out of the directory.
    _lock: Option<File>,
}

const MAIN: &str = "hub.redb";
const BACKUP: &str = "hub.backup.redb";
const LOCK: &str = "hub.lock";
/// The beginning of the names of the files that backups get.
const COPY: &str = "hub.copy-";
/// The files of a store, which say the same.
pub(crate) const FILES: [&str; 2] = [MAIN, BACKUP];

/// How many records a message names.
const NAMED_MAX: usize = 10;

impl Disk {
    /// Opens the store in a directory, and creates either if it does not exist. Damage is refused, unless it is accepted
    /// or a whole copy remains.
    ///
    /// # Errors
    /// If the system refuses, another process uses the directory, or the store is damaged.
    pub(crate) fn open(directory: &Path, accepts_damage: bool) -> Result<Self, StoreError> {
        let shown = directory.display();
        let is_new = |directory: &&Path| !directory.exists();
        let new_count = directory.ancestors().take_while(is_new).count();
        regular_file::create_folder(directory)
            .map_err(|e| StoreError::because(format!("cannot create directory \"{shown}\""), e))?;
        let lock = lock(directory)?;
        // The hub may have ended during a backup.
        remove_copies(directory);
        let [main_path, backup_path] = [MAIN, BACKUP].map(|name| directory.join(name));
        let reserve = Reserve::new(directory);
        let main = find(&main_path)?;
        let backup = find(&backup_path)?;
        let source = choose(directory, &main, &backup, accepts_damage)?;
        let keeps = [keeps(source, &main), keeps(source, &backup)];
        let (records, summary) = (source.records.clone(), source.summary_of_records());
        let topics = source.clone().topics();
        let open = |found: Found, path: &Path, keeps: bool| match found.file {
            Some(file) if keeps => Ok(file),
            file => {
                // It is closed before another takes its place.
                drop(file);
                let is_usable = found.contents.is_whole() && found.contents.summary == summary;
                if !found.contents.is_whole() || found.contents.is_repaired {
                    set_aside(path)?;
                }
                let create = || StoreFile::create(path, &records, &summary);
                match reserve.freeing(StoreError::is_full, create) {
                    Err(error) if error.is_full() && is_usable => {
                        // It says the right things, and the next change tries again.
                        let _ = fs::rename(aside(path), path);
                        Ok(StoreFile::unopened(path))
                    }
                    created => created,
                }
            }
        };
        let main = open(main, &main_path, keeps[0])?;
        let backup = match open(backup, &backup_path, keeps[1]) {
            Err(error) if error.is_full() => {
                tracing::error!("the store has no backup; the next change tries again: {error}");
                None
            }
            backup => Some(backup?),
        };
        let unopened = (!main.is_open()).then_some(topics);
        if unopened.is_some() {
            tracing::error!(
                "the disk with \"{shown}\" is full: the hub runs, but stores no change and no event until there is room; free space \
                 there, or destroy topics"
            );
        }
        reserve.refill();
        let disk = Self {
            main,
            backup,
            backup_path,
            copies: 0,
            unopened,
            reserve,
            _lock: lock,
        };
        sync_names(directory, new_count);
        Ok(disk)
    }

    /// Writes the backup again, after an error.
    fn restore_backup(&mut self) -> Result<(), StoreError> {
        let contents = self.main.read()?;
        let backup = StoreFile::create(&self.backup_path, &contents.records, &contents.summary)?;
        self.backup = Some(backup);
        Ok(())
    }

    /// Makes the changes in the backup too. If that fails, they have happened nevertheless.
    fn apply_to_backup(&mut self, edits: &[Edit], expected: &Summary) {
        let applied = match &mut self.backup {
            Some(backup) => backup.apply(edits),
            None => self.restore_backup().map(|()| *expected),
        };
        match applied {
            Ok(summary) if summary == *expected => {}
            Ok(_) => self.backup = None,
            Err(error) => {
                self.backup = None;
                tracing::error!(
                    "the store has no backup now; the next change tries again: {error}"
                );
            }
        }
    }
}

impl Store for Disk {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        match self.unopened.take() {
            Some(topics) => Ok(topics),
            None => Ok(self.main.read()?.topics()),
        }
    }

    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let edits: Vec<_> = changes.iter().map(edit).collect::<Result<_, _>>()?;
        let apply = || self.main.apply(&edits);
        let is_freeing = |change: &Change<'_>| {
            matches!(
                change,
                Change::DestroyTopic { .. } | Change::Unsubscribe { .. }
            )
        };
        // What only forgets something happens although the disk is full.
        let summary = match changes.iter().all(is_freeing) {
            true => self.reserve.freeing(StoreError::is_full, apply)?,
            false => self.main.apply(&edits)?,
        };
        self.apply_to_backup(&edits, &summary);
        self.reserve.refill();
        Ok(())
    }

    fn copy(&mut self) -> Result<PathBuf, StoreError> {
        self.copies += 1;
        let name = format!("{COPY}{}.redb", self.copies);
        let path = self.backup_path.with_file_name(name);
        let contents = self.main.read()?;
        StoreFile::create(&path, &contents.records, &contents.summary)?;
        Ok(path)
    }

    fn problem(&mut self) -> Option<String> {
        self.reserve.refill();
        self.reserve.problem()
    }

    fn is_slow(&self) -> bool {
        true
    }
}

/// Looks for a file of the store. If the disk is too full to open it, it is read nevertheless. The reserve stays for what frees
/// space.
fn find(path: &Path) -> Result<Found, StoreError> {
    match StoreFile::find(path) {
        Err(error) if error.is_full() => StoreFile::find_copy(path),
        found => found,
    }
}

/// The change as both files make it.
fn edit(change: &Change<'_>) -> Result<Edit, StoreError> {
    let insert = |topic: &str, kind, identity, payload| Edit::Insert {
        topic: topic.to_owned(),
        kind,
        identity,
        payload,
    };
    Ok(match *change {
        Change::CreateTopic {
            topic,
            user,
            is_durable,
        } => {
            let payload = encoded_topic(user, is_durable)?;
            insert(topic, Kind::Topic, Vec::new(), payload)
        }
        Change::DestroyTopic { topic } => Edit::RemoveTopic {
            topic: topic.to_owned(),
        },
        Change::Subscribe {
            topic,
            subscription,
        } => {
            let identity = encoded(&subscription.subscriber.identity)?;
            insert(topic, Kind::Subscription, identity, encoded(subscription)?)
        }
        Change::Link { topic, link } => {
            let identity = encoded(&link.topic.identity)?;
            insert(topic, Kind::Link, identity, encoded(link)?)
        }
        Change::Unsubscribe { topic, subscribers } => Edit::Remove {
            topic: topic.to_owned(),
            identities: subscribers.iter().map(encoded).collect::<Result<_, _>>()?,
        },
    })
}

/// Chooses the contents with which the hub starts, and says what is wrong with the other.
fn choose<'a>(
    directory: &Path,
    main: &'a Found,
    backup: &'a Found,
    accepts_damage: bool,
) -> Result<&'a StoreContents, StoreError> {
    let shown = directory.display();
    let newest = generation(main).max(generation(backup));
    let is_trusted = |found: &Found| {
        found.file.is_some() && found.contents.is_whole() && generation(found) == newest
    };
    let wrong = Wrong { main, backup };
    if is_trusted(main) {
        let is_interrupted = generation(backup) + 1 == newest && backup.contents.is_whole();
        if main.contents.format == FORMAT && !is_interrupted && !wrong.is_empty() {
            tracing::warn!("the store \"{shown}\" was mended, and lost nothing: {wrong}");
        }
        return Ok(&main.contents);
    }
    if is_trusted(backup) {
        tracing::error!(
            "the store \"{shown}\" was restored from its backup, and lost nothing: {wrong}"
        );
        return Ok(&backup.contents);
    }
    if main.is_absent && backup.is_absent {
        return Ok(&main.contents);
    }
    let best = match backup.contents.records.len() > main.contents.records.len() {
        true => &backup.contents,
        false => &main.contents,
    };
    let kept = best.records.len();
    if !accepts_damage {
        return Err(StoreError::damaged(format!(
            "the store \"{shown}\" is damaged: {wrong}; put a copy of both files back, or start once with \
             --accept-damage, which keeps the {kept} records that verify and sets the damaged files aside"
        )));
    }
    tracing::error!(
        "the store \"{shown}\" was damaged and starts with the {kept} records that verify: {wrong}"
    );
    Ok(best)
}

/// Returns true if a file stays as it is.
fn keeps(source: &StoreContents, found: &Found) -> bool {
    let contents = &found.contents;
    contents.is_whole()
        && !found.is_oversized()
        && !contents.is_repaired
        && contents.format == FORMAT
        && contents.summary == source.summary
}

/// How many changes a file has seen, as far as it can be read.
fn generation(found: &Found) -> u64 {
    found.contents.summary.generation
}

/// The damage of two files, in words.
struct Wrong<'a> {
    main: &'a Found,
    backup: &'a Found,
}

impl Wrong<'_> {
    /// With the first of two files.
    fn with(found: &Found, other: &Found) -> Vec<String> {
        let contents = &found.contents;
        let behind = generation(other).saturating_sub(generation(found));
        let mut wrong = contents.damage.clone();
        if found.is_absent {
            wrong.push("it is missing".to_owned());
        } else if contents.is_whole() && behind > 0 {
            wrong.push(format!("it is {behind} changes behind"));
        }
        if contents.is_repaired {
            wrong.push("it was repaired".to_owned());
        }
        if found.is_oversized() {
            wrong.push("it was far longer than its records need".to_owned());
        }
        wrong
    }

    fn is_empty(&self) -> bool {
        let (main, backup) = (self.main, self.backup);
        Self::with(main, backup).is_empty() && Self::with(backup, main).is_empty()
    }
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (main, backup) = (self.main, self.backup);
        let mut separator = "";
        for (name, wrong) in [
            (MAIN, Self::with(main, backup)),
            (BACKUP, Self::with(backup, main)),
        ] {
            if wrong.is_empty() {
                continue;
            }
            let named = wrong.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>();
            write!(f, "{separator}{name}: {}", named.join(", "))?;
            if let Some(more @ 1..) = wrong.len().checked_sub(NAMED_MAX) {
                write!(f, ", and {more} more")?;
            }
            separator = "; ";
        }
        Ok(())
    }
}

/// The name under which a damaged file is kept.
fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    aside.into()
}

/// Removes the copies of backups that an earlier run did not end.
fn remove_copies(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_copy = |name: &str| name.starts_with(COPY);
        if entry.file_name().to_str().is_some_and(is_copy) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Keeps a damaged file under another name.
fn set_aside(path: &Path) -> Result<(), StoreError> {
    match fs::rename(path, aside(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let shown = path.display();
            Err(StoreError::because(
                format!("cannot set \"{shown}\" aside"),
                error,
            ))
        }
        _ => Ok(()),
    }
}

/// Keeps other hubs out of a directory; `None` if its file system has no locks.
fn lock(directory: &Path) -> Result<Option<File>, StoreError> {
    let path = directory.join(LOCK);
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    let opened = regular_file::open(&path, &mut options);
    let file = opened
        .map_err(|e| StoreError::because(format!("cannot open \"{}\"", path.display()), e))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::new(format!(
            "the store \"{}\" belongs to another hub that runs: choose another directory",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => {
            tracing::debug!("cannot lock \"{}\": {error}", path.display());
            Ok(None)
        }
    }
}

/// Syncs the names of new files and of new directories, so that they survive a loss of power as the content does. No
/// test shows this. Some systems cannot sync directories; the store ignores that.
fn sync_names(directory: &Path, new_count: usize) {
    for directory in directory.ancestors().take(1 + new_count) {
        let path = match directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => directory,
        };
        if let Err(error) = File::open(path).and_then(|directory| directory.sync_all()) {
            tracing::debug!("cannot sync directory \"{}\": {error}", path.display());
        }
    }
}

#[cfg(test)]
mod tests;
