//! Settings of the queues of subscribers, of all topics and of single ones.

use std::time::Duration;

use floe_hub::OverflowPolicy;

use crate::settings::setting::{Effect, Field, Setting, Table, choice};

pub(super) const TABLE: Table = Table {
    rows: &[
        Setting {
            key: "queue.events",
            field: Field::Count(|draft| &mut draft.hub().queue_limits.events),
            example: "50000",
            effect: Effect::Immediate,
            meaning: "How many events may wait for one subscriber.",
        },
        Setting {
            key: "queue.bytes",
            field: Field::Bytes(|draft| &mut draft.hub().queue_limits.bytes),
            example: "\"16 MiB\"",
            effect: Effect::Immediate,
            meaning: "How long the events may be together that wait for one subscriber.",
        },
        Setting {
            key: "queue.patience",
            field: Field::TimeOr("none", Duration::ZERO, |draft| {
                &mut draft.hub().queue_limits.patience
            }),
            example: "\"2s\"",
            effect: Effect::Immediate,
            meaning: "How long publishers are held back while the queue is full and the subscriber takes no event. `none` never holds \
                      them back.",
        },
        Setting {
            key: "queue.overflow",
            field: choice!(
                OverflowPolicy::NAMES,
                Some("\"drop-oldest\""),
                |draft, policy| draft.hub().queue_limits.overflow = policy
            ),
            example: "\"block\"",
            effect: Effect::Immediate,
            meaning: "What happens when the queue is full: the oldest event is lost, or the newest; publishers that ask for it wait; or \
                      the subscription ends. Subscribers can choose for themselves.",
        },
        Setting {
            key: "topic.NAME.queue.events",
            field: Field::Count(|draft| &mut draft.topic_queue().events),
            example: "500",
            effect: Effect::Immediate,
            meaning: "`queue.events` for the subscribers of the topic `NAME`.",
        },
        Setting {
            key: "topic.NAME.queue.bytes",
            field: Field::Bytes(|draft| &mut draft.topic_queue().bytes),
            example: "\"1 MiB\"",
            effect: Effect::Immediate,
            meaning: "`queue.bytes` for the subscribers of the topic `NAME`.",
        },
        Setting {
            key: "topic.NAME.queue.patience",
            field: Field::TimeOr("none", Duration::ZERO, |draft| {
                &mut draft.topic_queue().patience
            }),
            example: "\"2s\"",
            effect: Effect::Immediate,
            meaning: "`queue.patience` for the subscribers of the topic `NAME`.",
        },
        Setting {
            key: "topic.NAME.queue.overflow",
            field: choice!(OverflowPolicy::NAMES, None, |draft, policy| {
                draft.topic_queue().overflow = policy;
            }),
            example: "\"block\"",
            effect: Effect::Immediate,
            meaning: "`queue.overflow` for the subscribers of the topic `NAME`.",
        },
    ],
};
