//! Where the logs of topics are on disk.
//!
//! ```text
//! DATA/topics/TOPIC/name          the name of the topic
//! DATA/topics/TOPIC/log/          its events
//! DATA/topics/TOPIC/positions/    a file for each durable subscription
//! ```
//!
//! A topic is durable if it has such a folder.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use floe::regular_file;
use tokio::runtime::Handle;

use super::log_counts::LogCounts;
use super::topic_log::TopicLog;
use crate::log::{EventLog, LogSettings, SegmentLog};
use crate::service::catch_up::CatchUp;
use crate::service::user_accounts::UserAccounts;
use crate::settings::{DurableSettings, StoreSettings};
use crate::store::StoreError;

/// The folders of all durable topics of a hub.
#[derive(Debug)]
pub(crate) struct LogFolders {
    /// `None` if the hub keeps nothing on disk.
    root: Option<PathBuf>,
    /// The readers that are far behind.
    catch_up: Arc<CatchUp>,
    counts: Arc<LogCounts>,
}

/// The file with the name of the topic.
const NAME: &str = "name";
/// Bytes of a name. The store takes no longer one.
const NAME_LEN_MAX: usize = 64 * 1024;
/// A file that says that the topic is being destroyed.
const DESTROYED: &str = "destroyed";

impl LogFolders {
    pub(crate) fn new(
        store: &StoreSettings,
        catch_up: &Arc<CatchUp>,
        users: Arc<UserAccounts>,
    ) -> Self {
        Self {
            root: match store {
                StoreSettings::Memory => None,
                StoreSettings::Disk(data) => Some(data.join("topics")),
            },
            catch_up: catch_up.clone(),
            counts: Arc::new(LogCounts::new(users)),
        }
    }

    /// How many logs and durable subscriptions there are.
    pub(crate) fn counts(&self) -> &LogCounts {
        &self.counts
    }

    /// Returns true if there is a log of a topic, or something that cannot be looked at in its place. Opening the log
    /// then returns the error.
    pub(crate) fn has(&self, topic: &str) -> bool {
        let Ok(folder) = self.folder(topic) else {
            return false;
        };
        let found = fs::symlink_metadata(folder.join(NAME));
        !found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
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
            fs::create_dir_all(folder.join("log"))?;
            fs::create_dir_all(folder.join("positions"))?;
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
        let log = open_log(topic, &folder.join("log"), settings)?;
        let positions = folder.join("positions");
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
        mark().map_err(|error| failed("mark", &folder, error))
    }

    /// Removes the log of a topic that was destroyed.
    pub(crate) fn remove(&self, topic: &str) {
        if let Ok(folder) = self.folder(topic) {
            remove(&folder);
        }
    }

    /// Cleans up when the hub starts: removes the rest of destroyed topics, and logs the names of topics that have a
    /// log and are not in the store.
    pub(crate) fn tidy(&self, is_known: impl Fn(&str) -> bool) {
        let Some(entries) = self.root.as_ref().and_then(|root| fs::read_dir(root).ok()) else {
            return;
        };
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
            match folder.join(DESTROYED).exists() {
                true => remove(&folder),
                false => tracing::warn!(
                    "\"{}\" holds the events of topic {name:?}, which does not exist: create the topic again to use them, or \
                     delete the folder",
                    folder.display()
                ),
            }
        }
    }

    fn folder(&self, topic: &str) -> Result<PathBuf, StoreError> {
        match &self.root {
            Some(root) => Ok(root.join(file_name(topic))),
            None => Err(StoreError::new(format!(
                "topic {topic:?} cannot be durable, because the hub keeps nothing on disk: set data (floe serve --data DIRECTORY)"
            ))),
        }
    }
}

/// The name of the file or folder for something with any name. Names that differ have different files, unless they are very
/// long.
pub(super) fn file_name(name: &str) -> String {
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
    let new = folder.join("name.new");
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

fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => tracing::error!("cannot remove \"{}\": {error}", folder.display()),
    }
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
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_file_of_its_own_that_every_file_system_takes() {
        assert_eq!(file_name("ticker-1"), "ticker-1");
        assert_eq!(file_name("../a b"), "%2e%2e%2fa%20b");
        assert_eq!(file_name("ä"), "%c3%a4");
        let long = |end: &str| file_name(&format!("{}{end}", "x".repeat(489)));
        assert_eq!(long("").len(), FILE_NAME_MAX);
        assert_ne!(long("a"), long("b"));
    }
}
