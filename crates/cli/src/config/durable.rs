//! What `floe.toml` says of durable topics.

use std::collections::BTreeMap;

use floe_hub::DurableSettings;
use floe_hub::log::Level;

use super::entry::Problem;

/// The tables `[topic.NAME]`, as far as they are about durability.
#[derive(Debug, Default)]
pub(super) struct DurableTables(BTreeMap<String, DurableTable>);

/// What is said of the durability of one topic.
#[derive(Debug, Default)]
pub(super) struct DurableTable {
    pub(super) is_durable: bool,
    settings: DurableSettings,
    /// The line of a setting that only durable topics have.
    line: usize,
}

impl DurableTable {
    /// The settings that only durable topics have, one of which is in this line.
    pub(super) fn settings(&mut self, line: usize) -> &mut DurableSettings {
        self.line = line;
        &mut self.settings
    }
}

/// The levels by name.
pub(super) const LEVELS: [(&str, Level); 3] = [
    ("accepted", Level::Accepted),
    ("written", Level::Written),
    ("synced", Level::Synced),
];

impl DurableTables {
    /// What is said of a topic.
    pub(super) fn table(&mut self, topic: &str) -> &mut DurableTable {
        self.0.entry(topic.to_owned()).or_default()
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
