//! What `floe.toml` says of durable topics.

use std::collections::BTreeMap;

use floe_hub::DurableSettings;
use floe_hub::log::Level;

use super::entry::{Entry, Problem};

/// The tables `[topic.NAME]`, as far as they are about durability.
#[derive(Debug, Default)]
pub(super) struct DurableTables(BTreeMap<String, Table>);

#[derive(Debug, Default)]
struct Table {
    is_durable: bool,
    settings: DurableSettings,
    /// The line of a setting that only durable topics have.
    line: usize,
}

/// The levels by name.
const LEVELS: [(&str, Level); 3] = [
    ("accepted", Level::Accepted),
    ("written", Level::Written),
    ("synced", Level::Synced),
];

impl DurableTables {
    /// Takes a setting of a topic. Returns false if it is about something else.
    pub(super) fn apply(
        &mut self,
        topic: &str,
        path: &[&str],
        entry: &Entry,
    ) -> Result<bool, Problem> {
        let known = matches!(
            path,
            ["durable" | "acknowledge"] | ["retention", "age" | "bytes" | "events"]
        );
        if !known {
            return Ok(false);
        }
        let table = self.0.entry(topic.to_owned()).or_default();
        if *path == ["durable"] {
            table.is_durable = entry.boolean()?;
            return Ok(true);
        }
        table.line = entry.line;
        let retention = &mut table.settings.retention;
        match path {
            ["acknowledge"] => table.settings.acknowledge = entry.one_of(&LEVELS)?,
            ["retention", "age"] => retention.age = entry.time_or("for ever")?,
            ["retention", "bytes"] => retention.bytes = Some(entry.bytes()? as u64),
            _ => retention.events = Some(entry.count()? as u64),
        }
        Ok(true)
    }

    /// The durable topics, and what is wrong with the tables.
    pub(super) fn finish(self, problems: &mut Vec<Problem>) -> BTreeMap<String, DurableSettings> {
        let mut durable = BTreeMap::new();
        for (name, table) in self.0 {
            if table.is_durable {
                durable.insert(name, table.settings);
            } else if table.line > 0 {
                let message = format_args!(
                    "expected topic.{name}.durable = true beside topic.{name}.acknowledge and topic.{name}.retention, which only \
                     durable topics have"
                );
                problems.push(Problem::new(table.line, message));
            }
        }
        durable
    }
}
