//! Settings for the events that topics keep: durable topics keep them in a log, others in memory.

use floe_hub::log::{PerKey, Retention};

use crate::settings::durable::{DurableTable, LEVELS};
use crate::settings::setting::{Effect, Field, Kind, Setting, Table, names_of};

/// A limit of what a topic keeps: `$retention` gives the limits of the topic that is being configured.
macro_rules! limit {
    (age of $retention:expr) => {
        Field::Other {
            kind: Kind::Time(Some("for ever")),
            default: Some("\"for ever\""),
            set: |entry, draft| {
                let age = entry.time_or("for ever")?;
                $retention(draft.durable_topic(), entry.line).age = age;
                Ok(())
            },
        }
    };
    (bytes of $retention:expr) => {
        Field::Other {
            kind: Kind::Bytes,
            default: None,
            set: |entry, draft| {
                let bytes = Some(entry.bytes()? as u64);
                $retention(draft.durable_topic(), entry.line).bytes = bytes;
                Ok(())
            },
        }
    };
    (events of $retention:expr) => {
        Field::Other {
            kind: Kind::Count,
            default: None,
            set: |entry, draft| {
                let events = Some(entry.count()? as u64);
                $retention(draft.durable_topic(), entry.line).events = events;
                Ok(())
            },
        }
    };
    (key of $retention:expr) => {
        Field::Other {
            kind: Kind::Text("the key of an entry of the context"),
            default: None,
            set: |entry, draft| {
                let key = entry.text("the key of an entry of the context")?;
                per_key($retention(draft.durable_topic(), entry.line)).context_key = key;
                Ok(())
            },
        }
    };
    (per_key of $retention:expr) => {
        Field::Other {
            kind: Kind::Count,
            default: Some("1"),
            set: |entry, draft| {
                let count = entry.count()? as u64;
                per_key($retention(draft.durable_topic(), entry.line)).count = count;
                Ok(())
            },
        }
    };
}

/// How many events of each key are kept. Its key is empty until a setting names one.
fn per_key(retention: &mut Retention) -> &mut PerKey {
    retention.per_key.get_or_insert_with(|| PerKey {
        context_key: String::new(),
        count: 1,
    })
}

/// The limits of a log.
fn log(table: &mut DurableTable, line: usize) -> &mut Retention {
    &mut table.settings(line).retention
}

/// The limits of a history in memory.
fn history(table: &mut DurableTable, line: usize) -> &mut Retention {
    table.history(line)
}

pub(super) const TABLE: Table = Table {
    rows: &[
        Setting {
            key: "topic.NAME.lifespan",
            field: Field::Other {
                kind: Kind::Time(Some("for ever")),
                default: Some("\"for ever\""),
                set: |entry, draft| {
                    draft.set_topic_lifespan(entry.time_or("for ever")?);
                    Ok(())
                },
            },
            example: "\"10s\"",
            effect: Effect::Immediate,
            meaning: "Events of the topic that are older when their turn comes are not delivered, but counted as expired. The context \
                      entry `floe.lifespan` of a publisher, in milliseconds, takes precedence.",
        },
        Setting {
            key: "topic.NAME.durable",
            field: Field::Other {
                kind: Kind::Bool,
                default: Some("false"),
                set: |entry, draft| {
                    draft.durable_topic().is_durable = entry.boolean()?;
                    Ok(())
                },
            },
            example: "true",
            effect: Effect::Restart,
            meaning: "Whether the topic `NAME` keeps its events in a log. It is created if there is none.",
        },
        Setting {
            key: "topic.NAME.acknowledge",
            field: Field::Other {
                kind: Kind::OneOf(&names_of(&LEVELS)),
                default: Some("\"synced\""),
                set: |entry, draft| {
                    let level = entry.one_of(&LEVELS)?;
                    draft.durable_topic().settings(entry.line).acknowledge = level;
                    Ok(())
                },
            },
            example: "\"written\"",
            effect: Effect::Immediate,
            meaning: "When a publisher gets its acknowledgement: when the hub has the event, when it is written to the file, or when \
                      the disk has it. A publisher can ask for more or less.",
        },
        Setting {
            key: "topic.NAME.retention.age",
            field: limit!(age of log),
            example: "\"24h\"",
            effect: Effect::Immediate,
            meaning: "How long the log keeps an event.",
        },
        Setting {
            key: "topic.NAME.retention.bytes",
            field: limit!(bytes of log),
            example: "\"10 GiB\"",
            effect: Effect::Immediate,
            meaning: "How many bytes the log may have; then the oldest events are dropped.",
        },
        Setting {
            key: "topic.NAME.retention.events",
            field: limit!(events of log),
            example: "1000000",
            effect: Effect::Immediate,
            meaning: "How many events the log keeps; then the oldest are dropped.",
        },
        Setting {
            key: "topic.NAME.retention.key",
            field: limit!(key of log),
            example: "\"symbol\"",
            effect: Effect::Immediate,
            meaning: "Of events whose context has the same value for this key, the log keeps only the newest. Events without such an \
                      entry stay.",
        },
        Setting {
            key: "topic.NAME.retention.per-key",
            field: limit!(per_key of log),
            example: "3",
            effect: Effect::Immediate,
            meaning: "How many events of each value of `key` the log keeps.",
        },
        Setting {
            key: "topic.NAME.history.age",
            field: limit!(age of history),
            example: "\"10m\"",
            effect: Effect::Immediate,
            meaning: "How long a topic without a log remembers an event for late subscribers. Without a table \
                      `[topic.NAME.history]`, it remembers none. The table itself comes and goes with a restart.",
        },
        Setting {
            key: "topic.NAME.history.bytes",
            field: limit!(bytes of history),
            example: "\"1 MiB\"",
            effect: Effect::Immediate,
            meaning: "How many bytes it remembers; 64 MiB if this is not set.",
        },
        Setting {
            key: "topic.NAME.history.events",
            field: limit!(events of history),
            example: "100",
            effect: Effect::Immediate,
            meaning: "How many events it remembers.",
        },
        Setting {
            key: "topic.NAME.history.key",
            field: limit!(key of history),
            example: "\"symbol\"",
            effect: Effect::Immediate,
            meaning: "Of events whose context has the same value for this key, only the newest is remembered.",
        },
        Setting {
            key: "topic.NAME.history.per-key",
            field: limit!(per_key of history),
            example: "3",
            effect: Effect::Immediate,
            meaning: "How many events of each value of `key` are remembered.",
        },
    ],
};
