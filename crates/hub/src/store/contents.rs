//! The contents of a store's file, and their damage. This module touches no file.

use std::collections::{BTreeMap, BTreeSet};

use floe::DecodeError;

use super::codec::{decode_link, decode_subscription, decode_topic};
use super::record::{Key, Kind, Named, StoreRecord, Summary};
use super::{StoredRecipient, StoredTopic};

/// The contents of a file, and their damage.
#[derive(Debug, Clone, Default)]
pub(super) struct StoreContents {
    /// The format of the file.
    pub(super) format: u64,
    pub(super) summary: Summary,
    /// The records that verify.
    pub(super) records: Vec<StoreRecord>,
    /// The records that do not verify, by name.
    pub(super) damage: Vec<String>,
    /// True if the library had to repair the file.
    pub(super) is_repaired: bool,
}

impl StoreContents {
    /// Returns true if everything verifies.
    pub(super) fn is_whole(&self) -> bool {
        self.damage.is_empty()
    }

    /// The summary of the records that verify, for a new file.
    pub(super) fn summary_of_records(&self) -> Summary {
        let mut summary = Summary::empty(self.summary.generation, self.summary.next_number);
        for record in &self.records {
            summary.add(&record.sealed());
            summary.next_number = summary.next_number.max(record.number.saturating_add(1));
        }
        summary
    }

    /// Notes a record that does not verify.
    pub(super) fn add_damaged(&mut self, key: Key<'_>) {
        self.damage
            .push(format!("the {} does not verify", Named(key)));
    }

    /// Takes out records that cannot be read, and those of topics that are not there.
    pub(super) fn check_records(&mut self) {
        let topics = self.records.iter().filter(is_topic);
        let topics: BTreeSet<_> = topics.map(|record| record.topic.clone()).collect();
        let (records, damage) = (&mut self.records, &mut self.damage);
        records.retain(|record| {
            let wrong = match decode(record) {
                Err(error) => Some(format!("cannot be read: {error}")),
                Ok(_) if !topics.contains(&record.topic) => Some("has no topic".to_owned()),
                Ok(_) => None,
            };
            if let Some(wrong) = &wrong {
                damage.push(format!("the {} {wrong}", Named(record.key())));
            }
            wrong.is_none()
        });
    }

    /// The topics with their recipients, both in the order of their creation.
    pub(super) fn topics(mut self) -> Vec<StoredTopic> {
        self.records.sort_by_key(|record| record.number);
        let mut topics: Vec<StoredTopic> = Vec::new();
        let mut places = BTreeMap::new();
        for record in self.records.iter().filter(is_topic) {
            places.insert(record.topic.clone(), topics.len());
            // It was read when the records were checked.
            let (user, is_durable) = decode_topic(&record.payload).unwrap_or_default();
            topics.push(StoredTopic {
                name: record.topic.clone(),
                user,
                is_durable,
                recipients: Vec::new(),
            });
        }
        for record in &self.records {
            if let Ok(Some(recipient)) = decode(record)
                && let Some(place) = places.get(&record.topic)
            {
                topics[*place].recipients.push(recipient);
            }
        }
        topics
    }
}

fn is_topic(record: &&StoreRecord) -> bool {
    record.kind == Kind::Topic
}

/// The recipient of a record; `None` for a topic's own record.
fn decode(record: &StoreRecord) -> Result<Option<StoredRecipient>, DecodeError> {
    Ok(match record.kind {
        Kind::Topic => {
            decode_topic(&record.payload)?;
            None
        }
        Kind::Subscription => Some(StoredRecipient::Subscription(decode_subscription(
            &record.payload,
        )?)),
        Kind::Link => Some(StoredRecipient::Link(decode_link(&record.payload)?)),
    })
}
