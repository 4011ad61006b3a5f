//! One file of a store: written in transactions by `redb`, and verified as a whole when it is opened.
//!
//! ```text
//! table      key                                value
//! "meta"     "format"                           3
//! "summary"  "summary"                          the sealed Summary
//! "records"  (topic, kind, encoded identity)    the sealed Record
//! ```
//!
//! Kind 0 is a topic, 1 a subscription, 2 a link. Identities, subscriptions and links are encoded with encoding 1.1.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use floe::regular_file;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, TableDefinition, WriteTransaction,
};

use super::contents::StoreContents;
use super::damage::{DAMAGED, guarded};
use super::format_1;
use super::record::{Key, Kind, StoreRecord, Summary, seal};
use super::{StoreError, is_full};

/// Facts about the file itself.
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const SUMMARY: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("summary");
pub(super) const RECORDS: TableDefinition<'_, Key<'_>, &[u8]> = TableDefinition::new("records");

/// The layout of the tables, and of the files of positions beside them. A hub refuses a file with a later one.
pub(super) const FORMAT: u64 = 3;

/// As [`FORMAT`], but a hub that writes this does not know the positions of today, and would begin them anew.
const FORMER_POSITIONS: u64 = 2;

/// Bytes of a file that are cached. The hub reads it only when it starts.
const CACHE_LEN_MAX: usize = 512 * 1024;

/// An open file of a store.
pub(super) struct StoreFile {
    /// `None` after an error: the library then refuses all writes until the file is opened again. The next change opens
    /// it.
    database: Option<Database>,
    path: PathBuf,
    /// Which file it is; `None` if the system does not say.
    id: Option<FileId>,
    reopen: Reopen,
}

/// Tells files apart, whatever their names are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// The file at a path; `None` if there is none.
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            number: metadata.ino(),
        })
    }

    /// Windows does not let others remove a file that is open.
    #[cfg(not(unix))]
    fn of(_path: &Path) -> Option<Self> {
        None
    }
}

/// Opens the file again.
pub(super) type Reopen = Box<dyn Fn(&Path) -> Result<Database, DatabaseError> + Send>;

/// The result of looking for a file at its path.
pub(super) struct Found {
    /// `None` if it cannot be opened, or there is none.
    pub(super) file: Option<StoreFile>,
    /// The contents that were read.
    pub(super) contents: StoreContents,
    pub(super) is_absent: bool,
    /// Bytes of the file.
    len: u64,
}

impl Found {
    /// Returns true if the file is far longer than its records need. Each change would look at all of it.
    pub(super) fn is_oversized(&self) -> bool {
        const LEN_MIN: u64 = 64 << 20;
        const PER_RECORD: u64 = 4096;
        let records = &self.contents.records;
        let payloads: usize = records.iter().map(|record| record.payload.len()).sum();
        let needed = records.len() as u64 * PER_RECORD + 4 * payloads as u64;
        self.len > LEN_MIN + 4 * needed
    }
}

/// A change to the records of a file.
#[derive(Debug)]
pub(super) enum Edit {
    Insert {
        topic: String,
        kind: Kind,
        identity: Vec<u8>,
        payload: Vec<u8>,
    },
    /// Removes all records of a topic.
    RemoveTopic { topic: String },
    /// Removes the subscriptions and links with these identities.
    Remove {
        topic: String,
        identities: Vec<Vec<u8>>,
    },
}

impl StoreFile {
    /// Opens and verifies a file.
    ///
    /// # Errors
    /// If the system refuses, or another process has the file open.
    pub(super) fn find(path: &Path) -> Result<Found, StoreError> {
        let mut found = Found {
            file: None,
            contents: StoreContents::default(),
            is_absent: false,
            len: 0,
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                found.is_absent = true;
                return Ok(found);
            }
            Ok(metadata) if !metadata.is_file() => {
                let wrong = regular_file::check(&metadata).err();
                let wrong = wrong.map(|error| error.to_string());
                found.contents.damage.extend(wrong);
                return Ok(found);
            }
            Ok(metadata) if metadata.len() == 0 => {
                found.contents.damage.push("it is empty".to_owned());
                return Ok(found);
            }
            Ok(metadata) => found.len = metadata.len(),
            Err(_) => {}
        }
        Self::read_found(path, found, || builder_open(path))
    }

    /// Does as [`StoreFile::find`], but reads a copy of the file in memory and changes nothing: the disk is full, and opening a file
    /// may need space. The next change opens it.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn find_copy(path: &Path) -> Result<Found, StoreError> {
        let copy = || {
            let bytes = fs::read(path)?;
            let backend = InMemoryBackend::new();
            backend.set_len(bytes.len() as u64)?;
            backend.write(0, &bytes)?;
            builder().create_with_backend(backend)
        };
        let found = Found {
            file: None,
            contents: StoreContents::default(),
            is_absent: false,
            len: fs::metadata(path).map_or(0, |it| it.len()),
        };
        let mut found = Self::read_found(path, found, copy)?;
        if let Some(file) = &mut found.file {
            guarded(|| drop(file.database.take()));
        }
        Ok(found)
    }

    fn read_found(
        path: &Path,
        mut found: Found,
        open: impl FnOnce() -> Result<Database, DatabaseError>,
    ) -> Result<Found, StoreError> {
        let opened = guarded(|| read_file(open, &mut found.contents));
        found.contents.check_records();
        let opened = opened.unwrap_or_else(|| {
            let reason = "the rest of it is not what a hub writes";
            Err(Unread::Damaged(reason.to_owned()))
        });
        match opened {
            Ok(database) => {
                let file = Self::over(database, path.to_owned(), Box::new(reopen));
                found.file = Some(file);
            }
            Err(Unread::Damaged(reason)) => found.contents.damage.push(reason),
            Err(Unread::Refused(error)) => return Err(failed("open", path, error)),
        }
        Ok(found)
    }

    /// Writes a new file, which takes the place of one that is there. A process that is killed meanwhile leaves the old
    /// one as it is.
    pub(super) fn create(
        path: &Path,
        records: &[StoreRecord],
        summary: &Summary,
    ) -> Result<Self, StoreError> {
        let new = path.with_extension("new");
        let write = || {
            match fs::remove_file(&new) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            // Only its owner may read what the hub knows.
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create_new(true);
            let database = builder().create_file(regular_file::open(&new, &mut options)?)?;
            write(&database, |transaction| {
                transaction.open_table(META)?.insert("format", FORMAT)?;
                let mut table = transaction.open_table(RECORDS)?;
                for record in records {
                    table.insert(record.key(), &record.sealed()[..])?;
                }
                put_summary(transaction, summary)
            })?;
            drop(database);
            fs::rename(&new, path)?;
            Ok(reopen(path)?)
        };
        let created = write().map_err(|error: redb::Error| failed("create", path, error))?;
        Ok(Self::over(created, path.to_owned(), Box::new(reopen)))
    }

    /// A file that the next change opens.
    pub(super) fn unopened(path: &Path) -> Self {
        Self {
            database: None,
            id: FileId::of(path),
            path: path.to_owned(),
            reopen: Box::new(reopen),
        }
    }

    pub(super) fn over(database: Database, path: PathBuf, reopen: Reopen) -> Self {
        Self {
            database: Some(database),
            id: FileId::of(&path),
            path,
            reopen,
        }
    }

    /// Makes changes, all of them or none, and returns the new summary.
    pub(super) fn apply(&mut self, edits: &[Edit]) -> Result<Summary, StoreError> {
        self.write(|transaction| {
            let mut summary = summary_of(transaction)?;
            summary.generation += 1;
            for edit in edits {
                make(edit, transaction, &mut summary)?;
            }
            put_summary(transaction, &summary)?;
            Ok(summary)
        })
    }

    /// Reads all records.
    pub(super) fn read(&mut self) -> Result<StoreContents, StoreError> {
        let path = self.path.clone();
        let mut contents = StoreContents::default();
        match read(self.database()?, &mut contents) {
            Ok(()) => Ok(contents),
            Err(error) => Err(failed("read", &path, error)),
        }
    }

    pub(super) fn write<T>(
        &mut self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        self.check_in_place()?;
        let written = write(self.database()?, change);
        written.map_err(|error| {
            self.database = None;
            failed("write", &self.path, error)
        })
    }

    /// Checks that the file was not removed, and that no other is in its place. A change would be gone with the process.
    fn check_in_place(&self) -> Result<(), StoreError> {
        if self.id.is_none() || FileId::of(&self.path) == self.id {
            return Ok(());
        }
        Err(StoreError::new(format!(
            "\"{}\" was removed or replaced while the hub runs: put it back, or start the hub again",
            self.path.display()
        )))
    }

    /// The database. Opens it again if necessary.
    fn database(&mut self) -> Result<&Database, StoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => (self.reopen)(&self.path)
                .map_err(|error| failed("open", &self.path, error.into()))?,
        };
        Ok(self.database.insert(database))
    }

    /// Returns true if the file is open.
    pub(super) fn is_open(&self) -> bool {
        self.database.is_some()
    }

    /// Closes the file, as an error does.
    #[cfg(test)]
    pub(super) fn close(&mut self) {
        self.database = None;
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // The library writes to a file when it closes it, and panics if it then finds damage.
        guarded(|| drop(self.database.take()));
    }
}

/// Why a file was not read.
enum Unread {
    /// Its content makes no sense.
    Damaged(String),
    /// The system refuses, or another process has the file open.
    Refused(redb::Error),
}

impl<E: Into<redb::Error>> From<E> for Unread {
    fn from(error: E) -> Self {
        match error.into() {
            error @ redb::Error::DatabaseAlreadyOpen => Self::Refused(error),
            redb::Error::Io(error) if !is_of_content(error.kind()) => {
                Self::Refused(redb::Error::Io(error))
            }
            error => Self::Damaged(error.to_string()),
        }
    }
}

/// Reads the records first, and lets the library check its pages then: a page that is damaged costs its own records.
fn read_file(
    open: impl FnOnce() -> Result<Database, DatabaseError>,
    contents: &mut StoreContents,
) -> Result<Database, Unread> {
    let mut database = open()?;
    read(&database, contents)?;
    if contents.format > FORMAT {
        return Err(Unread::Damaged(format!(
            "it has format {}, expected at most {FORMAT}: a later version of the hub wrote it, or it is damaged",
            contents.format
        )));
    }
    contents.is_repaired = !database.check_integrity()?;
    if contents.is_repaired {
        // The library may have gone back to an earlier state.
        *contents = StoreContents::default();
        read(&database, contents)?;
        contents.is_repaired = true;
    }
    // This change says nothing new. It finds damage to what the library itself needs for changes.
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    transaction
        .open_table(META)?
        .insert("format", contents.format)?;
    transaction.commit()?;
    Ok(database)
}

fn read(database: &Database, contents: &mut StoreContents) -> Result<(), redb::Error> {
    let transaction = database.begin_read()?;
    let format = transaction.open_table(META)?.get("format")?;
    contents.format = format.map_or(0, |format| format.value());
    match contents.format {
        1 => format_1::read(&transaction, contents),
        FORMER_POSITIONS | FORMAT => read_records(&transaction, contents),
        _ => Ok(()),
    }
}

fn read_records(
    transaction: &ReadTransaction,
    contents: &mut StoreContents,
) -> Result<(), redb::Error> {
    let summary = transaction.open_table(SUMMARY)?.get("summary")?;
    let summary = summary.and_then(|summary| Summary::decode(summary.value()));
    contents.summary = summary.unwrap_or_default();
    let mut found = Summary::default();
    let records = transaction.open_table(RECORDS)?;
    for entry in records.iter()? {
        let (key, value) = entry?;
        found.add(value.value());
        match StoreRecord::open(key.value(), value.value()) {
            Some(record) => contents.records.push(record),
            None => contents.add_damaged(key.value()),
        }
    }
    let Some(summary) = summary else {
        contents
            .damage
            .push("its summary does not verify".to_owned());
        return Ok(());
    };
    if records.len()? != found.count {
        let damage = "the length of its table is wrong".to_owned();
        contents.damage.push(damage);
    }
    let damage = match summary.count.checked_sub(found.count) {
        Some(0) if summary.has_records_of(&found) || !contents.is_whole() => return Ok(()),
        Some(0) => "a record was replaced by an earlier one".to_owned(),
        Some(missing) => format!("{missing} of {} records are missing", summary.count),
        None => format!("{} records, expected {}", found.count, summary.count),
    };
    contents.damage.push(damage);
    Ok(())
}

fn make(
    edit: &Edit,
    transaction: &WriteTransaction,
    summary: &mut Summary,
) -> Result<(), redb::Error> {
    let mut records = transaction.open_table(RECORDS)?;
    match edit {
        Edit::Insert {
            topic,
            kind,
            identity,
            payload,
        } => {
            let key = (&topic[..], kind.number(), &identity[..]);
            let former = records.get(key)?;
            let former = former.and_then(|former| StoreRecord::open(key, former.value()));
            // A record that replaces another keeps its place in the order.
            let number = former.map_or(summary.next_number, |former| former.number);
            summary.next_number = summary.next_number.max(number + 1);
            let value = seal(key, number, payload);
            summary.add(&value);
            if let Some(former) = records.insert(key, &value[..])? {
                summary.take(former.value());
            }
        }
        Edit::RemoveTopic { topic } => {
            // The next possible name of a topic, in the order of keys.
            let next = format!("{topic}\0");
            let range = (&topic[..], 0, &[][..])..(&next[..], 0, &[][..]);
            for removed in records.extract_from_if(range, |_, _| true)? {
                summary.take(removed?.1.value());
            }
        }
        Edit::Remove { topic, identities } => {
            for identity in identities {
                for kind in [Kind::Subscription, Kind::Link] {
                    let key = (&topic[..], kind.number(), &identity[..]);
                    if let Some(removed) = records.remove(key)? {
                        summary.take(removed.value());
                    }
                }
            }
        }
    }
    Ok(())
}

/// The summary in a file that was verified when it was opened.
fn summary_of(transaction: &WriteTransaction) -> Result<Summary, redb::Error> {
    let table = transaction.open_table(SUMMARY)?;
    let summary = table.get("summary")?;
    let summary = summary.and_then(|summary| Summary::decode(summary.value()));
    summary.ok_or_else(|| redb::Error::Corrupted("its summary does not verify".to_owned()))
}

fn put_summary(transaction: &WriteTransaction, summary: &Summary) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(SUMMARY)?;
    table.insert("summary", &summary.encoded()[..])?;
    Ok(())
}

fn write<T>(
    database: &Database,
    change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
) -> Result<T, redb::Error> {
    let transaction = database.begin_write()?;
    let value = change(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

fn reopen(path: &Path) -> Result<Database, DatabaseError> {
    builder_open(path)
}

/// Opens a file. This never creates one: an empty file would forget what it should have.
fn builder_open(path: &Path) -> Result<Database, DatabaseError> {
    #[cfg(test)]
    super::full_disk::check().map_err(redb::StorageError::from)?;
    builder().open(path)
}

pub(super) fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_LEN_MAX);
    builder
}

/// Describes which operation failed with which file, and what to do if that is known.
fn failed(what: &str, file: &Path, error: redb::Error) -> StoreError {
    let help = match &error {
        redb::Error::Corrupted(_) => DAMAGED,
        redb::Error::Io(error) if is_of_content(error.kind()) => DAMAGED,
        redb::Error::Io(error) if is_full(error) => {
            " (free space there: the next change tries again)"
        }
        _ => "",
    };
    StoreError::because(format!("cannot {what} \"{}\"{help}", file.display()), error)
}

/// Returns true if the system succeeded, but the content was invalid. A damaged length or offset is an invalid
/// argument.
fn is_of_content(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput
    )
}
