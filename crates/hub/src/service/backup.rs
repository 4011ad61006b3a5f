//! A backup of what the hub keeps on disk, which a peer reads while the hub goes on.
//!
//! The store is copied when the backup begins, while no change is made; the copy is a file in the data directory until the
//! backup ends. Of each durable topic, the positions of its subscriptions are read before its log: a position is never
//! behind the end of the log. The last file of a log may grow meanwhile, and a file that retention removes before it was
//! opened is left out, as if the backup had begun later.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::regular_file;

use super::durable::KeptFile;
use super::registry::Registry;
use super::topic::Topic;
use crate::contracts::floe::{BackupPart, BackupRefused};
use crate::lock::Mutex;
use crate::store;

/// The backup that is under way, if there is one.
#[derive(Default)]
pub(crate) struct Backups {
    current: Mutex<Option<Arc<Mutex<BackupSession>>>>,
}

/// A backup that is under way.
struct BackupSession {
    /// Its name, which the client gives.
    id: String,
    /// The copy of the store.
    store: PathBuf,
    /// The durable topics whose files are to be read, the first one being read.
    topics: VecDeque<Arc<Topic>>,
    /// The files that are to be read before the next topic.
    files: VecDeque<KeptFile>,
    /// The file that is being read.
    open: Option<OpenFile>,
    /// How many answers were given.
    answers: i64,
    /// The last answer, in case that it did not arrive.
    last: Vec<BackupPart>,
    used: Instant,
}

/// A file that is being read.
struct OpenFile {
    file: File,
    name: String,
    /// Its length when it was opened. What is appended later does not belong to the backup.
    len: u64,
    offset: u64,
}

/// A backup ends if nobody goes on with it for so long.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Bytes in one answer. Peers refuse messages of more than 1 MiB by default.
const ANSWER_LEN_MAX: usize = 512 * 1024;
/// Parts in one answer: small files have two each.
const ANSWER_PARTS_MAX: usize = 1000;
/// Bytes that are read at a time. If all are zero, they are left out: files of positions are mostly empty.
const BLOCK_LEN: usize = 64 * 1024;

impl Backups {
    /// Begins a backup, and returns what names it. It waits for the disk.
    ///
    /// # Errors
    /// [`BackupRefused`] if another one is under way, the hub keeps nothing on disk, or the system refuses.
    pub(crate) fn begin(&self, registry: &Registry) -> Result<String, BackupRefused> {
        let mut current = self.current.lock();
        if let Some(other) = &*current {
            let idle = other.lock().used.elapsed();
            if idle < IDLE_MAX {
                return Err(refused(format_args!(
                    "another backup of this hub is under way: wait until it has ended; one that was interrupted ends by itself in {} s",
                    (IDLE_MAX - idle).as_secs() + 1
                )));
            }
            // The copy of its store goes before the next one comes.
            *current = None;
        }
        let (store, topics) = registry.copy_store().map_err(refused)?;
        let id = format!("{:016x}", RandomState::new().hash_one(0));
        let copies = store::FILES.map(|name| KeptFile {
            path: store.clone(),
            name: name.to_owned(),
            may_vanish: false,
        });
        *current = Some(Arc::new(Mutex::new(BackupSession {
            id: id.clone(),
            store,
            topics: topics.into(),
            files: copies.into(),
            open: None,
            answers: 0,
            last: Vec::new(),
            used: Instant::now(),
        })));
        tracing::info!("a backup began");
        Ok(id)
    }

    /// The next parts; none if the backup is complete, which ends it. It waits for the disk.
    ///
    /// # Errors
    /// [`BackupRefused`] if this backup has ended, a topic was destroyed meanwhile, or the system refuses.
    pub(crate) fn next(
        &self,
        registry: &Registry,
        id: &str,
        number: i64,
    ) -> Result<Vec<BackupPart>, BackupRefused> {
        let Some(backup) = self.find(id) else {
            return Err(BackupRefused {
                reason: "this backup has ended: nobody went on with it for a minute, or the hub was started again; begin a new one".to_owned(),
                can_begin_anew: true,
            });
        };
        let mut backup = backup.lock();
        backup.used = Instant::now();
        if backup.answers > 0 && number == backup.answers - 1 {
            return Ok(backup.last.clone());
        }
        if number != backup.answers {
            return Err(refused(format_args!(
                "expected the number {} of the next answer of the backup, or the one before for the last answer again, got {number}: end \
                 this backup",
                backup.answers
            )));
        }
        let parts = match backup.read_parts(registry) {
            Ok(parts) => parts,
            Err(refused) => {
                drop(backup);
                self.end(id);
                return Err(refused);
            }
        };
        backup.answers += 1;
        backup.last.clone_from(&parts);
        let is_complete = parts.is_empty();
        drop(backup);
        if is_complete {
            tracing::info!("a backup is complete");
            self.end(id);
        }
        Ok(parts)
    }

    /// Ends a backup, if it is the one under way.
    pub(crate) fn end(&self, id: &str) {
        let mut current = self.current.lock();
        if current.as_ref().is_some_and(|it| it.lock().id == id) {
            *current = None;
        }
    }

    /// Ends the backup if nobody goes on with it. Returns true if there is none then.
    pub(crate) fn end_idle(&self) -> bool {
        let mut current = self.current.lock();
        let is_idle = |it: &Arc<Mutex<BackupSession>>| it.lock().used.elapsed() >= IDLE_MAX;
        if current.as_ref().is_some_and(is_idle) {
            tracing::warn!("a backup was not finished: nobody has gone on with it for a minute");
            *current = None;
        }
        current.is_none()
    }

    fn find(&self, id: &str) -> Option<Arc<Mutex<BackupSession>>> {
        let current = self.current.lock().clone()?;
        let is_meant = current.lock().id == id;
        is_meant.then_some(current)
    }
}

impl BackupSession {
    /// Reads on until the answer is long enough.
    fn read_parts(&mut self, registry: &Registry) -> Result<Vec<BackupPart>, BackupRefused> {
        let (mut parts, mut len) = (Vec::new(), 0);
        while len < ANSWER_LEN_MAX && parts.len() < ANSWER_PARTS_MAX {
            let Some(open) = &mut self.open else {
                if !self.open_next(registry)? {
                    break;
                }
                continue;
            };
            let part = open.read();
            let part = part.map_err(|error| unreadable(Path::new(&open.name), &error))?;
            if part.as_ref().is_some_and(|part| part.bytes.is_empty()) {
                self.open = None;
            }
            if let Some(part) = part {
                len += part.bytes.len();
                parts.push(part);
            }
        }
        Ok(parts)
    }

    /// Opens the next file. Returns false if there is no more.
    fn open_next(&mut self, registry: &Registry) -> Result<bool, BackupRefused> {
        loop {
            if let Some(file) = self.files.pop_front() {
                self.open = open(file)?;
                if self.open.is_some() {
                    return Ok(true);
                }
                continue;
            }
            // All files of the topic in front have been read.
            let Some(topic) = self.topics.pop_front() else {
                return Ok(false);
            };
            if topic.is_destroyed() {
                return Err(destroyed(topic.name()));
            }
            self.files = registry
                .files_of(topic.name())
                .map_err(|error| match error.kind() {
                    ErrorKind::NotFound => destroyed(topic.name()),
                    _ => refused(format_args!(
                        "cannot read the log of topic {:?}: {error}",
                        topic.name()
                    )),
                })?
                .into();
        }
    }
}

impl Drop for BackupSession {
    fn drop(&mut self) {
        match fs::remove_file(&self.store) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!("cannot remove \"{}\": {error}", self.store.display());
            }
            _ => {}
        }
    }
}

impl OpenFile {
    fn is_at_end(&self) -> bool {
        self.offset >= self.len
    }

    /// The next bytes, or the end of the file; `None` if the next bytes are zero.
    fn read(&mut self) -> io::Result<Option<BackupPart>> {
        use std::io::Read as _;
        let part = |offset: u64, bytes| BackupPart {
            file: self.name.clone(),
            offset: i64::try_from(offset).unwrap_or(i64::MAX),
            bytes,
        };
        if self.is_at_end() {
            return Ok(Some(part(self.offset, Vec::new())));
        }
        let wanted = usize::try_from(self.len - self.offset)
            .unwrap_or(BLOCK_LEN)
            .min(BLOCK_LEN);
        let mut bytes = vec![0; wanted];
        self.file.read_exact(&mut bytes).map_err(|error| {
            let expected = format!("expected {} bytes", self.len);
            io::Error::new(error.kind(), format!("{expected}: {error}"))
        })?;
        let read = match bytes.iter().all(|byte| *byte == 0) {
            true => None,
            false => Some(part(self.offset, bytes)),
        };
        self.offset += wanted as u64;
        Ok(read)
    }
}

/// Opens a file; `None` if it has vanished and may.
fn open(file: KeptFile) -> Result<Option<OpenFile>, BackupRefused> {
    let opened = regular_file::open(&file.path, OpenOptions::new().read(true));
    let opened = opened.and_then(|opened| Ok((opened.metadata()?.len(), opened)));
    match opened {
        Ok((len, opened)) => Ok(Some(OpenFile {
            file: opened,
            name: file.name,
            len,
            offset: 0,
        })),
        Err(error) if error.kind() == ErrorKind::NotFound && file.may_vanish => Ok(None),
        Err(error) => Err(unreadable(&file.path, &error)),
    }
}

fn refused(reason: impl ToString) -> BackupRefused {
    BackupRefused {
        reason: reason.to_string(),
        can_begin_anew: false,
    }
}

fn unreadable(path: &Path, error: &io::Error) -> BackupRefused {
    refused(format_args!("cannot read \"{}\": {error}", path.display()))
}

fn destroyed(topic: &str) -> BackupRefused {
    BackupRefused {
        reason: format!(
            "topic {topic:?} was destroyed while the backup was under way: begin a new one"
        ),
        can_begin_anew: true,
    }
}
