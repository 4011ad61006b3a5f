//! The tables of `floe.toml` for durable topics, and for topics that remember events in memory.

use std::collections::BTreeMap;

use floe_hub::log::{Level, Retention};
use floe_hub::{DurableSettings, HubSettings};

use super::entry::Problem;

/// The tables `[topic.NAME]`, as far as they say what a topic keeps.
#[derive(Debug, Default)]
pub(super) struct DurableTables(BTreeMap<String, DurableTable>);

/// The settings of the durability of one topic.
#[derive(Debug, Default)]
pub(super) struct DurableTable {
    pub(super) is_durable: bool,
    settings: DurableSettings,
    /// The line of a setting that only durable topics have.
    line: usize,
    /// The line of a setting of the history.
    history_line: usize,
    /// The retention of its events in memory.
    history: Option<Retention>,
}

impl DurableTable {
    /// The settings that only durable topics have, one of which is in this line.
    pub(super) fn settings(&mut self, line: usize) -> &mut DurableSettings {
        self.line = line;
        &mut self.settings
    }

    /// The retention of the topic's events in memory; one of its settings is in this line.
    pub(super) fn history(&mut self, line: usize) -> &mut Retention {
        self.history_line = line;
        self.history.get_or_insert_default()
    }
}

/// The levels by name.
pub(super) const LEVELS: [(&str, Level); 3] = [
    ("accepted", Level::Accepted),
    ("written", Level::Written),
    ("synced", Level::Synced),
];

impl DurableTables {
    /// The settings of a topic.
    pub(super) fn table(&mut self, topic: &str) -> &mut DurableTable {
        self.0.entry(topic.to_owned()).or_default()
    }

    /// Puts the topics into the settings of a hub. Adds what is wrong with the tables.
    pub(super) fn finish(self, hub: &mut HubSettings, problems: &mut Vec<Problem>) {
        for (name, table) in self.0 {
            let kept = [
                ("retention", table.line, Some(&table.settings.retention)),
                ("history", table.history_line, table.history.as_ref()),
            ];
            for (kind, line, retention) in kept {
                let per_key = retention.and_then(|retention| retention.per_key.as_ref());
                if per_key.is_some_and(|per_key| per_key.context_key.is_empty()) {
                    let message = format_args!(
                        "expected topic.{name}.{kind}.key beside topic.{name}.{kind}.per-key: the entry of the context by whose value \
                         events are told apart"
                    );
                    problems.push(Problem::new(line, message));
                }
            }
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
