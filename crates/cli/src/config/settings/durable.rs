//! Settings of durable topics.

use crate::config::durable::LEVELS;
use crate::config::setting::{Effect, Field, Kind, Setting};

pub(super) fn settings() -> Vec<Setting> {
    vec![
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
                kind: Kind::OneOf(LEVELS.iter().map(|(name, _)| *name).collect()),
                default: Some("\"synced\""),
                set: |entry, draft| {
                    let level = entry.one_of(&LEVELS)?;
                    draft.durable_topic().settings(entry.line).acknowledge = level;
                    Ok(())
                },
            },
            example: "\"written\"",
            effect: Effect::Restart,
            meaning: "When a publisher gets its acknowledgement: when the hub has the event, when it is written to the file, or when \
                      the disk has it. A publisher can ask for more or less.",
        },
        Setting {
            key: "topic.NAME.retention.age",
            field: Field::Other {
                kind: Kind::Time(Some("for ever")),
                default: Some("\"for ever\""),
                set: |entry, draft| {
                    let age = entry.time_or("for ever")?;
                    draft.durable_topic().settings(entry.line).retention.age = age;
                    Ok(())
                },
            },
            example: "\"24h\"",
            effect: Effect::Restart,
            meaning: "How long the log keeps an event.",
        },
        Setting {
            key: "topic.NAME.retention.bytes",
            field: Field::Other {
                kind: Kind::Bytes,
                default: None,
                set: |entry, draft| {
                    let bytes = Some(entry.bytes()? as u64);
                    draft.durable_topic().settings(entry.line).retention.bytes = bytes;
                    Ok(())
                },
            },
            example: "\"10 GiB\"",
            effect: Effect::Restart,
            meaning: "How long the log may be; then the oldest events are dropped.",
        },
        Setting {
            key: "topic.NAME.retention.events",
            field: Field::Other {
                kind: Kind::Count,
                default: None,
                set: |entry, draft| {
                    let events = Some(entry.count()? as u64);
                    draft.durable_topic().settings(entry.line).retention.events = events;
                    Ok(())
                },
            },
            example: "1000000",
            effect: Effect::Restart,
            meaning: "How many events the log keeps; then the oldest are dropped.",
        },
    ]
}
