//! What `floe.toml` says of durable topics, and of topics that remember events in memory.

use std::collections::BTreeMap;

use floe_hub::log::{Level, Retention};
use floe_hub::{DurableSettings, HubSettings};

use super::entry::{Entry, Problem};

/// The tables `[topic.NAME]`, as far as they say what a topic keeps.
#[derive(Debug, Default)]
pub(super) struct DurableTables(BTreeMap<String, Table>);

#[derive(Debug, Default)]
struct Table {
    is_durable: bool,
    settings: DurableSettings,
    /// The line of a setting that only durable topics have.
    line: usize,
    /// What it remembers in memory.
    history: Option<Retention>,
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
            ["durable" | "acknowledge"] | ["retention" | "history", "age" | "bytes" | "events"]
        );
        if !known {
            return Ok(false);
        }
        let table = self.0.entry(topic.to_owned()).or_default();
        if *path == ["durable"] {
            table.is_durable = entry.boolean()?;
            return Ok(true);
        }
        if let ["history", key] = path {
            let history = table.history.get_or_insert_default();
            retain(history, key, entry)?;
            return Ok(true);
        }
        table.line = entry.line;
        match path {
            ["retention", key] => retain(&mut table.settings.retention, key, entry)?,
            _ => table.settings.acknowledge = entry.one_of(&LEVELS)?,
        }
        Ok(true)
    }

    /// Puts the topics into the settings of a hub. Adds what is wrong with the tables.
    pub(super) fn finish(self, hub: &mut HubSettings, problems: &mut Vec<Problem>) {
        for (name, table) in self.0 {
            if let Some(history) = table.history {
                hub.histories.insert(name.clone(), history);
            }
            if table.is_durable {
                hub.durable_topics.insert(name, table.settings);
            } else if table.line > 0 {
                let message = format_args!(
                    "expected topic.{name}.durable = true beside topic.{name}.acknowledge and topic.{name}.retention, which only \
                     durable topics have"
                );
                problems.push(Problem::new(table.line, message));
            }
        }
    }
}

fn retain(retention: &mut Retention, key: &str, entry: &Entry) -> Result<(), Problem> {
    match key {
        "age" => retention.age = entry.time_or("for ever")?,
        "bytes" => retention.bytes = Some(entry.bytes()? as u64),
        _ => retention.events = Some(entry.count()? as u64),
    }
    Ok(())
}
