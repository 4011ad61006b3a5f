//! Where the logs of topics are on disk.
//!
//! ```text
//! DATA/topics/TOPIC/name          the name of the topic
//! DATA/topics/TOPIC/log/          its events
//! DATA/topics/TOPIC/positions/    a file for each durable subscription
//! DATA/topics/%destroyed-N/       the rest of a topic that was destroyed
//! ```
//!
//! A topic is durable if it has such a folder. The file `name` decides whose folder it is: long names share the name of
//! a folder if their checks are equal, and an attacker can find such names.
//!
//! - `folders/retired.rs`: the removal of folders, which may be interrupted at any moment

mod retired;

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use floe::regular_file;
use tokio::runtime::Handle;

use super::log_counts::LogCounts;
use super::topic_log::TopicLog;
use crate::log::{EventLog, LogSettings, SegmentLog, is_lasting};
use crate::service::catch_up::CatchUp;
use crate::service::user_accounts::UserAccounts;
use crate::settings::{DurableSettings, StoreSettings};
use crate::store::{Reserve, StoreError, is_full};

/// The folders of all durable topics of a hub.
#[derive(Debug)]
pub(crate) struct LogFolders {
    /// `None` if the hub keeps nothing on disk.
    root: Option<PathBuf>,
    /// The readers that are far behind.
    catch_up: Arc<CatchUp>,
    counts: Arc<LogCounts>,
}

/// The folder of all of them.
const TOPICS: &str = "topics";
/// A file of the data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its name relative to the data directory, with `/` between folders.
    pub(crate) name: String,
    /// True if the hub may remove it at any time.
    pub(crate) may_vanish: bool,
}

/// The file with the name of the topic.
const NAME: &str = "name";
/// The file that becomes [`NAME`].
const NEW_NAME: &str = "name.new";
const LOG: &str = "log";
const POSITIONS: &str = "positions";
/// Bytes of a name. The store takes no longer one.
const NAME_LEN_MAX: usize = 64 * 1024;
/// A file that says that the topic is being destroyed.
const DESTROYED: &str = "destroyed";
/// How many topics may share the name of a folder. Their folders get a number.
const SHARED_MAX: usize = 16;

/// The owner of a folder, as its file `name` says.
enum Owner {
    /// There is none: it holds no log.
    Nobody,
    /// It belongs to the topic of this name.
    Topic(String),
    /// The system does not say.
    Unreadable,
}

impl LogFolders {
    pub(crate) fn new(
        store: &StoreSettings,
        catch_up: &Arc<CatchUp>,
        users: Arc<UserAccounts>,
        publishers_max: usize,
    ) -> Self {
        Self {
            root: match store {
                StoreSettings::Memory => None,
                StoreSettings::Disk(data) => Some(data.join(TOPICS)),
            },
            catch_up: catch_up.clone(),
            counts: Arc::new(LogCounts::new(users, publishers_max)),
        }
    }

    /// How many logs and durable subscriptions there are.
    pub(crate) fn counts(&self) -> &LogCounts {
        &self.counts
    }

    /// Returns true if there is a log of a topic, or something that cannot be looked at in its place. Opening the log
    /// then returns the error.
    pub(crate) fn has(&self, topic: &str) -> bool {
        self.root
            .as_ref()
            .is_some_and(|root| found(root, topic).is_some())
    }

    /// Checks that the log of a topic exists which the store knows as durable.
    ///
    /// # Errors
    /// [`StoreError`] if it is gone: a new log would hide the loss of its events.
    pub(crate) fn check_present(&self, topic: &str) -> Result<(), StoreError> {
        let folder = self.folder(topic)?;
        if self.has(topic) {
            return Ok(());
        }
        Err(StoreError::damaged(format!(
            "expected the log of the durable topic {topic:?} in \"{}\", got none or one without its file \"{NAME}\": put the folder back, or start once with \
             --accept-damage, which begins an empty log",
            folder.display()
        )))
    }

    /// Opens the log of a topic, and creates it if there is none. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the hub keeps nothing on disk, or the system refuses.
    pub(crate) fn open(
        &self,
        topic: &str,
        settings: &DurableSettings,
    ) -> Result<Arc<TopicLog>, StoreError> {
        let folder = self.folder(topic)?;
        let prepare = || {
            regular_file::create_folder(&folder.join(LOG))?;
            regular_file::create_folder(&folder.join(POSITIONS))?;
            // If it is there, the hub ended before the topic was destroyed.
            match fs::remove_file(folder.join(DESTROYED)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            write_name(&folder, topic)
        };
        prepare().map_err(|error| failed("prepare", &folder, error))?;
        let name = folder.join(NAME);
        let found = regular_file::read_text(&name, NAME_LEN_MAX);
        let found = found.map_err(|error| failed("read", &name, error))?;
        if found != topic {
            let shown = folder.display();
            return Err(StoreError::new(format!(
                "\"{shown}\" belongs to topic {found:?}, expected {topic:?}: use another name for one of them"
            )));
        }
        let log = open_log(topic, &folder.join(LOG), settings)?;
        let positions = folder.join(POSITIONS);
        let counts = self.counts.clone();
        TopicLog::open(
            topic,
            log,
            settings.clone(),
            positions,
            &self.catch_up,
            counts,
        )
    }

    /// Notes that the topic is about to be destroyed. If the hub ends after that, the folder is removed when the topic
    /// is.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn mark_destroyed(&self, topic: &str) -> Result<(), StoreError> {
        let folder = self.folder(topic)?;
        let mark = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            regular_file::open(&folder.join(DESTROYED), &mut options)?.sync_all()?;
            File::open(&folder)?.sync_all()
        };
        let marked = match self.reserve() {
            Some(reserve) => reserve.freeing(is_full, mark),
            None => mark(),
        };
        marked.map_err(|error| failed("mark", &folder, error))
    }

    /// Removes the log of a topic that was destroyed.
    pub(crate) fn remove(&self, topic: &str) {
        let Some(root) = &self.root else {
            return;
        };
        let mut places = places(root, topic);
        let own =
            places.find(|folder| matches!(owner(folder), Owner::Topic(name) if name == topic));
        if let Some(folder) = own {
            retire_logged(root, &folder);
        }
        if let Some(reserve) = self.reserve() {
            reserve.refill();
        }
    }

    /// Removes what is left of an earlier topic of this name, which was destroyed, or of one whose creation was
    /// interrupted. Call this before a topic is created: its log must not begin with the events of the other.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses, or there is something that the hub has not made.
    pub(crate) fn clear(&self, topic: &str) -> Result<(), StoreError> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        for folder in places(root, topic) {
            let is_left = match owner(&folder) {
                Owner::Topic(name) => name == topic && folder.join(DESTROYED).exists(),
                Owner::Nobody => fs::symlink_metadata(&folder).is_ok(),
                // Opening the log returns the error.
                Owner::Unreadable => false,
            };
            if is_left {
                check_made_here(&folder)?;
                retired::retire(root, &folder).map_err(|error| failed("remove", &folder, error))?;
            }
        }
        Ok(())
    }

    /// The files of a topic as they are now, in the order in which a backup reads them: positions before the log.
    ///
    /// # Errors
    /// If the topic has none, or the system refuses.
    pub(crate) fn files_of(&self, topic: &str) -> io::Result<Vec<KeptFile>> {
        let root = self.root.as_ref().ok_or(ErrorKind::NotFound)?;
        let folder = found(root, topic).ok_or(ErrorKind::NotFound)?;
        let within = folder.file_name().unwrap_or_default().to_string_lossy();
        let file = |part: &str, name: &str, may_vanish| KeptFile {
            path: folder.join(part).join(name),
            name: format!("{TOPICS}/{within}/{part}{name}"),
            may_vanish,
        };
        let mut files = vec![file("", NAME, false)];
        for part in [POSITIONS, LOG] {
            let entries = fs::read_dir(folder.join(part))?;
            let names = entries.map(|entry| Ok(entry?.file_name().into_string()));
            let mut names: Vec<_> = names
                .filter_map(|name: io::Result<_>| name.map(Result::ok).transpose())
                .collect::<io::Result<_>>()?;
            names.retain(|name| part == POSITIONS || is_lasting(name));
            names.sort_unstable();
            if part == LOG {
                // Retention removes the oldest first. If one is gone, all that are still to be read are gone too, and what was
                // read has no gap.
                names.reverse();
            }
            let part = format!("{part}/");
            files.extend(names.iter().map(|name| file(&part, name, true)));
        }
        Ok(files)
    }

    /// Cleans up when the hub starts, before any log is opened: removes the rest of destroyed topics whose removal was
    /// interrupted, and moves the log of a topic without a name. An earlier hub kept that where the folders of all topics
    /// are, and removed them with it.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn prepare(&self) -> Result<(), StoreError> {
        let Some(root) = &self.root else {
            return Ok(());
        };
        retired::remove_all(root);
        if matches!(owner(root), Owner::Topic(name) if name.is_empty()) {
            let folder = root.join(file_name(""));
            move_nameless(root, &folder).map_err(|error| failed("move the log in", root, error))?;
        }
        Ok(())
    }

    /// Cleans up when the hub has started: removes the rest of destroyed topics, and logs the names of topics that have a
    /// log and are not in the store.
    pub(crate) fn tidy(&self, is_known: impl Fn(&str) -> bool) {
        let Some(root) = &self.root else {
            return;
        };
        let entries = fs::read_dir(root).into_iter().flatten();
        for folder in entries.flatten().map(|entry| entry.path()) {
            let name = match regular_file::read_text(&folder.join(NAME), NAME_LEN_MAX) {
                Ok(name) if is_known(&name) => continue,
                Ok(name) => name,
                Err(error) => {
                    tracing::warn!(
                        "\"{}\" is not the log of a topic, because its file \"{NAME}\" cannot be read ({error}): delete it",
                        folder.display()
                    );
                    continue;
                }
            };
            match folder.join(DESTROYED).exists() && check_made_here(&folder).is_ok() {
                true => retire_logged(root, &folder),
                false => tracing::warn!(
                    "\"{}\" holds the events of topic {name:?}, which does not exist: create the topic again to use them, or \
                     delete the folder",
                    folder.display()
                ),
            }
        }
    }

    /// The space that is kept on the disk; `None` if the hub keeps nothing there.
    fn reserve(&self) -> Option<Reserve> {
        self.root.as_ref()?.parent().map(Reserve::new)
    }

    /// The folder of the log of a topic, or the one that it gets.
    fn folder(&self, topic: &str) -> Result<PathBuf, StoreError> {
        let Some(root) = &self.root else {
            return Err(StoreError::new(format!(
                "topic {topic:?} cannot be durable, because the hub keeps nothing on disk: set data (floe serve --data DIRECTORY)"
            )));
        };
        let free = || places(root, topic).find(|folder| matches!(owner(folder), Owner::Nobody));
        found(root, topic).or_else(free).ok_or_else(|| {
            let shown = root.join(file_name(topic));
            StoreError::new(format!(
                "topic {topic:?} cannot be durable, because \"{}\" belongs to another topic: use another name for one of them",
                shown.display()
            ))
        })
    }
}

/// The folders that the log of a topic may have.
fn places(root: &Path, topic: &str) -> impl Iterator<Item = PathBuf> {
    let first = file_name(topic);
    let count = match first.len() {
        FILE_NAME_MAX.. => SHARED_MAX,
        _ => 1,
    };
    let root = root.to_owned();
    (1..=count).map(move |number| match number {
        1 => root.join(&first),
        _ => root.join(format!("{first}-{number}")),
    })
}

/// The folder of the log of a topic, or one that it may have and that cannot be looked at; `None` if it has none.
fn found(root: &Path, topic: &str) -> Option<PathBuf> {
    let mut unreadable = None;
    for folder in places(root, topic) {
        match owner(&folder) {
            Owner::Topic(name) if name == topic => return Some(folder),
            Owner::Unreadable if unreadable.is_none() => unreadable = Some(folder),
            _ => {}
        }
    }
    unreadable
}

fn owner(folder: &Path) -> Owner {
    match regular_file::read_text(&folder.join(NAME), NAME_LEN_MAX) {
        Ok(name) => Owner::Topic(name),
        Err(error) if error.kind() == ErrorKind::NotFound => Owner::Nobody,
        Err(_) => Owner::Unreadable,
    }
}

/// Checks that a folder holds nothing but a log of the hub, so that it may be removed.
///
/// # Errors
/// [`StoreError`] if it holds something else, or cannot be read.
fn check_made_here(folder: &Path) -> Result<(), StoreError> {
    let entries = fs::read_dir(folder).map_err(|error| failed("read", folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed("read", folder, error))?;
        let file = entry.file_name();
        if ![NAME, NEW_NAME, DESTROYED, LOG, POSITIONS]
            .iter()
            .any(|ours| file == *ours)
        {
            return Err(StoreError::new(format!(
                "\"{}\" is in the place of a new log: expected nothing there, or what a destroyed topic left; move it away",
                entry.path().display()
            )));
        }
    }
    Ok(())
}

fn retire_logged(root: &Path, folder: &Path) {
    if let Err(error) = retired::retire(root, folder) {
        tracing::error!("cannot remove \"{}\": {error}", folder.display());
    }
}

/// Moves the log of the topic without a name, which is where the folders of other topics are. Its parts may be in the
/// folders of topics with the names of the parts, which stay.
fn move_nameless(root: &Path, folder: &Path) -> io::Result<()> {
    for part in [LOG, POSITIONS] {
        let (from, to) = (root.join(part), folder.join(part));
        regular_file::create_folder(&to)?;
        let entries = match fs::read_dir(&from) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let file = entry.file_name();
            let is_of_topic = [NAME, NEW_NAME, DESTROYED].iter().any(|own| file == *own);
            if entry.file_type()?.is_file() && !is_of_topic {
                fs::rename(entry.path(), to.join(file))?;
            }
        }
        // It stays if it is the folder of a topic.
        let _ = fs::remove_dir(&from);
    }
    for file in [DESTROYED, NAME] {
        match fs::rename(root.join(file), folder.join(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    File::open(folder)?.sync_all()?;
    File::open(root)?.sync_all()
}

/// The name of the file or folder for something with any name. Names that differ have different files, unless they are very
/// long. It is never a path, and never empty.
pub(super) fn file_name(name: &str) -> String {
    if name.is_empty() {
        // No other name has this file: a per cent sign is written as `%25`.
        return "%".to_owned();
    }
    let mut file = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => file.push(byte.into()),
            _ => write!(file, "%{byte:02x}").expect("a string takes all"),
        }
    }
    if file.len() > FILE_NAME_MAX {
        file.truncate(FILE_NAME_MAX - 9);
        write!(file, "-{:08x}", crc32c::crc32c(name.as_bytes())).expect("a string takes all");
    }
    file
}

/// File systems take at least 255 bytes.
const FILE_NAME_MAX: usize = 240;

fn write_name(folder: &Path, topic: &str) -> io::Result<()> {
    let path = folder.join(NAME);
    if path.exists() {
        return Ok(());
    }
    let new = folder.join(NEW_NAME);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = regular_file::open(&new, &mut options)?;
    file.write_all(topic.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    for folder in folder.ancestors().take(3) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn open_log(
    topic: &str,
    folder: &Path,
    settings: &DurableSettings,
) -> Result<Arc<dyn EventLog>, StoreError> {
    let runtime = Handle::try_current()
        .map_err(|error| StoreError::because("a durable topic needs a tokio runtime", error))?;
    let settings = LogSettings {
        retention: settings.retention.clone(),
        ..LogSettings::default()
    };
    let log = SegmentLog::open(folder, settings, runtime).map_err(|error| {
        StoreError::because(format!("cannot open the log of topic {topic:?}"), error)
    })?;
    for damage in log.damage() {
        tracing::error!("{damage}");
    }
    Ok(Arc::new(log))
}

fn failed(what: &str, folder: &Path, error: io::Error) -> StoreError {
    StoreError::because(format!("cannot {what} \"{}\"", folder.display()), error)
}

#[cfg(test)]
mod tests;
