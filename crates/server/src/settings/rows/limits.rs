//! Settings that limit how much all clients of the hub together may create: topics, subscriptions, links and more.

use crate::settings::setting::{Effect, Field, Setting, Table};

pub(super) const OF_HUB: Table = Table {
    rows: &[
        Setting {
            key: "limits.topics",
            field: Field::Count(|draft| &mut draft.hub().limits.topics),
            example: "1000",
            effect: Effect::Immediate,
            meaning: "How many topics there may be. What is there already stays if a limit becomes lower.",
        },
        Setting {
            key: "limits.subscriptions",
            field: Field::Count(|draft| &mut draft.hub().limits.subscriptions),
            example: "5000",
            effect: Effect::Immediate,
            meaning: "How many subscriptions all topics together may have.",
        },
        Setting {
            key: "limits.topics-per-user",
            field: Field::Count(|draft| &mut draft.hub().limits.topics_per_user),
            example: "100",
            effect: Effect::Immediate,
            meaning: "How many topics there may be that one user has created. Only a hub with rules knows users, by their tokens and certificates.",
        },
        Setting {
            key: "limits.subscriptions-per-user",
            field: Field::Count(|draft| &mut draft.hub().limits.subscriptions_per_user),
            example: "500",
            effect: Effect::Immediate,
            meaning: "How many subscriptions there may be that one user has made.",
        },
        Setting {
            key: "limits.durable-topics-per-user",
            field: Field::Count(|draft| &mut draft.hub().limits.durable_topics_per_user),
            example: "50",
            effect: Effect::Immediate,
            meaning: "How many durable topics there may be that one user has created.",
        },
        Setting {
            key: "limits.durable-subscriptions-per-user",
            field: Field::Count(|draft| &mut draft.hub().limits.durable_subscriptions_per_user),
            example: "100",
            effect: Effect::Immediate,
            meaning: "How many durable subscriptions there may be that one user has begun, those without a subscriber included.",
        },
        Setting {
            key: "limits.connections-per-user",
            field: Field::Count(|draft| &mut draft.hub().limits.connections_per_user),
            example: "50",
            effect: Effect::Immediate,
            meaning: "How many open connections one user may send requests over. Requests over further ones are refused.",
        },
        Setting {
            key: "limits.links",
            field: Field::Count(|draft| &mut draft.hub().limits.links),
            example: "100",
            effect: Effect::Immediate,
            meaning: "How many links all topics together may have.",
        },
        Setting {
            key: "limits.durable-topics",
            field: Field::Count(|draft| &mut draft.hub().limits.durable_topics),
            example: "500",
            effect: Effect::Immediate,
            meaning: "How many of the topics may be durable. Each takes two open files.",
        },
        Setting {
            key: "limits.durable-subscriptions",
            field: Field::Count(|draft| &mut draft.hub().limits.durable_subscriptions),
            example: "1000",
            effect: Effect::Immediate,
            meaning: "How many durable subscriptions all topics together may have, those without a subscriber included. Each takes an \
                      open file.",
        },
        Setting {
            key: "limits.queue-bytes",
            field: Field::Bytes(|draft| &mut draft.hub().limits.queue_bytes),
            example: "\"256 MiB\"",
            effect: Effect::Immediate,
            meaning: "How long the events may be together that wait for subscribers of all topics. If they are longer, the longest queues \
                      are shortened until there is room.",
        },
        Setting {
            key: "limits.publisher-names",
            field: Field::Count(|draft| &mut draft.hub().limits.publisher_names),
            example: "10000",
            effect: Effect::Immediate,
            meaning: "How many publishers with numbered events all topics together remember, to store once what they send again. Beyond it, a topic \
                      forgets the one that was silent longest, but for 100 that each may have.",
        },
    ],
};

pub(super) const OF_SUBSCRIPTIONS: Table = Table {
    rows: &[
        Setting {
            key: "limits.qos-entries",
            field: Field::Count(|draft| &mut draft.hub().limits.qos_entries),
            example: "16",
            effect: Effect::Immediate,
            meaning: "How many entries the quality of service of a subscription may have; unknown ones count.",
        },
        Setting {
            key: "limits.qos-bytes",
            field: Field::Bytes(|draft| &mut draft.hub().limits.qos_bytes),
            example: "\"1 KiB\"",
            effect: Effect::Immediate,
            meaning: "How long the quality of service of a subscription may be.",
        },
        Setting {
            key: "limits.proxy-endpoints",
            field: Field::Count(|draft| &mut draft.hub().limits.proxy_endpoints),
            example: "8",
            effect: Effect::Immediate,
            meaning: "How many endpoints the proxy of a subscriber may have.",
        },
        Setting {
            key: "limits.proxy-bytes",
            field: Field::Bytes(|draft| &mut draft.hub().limits.proxy_bytes),
            example: "\"2 KiB\"",
            effect: Effect::Immediate,
            meaning: "How long the proxy of a subscriber may be.",
        },
    ],
};
