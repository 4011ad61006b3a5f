//! A store in a file, `hub.redb`. Each change is a transaction, which is on disk when the call returns.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use floe::codegen::Nilable;
use floe::encoding::{Decode, Decoder, Encode, Encoder};
use floe::{DecodeError, EncodeError, EncodingVersion, Identity, Reference};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use super::damage::{DAMAGED, guarded};
use super::{
    Change, Store, StoreError, StoredLink, StoredRecipient, StoredSubscription, StoredTopic,
};

/// Facts about the file itself.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Topics by name, with their creation numbers.
const TOPICS: TableDefinition<'_, &str, u64> = TableDefinition::new("topics");
/// Subscriptions by topic and encoded identity, with their creation numbers, and the encoded proxy and quality of
/// service.
const SUBSCRIPTIONS: TableDefinition<'_, RecipientKey, RecipientValue> =
    TableDefinition::new("subscriptions");
/// Links by topic and encoded identity of the other topic, with their creation numbers and the encoded [`StoredLink`].
/// Files from before there were links have no such table.
const LINKS: TableDefinition<'_, RecipientKey, RecipientValue> = TableDefinition::new("links");
type RecipientKey = (&'static str, &'static [u8]);
type RecipientValue = (u64, &'static [u8]);

/// Bytes of the file that are cached. The hub reads the file only when it starts.
const CACHE_LEN_MAX: usize = 1024 * 1024;

/// The layout of the tables. A hub refuses a file with another one.
const FORMAT: u64 = 1;

/// Stores topics, subscriptions and links in a directory.
pub(crate) struct Disk {
    /// `None` after an error: the library then refuses all writes until the file is opened again. The next change opens
    /// it.
    database: Option<Database>,
    file: PathBuf,
    reopen: Reopen,
}

/// Opens the file again.
type Reopen = Box<dyn Fn(&Path) -> Result<Database, DatabaseError> + Send>;

impl Disk {
    /// Opens the store in a directory, and creates either if it does not exist.
    ///
    /// # Errors
    /// If the system refuses, another process has the file open, or the file has another format or is damaged.
    pub(crate) fn open(directory: &Path) -> Result<Self, StoreError> {
        let shown = directory.display();
        let is_new = |directory: &&Path| !directory.exists();
        let new_count = directory.ancestors().take_while(is_new).count();
        fs::create_dir_all(directory)
            .map_err(|e| StoreError::because(format!("cannot create directory \"{shown}\""), e))?;
        let file = directory.join("hub.redb");
        if fs::metadata(&file).is_ok_and(|file| file.len() == 0) {
            // A hub that was killed when it created the file left it empty. But a file can also be empty because it
            // lost its content.
            let shown = file.display();
            tracing::warn!(
                "the store \"{shown}\" is empty: the hub starts without topics; to restore them, put back a copy of the file"
            );
        }
        let database = guarded(&file, || {
            let created = builder().create(&file);
            created.map_err(|error| failed("open", &file, error.into()))
        })?;
        // This never creates the file again: an empty file would forget what the hub still shows.
        let disk = Self::over(database, file, Box::new(|file| builder().open(file)))?;
        sync_names(directory, new_count);
        Ok(disk)
    }

    fn over(database: Database, file: PathBuf, reopen: Reopen) -> Result<Self, StoreError> {
        let mut disk = Self {
            database: Some(database),
            file,
            reopen,
        };
        let file = disk.file.clone();
        guarded(&file, || disk.prepare())?;
        Ok(disk)
    }

    /// Creates the tables, and checks the format.
    fn prepare(&mut self) -> Result<(), StoreError> {
        let found = self.write(|transaction| {
            transaction.open_table(TOPICS)?;
            transaction.open_table(SUBSCRIPTIONS)?;
            transaction.open_table(LINKS)?;
            let mut meta = transaction.open_table(META)?;
            let found = meta.get("format")?.map(|format| format.value());
            if found.is_none() {
                meta.insert("format", FORMAT)?;
            }
            Ok(found.unwrap_or(FORMAT))
        })?;
        if found != FORMAT {
            return Err(StoreError::new(format!(
                "\"{}\" has format {found}, expected {FORMAT}: it was written by another version of the hub",
                self.file.display()
            )));
        }
        Ok(())
    }

    fn write<T>(
        &mut self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let written = write(self.database()?, change);
        written.map_err(|error| {
            self.database = None;
            failed("write", &self.file, error)
        })
    }

    /// The database. Opens it again if necessary.
    fn database(&mut self) -> Result<&Database, StoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => (self.reopen)(&self.file)
                .map_err(|error| failed("open", &self.file, error.into()))?,
        };
        Ok(self.database.insert(database))
    }

    fn insert(
        &mut self,
        table: TableDefinition<'_, RecipientKey, RecipientValue>,
        topic: &str,
        identity: &Identity,
        value: &[u8],
    ) -> Result<(), StoreError> {
        let key = encoded(identity)?;
        self.write(|transaction| {
            let number = next_number(transaction)?;
            let mut table = transaction.open_table(table)?;
            table.insert((topic, &key[..]), (number, value))?;
            Ok(())
        })
    }

    fn read_topics(database: &Database) -> Result<Vec<StoredTopic>, redb::Error> {
        let transaction = database.begin_read()?;
        let topics = transaction.open_table(TOPICS)?;
        let mut by_name = BTreeMap::new();
        for entry in topics.iter()? {
            let (name, number) = entry?;
            by_name.insert(name.value().to_owned(), (number.value(), Vec::new()));
        }
        for (table, decode) in RECIPIENTS {
            for entry in transaction.open_table(table)?.iter()? {
                let (key, value) = entry?;
                let (topic, _) = key.value();
                let (number, bytes) = value.value();
                let Some((_, found)) = by_name.get_mut(topic) else {
                    tracing::warn!("ignored a stored {table} entry of unknown topic {topic:?}");
                    continue;
                };
                match decode(bytes) {
                    Ok(recipient) => found.push((number, recipient)),
                    Err(error) => tracing::error!(
                        "ignored a stored {table} entry of topic {topic:?} that cannot be read: {error}"
                    ),
                }
            }
        }
        Ok(in_order(by_name))
    }
}

impl Store for Disk {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        let file = self.file.clone();
        guarded(&file, || {
            let topics = Self::read_topics(self.database()?);
            topics.map_err(|error| failed("read", &file, error))
        })
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        match *change {
            Change::CreateTopic { topic } => self.write(|transaction| {
                let number = next_number(transaction)?;
                transaction.open_table(TOPICS)?.insert(topic, number)?;
                Ok(())
            }),
            Change::DestroyTopic { topic } => self.write(|transaction| {
                transaction.open_table(TOPICS)?.remove(topic)?;
                for (table, _) in RECIPIENTS {
                    let mut table = transaction.open_table(table)?;
                    table.retain(|(of_topic, _), _| of_topic != topic)?;
                }
                Ok(())
            }),
            Change::Subscribe {
                topic,
                subscription,
            } => {
                let value = encoded(subscription)?;
                let identity = &subscription.subscriber.identity;
                self.insert(SUBSCRIPTIONS, topic, identity, &value)
            }
            Change::Link { topic, link } => {
                self.insert(LINKS, topic, &link.topic.identity, &encoded(link)?)
            }
            Change::Unsubscribe { topic, subscribers } => {
                let keys: Vec<_> = subscribers.iter().map(encoded).collect::<Result<_, _>>()?;
                self.write(|transaction| {
                    for (table, _) in RECIPIENTS {
                        let mut table = transaction.open_table(table)?;
                        for key in &keys {
                            table.remove((topic, &key[..]))?;
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    fn is_slow(&self) -> bool {
        true
    }
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_LEN_MAX);
    builder
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

/// Describes which operation failed with which file, and what to do if that is known.
fn failed(what: &str, file: &Path, error: redb::Error) -> StoreError {
    let help = match &error {
        redb::Error::Corrupted(_) => DAMAGED,
        redb::Error::Io(error) if is_of_content(error.kind()) => DAMAGED,
        redb::Error::Io(error) if is_out_of_space(error.kind()) => {
            " (free space there: the next change tries again)"
        }
        _ => "",
    };
    StoreError::because(format!("cannot {what} \"{}\"{help}", file.display()), error)
}

/// Whether the system succeeded, but the content was invalid.
fn is_of_content(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

fn is_out_of_space(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Syncs the names of a new file and of new directories, so that they survive a loss of power as the content does. No
/// test shows this. Some systems cannot sync directories; the store ignores that.
fn sync_names(directory: &Path, new_count: usize) {
    for directory in directory.ancestors().take(1 + new_count) {
        let path = match directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => directory,
        };
        if let Err(error) = fs::File::open(path).and_then(|directory| directory.sync_all()) {
            tracing::debug!("cannot sync directory \"{}\": {error}", path.display());
        }
    }
}

/// Numbers new records, so that their order is known later.
fn next_number(transaction: &WriteTransaction) -> Result<u64, redb::Error> {
    let mut meta = transaction.open_table(META)?;
    let number = meta.get("next number")?.map_or(0, |number| number.value());
    meta.insert("next number", number + 1)?;
    Ok(number)
}

/// The tables of recipients, and how their records are decoded.
const RECIPIENTS: [(RecipientTable, DecodeRecipient); 2] = [
    (SUBSCRIPTIONS, |bytes| {
        decode_subscription(bytes).map(StoredRecipient::Subscription)
    }),
    (LINKS, |bytes| decode_link(bytes).map(StoredRecipient::Link)),
];
type RecipientTable = TableDefinition<'static, RecipientKey, RecipientValue>;
type DecodeRecipient = fn(&[u8]) -> Result<StoredRecipient, DecodeError>;

/// Topics by name with their creation numbers, and their recipients with theirs.
type Numbered = BTreeMap<String, (u64, Vec<(u64, StoredRecipient)>)>;

fn in_order(by_name: Numbered) -> Vec<StoredTopic> {
    let mut topics: Vec<_> = by_name.into_iter().collect();
    topics.sort_by_key(|(_, (number, _))| *number);
    let stored = |(name, (_, mut recipients)): (String, (u64, Vec<(u64, _)>))| {
        recipients.sort_by_key(|(number, _)| *number);
        let recipients = recipients.into_iter().map(|(_, r)| r).collect();
        StoredTopic { name, recipients }
    };
    topics.into_iter().map(stored).collect()
}

impl Encode for StoredSubscription {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(Some(&self.subscriber), encoder);
        encoder.put(&self.qos);
    }
}

impl Encode for StoredLink {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(Some(&self.topic), encoder);
        Reference::encode_nilable(self.receiver.as_ref(), encoder);
        encoder.put(&self.cost);
    }
}

fn encoded(value: &impl Encode) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(value);
    let finished: Result<(), EncodeError> = encoder.finish();
    finished.map_err(|error| StoreError::because("cannot store a subscription or link", error))?;
    Ok(bytes)
}

fn decode_subscription(bytes: &[u8]) -> Result<StoredSubscription, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let subscriber = Reference::decode_nilable(&mut decoder)?.unwrap_or_else(nil_reference);
    let qos = Decode::decode(&mut decoder)?;
    decoder.finish_exact("subscription")?;
    Ok(StoredSubscription { subscriber, qos })
}

fn decode_link(bytes: &[u8]) -> Result<StoredLink, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let topic = Reference::decode_nilable(&mut decoder)?.unwrap_or_else(nil_reference);
    let receiver = Reference::decode_nilable(&mut decoder)?;
    let cost = decoder.get()?;
    decoder.finish_exact("link")?;
    Ok(StoredLink {
        topic,
        receiver,
        cost,
    })
}

/// Takes the place of a nil proxy, which is never stored.
fn nil_reference() -> Reference {
    Reference::new(Identity::default(), floe::reference::Target::WellKnown)
}

#[cfg(test)]
mod tests;
