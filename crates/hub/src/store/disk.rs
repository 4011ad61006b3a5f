//! A store in a file, `hub.redb`: each change is a transaction that is on disk when it returns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use floe::{
    Decode, DecodeError, Decoder, Encode, EncodeError, Encoder, EncodingVersion, Identity, Nilable,
    Reference,
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::{Change, Store, StoreError, StoredSubscription, StoredTopic};

/// Facts about the file itself.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Topics by name, with the number of their creation.
const TOPICS: TableDefinition<'_, &str, u64> = TableDefinition::new("topics");
/// Subscriptions by topic and encoded identity: the number of their creation, and the encoded
/// proxy and quality of service.
const SUBSCRIPTIONS: TableDefinition<'_, SubscriptionKey, SubscriptionValue> =
    TableDefinition::new("subscriptions");
type SubscriptionKey = (&'static str, &'static [u8]);
type SubscriptionValue = (u64, &'static [u8]);

/// Bytes of the file that are kept in memory. It is read at the start alone.
const CACHE_LEN_MAX: usize = 1024 * 1024;

/// The layout of the tables. A hub refuses a file with another one.
const FORMAT: u64 = 1;

/// Topics and subscriptions in a directory of their own.
#[derive(Debug)]
pub(crate) struct Disk {
    database: Database,
    file: PathBuf,
}

impl Disk {
    /// Opens the store in a directory, and creates either if it does not exist.
    ///
    /// # Errors
    /// If the system refuses, another process has it open, or it has another format.
    pub(crate) fn open(directory: &Path) -> Result<Self, StoreError> {
        let shown = directory.display();
        fs::create_dir_all(directory)
            .map_err(|e| StoreError::because(format!("cannot create directory \"{shown}\""), e))?;
        let file = directory.join("hub.redb");
        let database = Database::builder()
            .set_cache_size(CACHE_LEN_MAX)
            .create(&file)
            .map_err(|error| {
                StoreError::because(format!("cannot open \"{}\"", file.display()), error)
            })?;
        let disk = Self { database, file };
        disk.prepare()?;
        Ok(disk)
    }

    /// Creates the tables, and checks the format.
    fn prepare(&self) -> Result<(), StoreError> {
        let found = self.write(|transaction| {
            transaction.open_table(TOPICS)?;
            transaction.open_table(SUBSCRIPTIONS)?;
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
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let run = || {
            let transaction = self.database.begin_write()?;
            let value = change(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|error: redb::Error| {
            StoreError::because(format!("cannot write \"{}\"", self.file.display()), error)
        })
    }

    fn read_topics(&self) -> Result<Vec<StoredTopic>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let topics = transaction.open_table(TOPICS)?;
        let subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
        let mut by_name = BTreeMap::new();
        for entry in topics.iter()? {
            let (name, number) = entry?;
            by_name.insert(name.value().to_owned(), (number.value(), Vec::new()));
        }
        for entry in subscriptions.iter()? {
            let (key, value) = entry?;
            let (topic, _) = key.value();
            let (number, bytes) = value.value();
            let Some((_, found)) = by_name.get_mut(topic) else {
                tracing::warn!("ignored a stored subscription to unknown topic \"{topic}\"");
                continue;
            };
            match decode_subscription(bytes) {
                Ok(subscription) => found.push((number, subscription)),
                Err(error) => tracing::error!(
                    "ignored a stored subscription to topic \"{topic}\" that cannot be read: {error}"
                ),
            }
        }
        Ok(in_order(by_name))
    }
}

impl Store for Disk {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        self.read_topics().map_err(|error| {
            StoreError::because(format!("cannot read \"{}\"", self.file.display()), error)
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
                let mut subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
                subscriptions.retain(|(of_topic, _), _| of_topic != topic)?;
                Ok(())
            }),
            Change::Subscribe {
                topic,
                subscription,
            } => {
                let key = encoded(&subscription.subscriber.identity)?;
                let value = encoded(subscription)?;
                self.write(|transaction| {
                    let number = next_number(transaction)?;
                    let mut subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
                    subscriptions.insert((topic, &key[..]), (number, &value[..]))?;
                    Ok(())
                })
            }
            Change::Unsubscribe { topic, subscribers } => {
                let keys: Vec<_> = subscribers.iter().map(encoded).collect::<Result<_, _>>()?;
                self.write(|transaction| {
                    let mut subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
                    for key in &keys {
                        subscriptions.remove((topic, &key[..]))?;
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

/// Numbers what is created, so that its order is known later.
fn next_number(transaction: &WriteTransaction) -> Result<u64, redb::Error> {
    let mut meta = transaction.open_table(META)?;
    let number = meta.get("next number")?.map_or(0, |number| number.value());
    meta.insert("next number", number + 1)?;
    Ok(number)
}

/// Names with the numbers of their creation, and the same of their subscriptions.
type Numbered = BTreeMap<String, (u64, Vec<(u64, StoredSubscription)>)>;

fn in_order(by_name: Numbered) -> Vec<StoredTopic> {
    let mut topics: Vec<_> = by_name.into_iter().collect();
    topics.sort_by_key(|(_, (number, _))| *number);
    let stored = |(name, (_, mut subscriptions)): (String, (u64, Vec<(u64, _)>))| {
        subscriptions.sort_by_key(|(number, _)| *number);
        let subscriptions = subscriptions.into_iter().map(|(_, s)| s).collect();
        StoredTopic {
            name,
            subscriptions,
        }
    };
    topics.into_iter().map(stored).collect()
}

impl Encode for StoredSubscription {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(Some(&self.subscriber), encoder);
        encoder.put(&self.qos);
    }
}

fn encoded(value: &impl Encode) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(value);
    let finished: Result<(), EncodeError> = encoder.finish();
    finished.map_err(|error| StoreError::because("cannot store a subscription", error))?;
    Ok(bytes)
}

fn decode_subscription(bytes: &[u8]) -> Result<StoredSubscription, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let subscriber = Reference::decode_nilable(&mut decoder)?.unwrap_or_else(nobody);
    let qos = Decode::decode(&mut decoder)?;
    decoder.finish_exact("subscription")?;
    Ok(StoredSubscription { subscriber, qos })
}

/// Stands for a nil proxy, which is never stored.
fn nobody() -> Reference {
    Reference::new(Identity::default(), floe::Target::WellKnown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store in a directory that is removed with it.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let name = format!("floe-hub-disk-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn subscription(proxy: &str) -> StoredSubscription {
        StoredSubscription {
            subscriber: proxy.parse().unwrap(),
            qos: BTreeMap::from([("retryCount".to_owned(), "3".to_owned())]),
        }
    }

    #[test]
    fn what_was_applied_is_loaded_by_the_next_process_in_the_order_of_creation() {
        let directory = Directory::new("order");
        let subscriptions = ["z -o:tcp -h h -p 1", "c/a -f f:tcp -h h -p 2 -t 5"].map(subscription);
        let mut disk = Disk::open(&directory.0).unwrap();
        for topic in ["b", "a", "gone"] {
            disk.apply(&Change::CreateTopic { topic }).unwrap();
            for subscription in &subscriptions {
                disk.apply(&Change::Subscribe {
                    topic,
                    subscription,
                })
                .unwrap();
            }
        }
        let left = [subscriptions[0].subscriber.identity.clone()];
        disk.apply(&Change::Unsubscribe {
            topic: "a",
            subscribers: &left,
        })
        .unwrap();
        disk.apply(&Change::DestroyTopic { topic: "gone" }).unwrap();
        drop(disk);
        let loaded = Disk::open(&directory.0).unwrap().load().unwrap();
        let topic = |name: &str, subscriptions: &[StoredSubscription]| StoredTopic {
            name: name.to_owned(),
            subscriptions: subscriptions.to_vec(),
        };
        assert_eq!(
            loaded,
            [topic("b", &subscriptions), topic("a", &subscriptions[1..])]
        );
    }

    #[test]
    fn a_file_of_another_format_is_refused_with_both_formats() {
        let directory = Directory::new("format");
        let disk = Disk::open(&directory.0).unwrap();
        disk.write(|transaction| {
            transaction.open_table(META)?.insert("format", 7)?;
            Ok(())
        })
        .unwrap();
        drop(disk);
        let error = Disk::open(&directory.0).unwrap_err().to_string();
        assert!(error.contains("has format 7, expected 1"), "{error}");
    }

    #[test]
    fn a_record_that_cannot_be_read_harms_no_other() {
        let directory = Directory::new("record");
        let mut disk = Disk::open(&directory.0).unwrap();
        disk.apply(&Change::CreateTopic { topic: "t" }).unwrap();
        let good = subscription("s:tcp -h h -p 1");
        disk.apply(&Change::Subscribe {
            topic: "t",
            subscription: &good,
        })
        .unwrap();
        disk.write(|transaction| {
            let mut subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
            subscriptions.insert(("t", &b"x"[..]), (9, &b"\x05nonsense"[..]))?;
            Ok(())
        })
        .unwrap();
        assert_eq!(disk.load().unwrap()[0].subscriptions, [good]);
    }

    #[test]
    fn a_file_that_is_no_store_is_refused_by_name() {
        let directory = Directory::new("garbage");
        fs::create_dir_all(&directory.0).unwrap();
        fs::write(directory.0.join("hub.redb"), b"not a store").unwrap();
        let error = Disk::open(&directory.0).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot open \"") && error.contains("hub.redb"),
            "{error}"
        );
    }
}
