//! Reads a file of the first format, which had no checksums. The store then writes it anew in the present format.

use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError};

use super::contents::StoreContents;
use super::record::{Kind, StoreRecord};

/// Topics by name, with their creation numbers.
const TOPICS: TableDefinition<'_, &str, u64> = TableDefinition::new("topics");
/// Subscriptions by topic and encoded identity, with their creation numbers and encodings.
const SUBSCRIPTIONS: RecipientTable = TableDefinition::new("subscriptions");
/// Links, in the same way. Files from before there were links have no such table.
const LINKS: RecipientTable = TableDefinition::new("links");
type RecipientTable = TableDefinition<'static, (&'static str, &'static [u8]), (u64, &'static [u8])>;

/// Reads all records. Nothing verifies them.
pub(super) fn read(
    transaction: &ReadTransaction,
    contents: &mut StoreContents,
) -> Result<(), redb::Error> {
    for entry in transaction.open_table(TOPICS)?.iter()? {
        let (name, number) = entry?;
        contents.records.push(StoreRecord {
            topic: name.value().to_owned(),
            kind: Kind::Topic,
            identity: Vec::new(),
            number: number.value(),
            payload: Vec::new(),
        });
    }
    for (table, kind) in [(SUBSCRIPTIONS, Kind::Subscription), (LINKS, Kind::Link)] {
        let table = match transaction.open_table(table) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        for entry in table.iter()? {
            let (key, value) = entry?;
            let ((topic, identity), (number, payload)) = (key.value(), value.value());
            contents.records.push(StoreRecord {
                topic: topic.to_owned(),
                kind,
                identity: identity.to_owned(),
                number,
                payload: payload.to_owned(),
            });
        }
    }
    Ok(())
}
