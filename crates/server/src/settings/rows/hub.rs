//! Settings of a hub: its endpoints, its store, its delivery, and the readers of its metrics.

use std::time::Duration;

use floe_hub::StoreSettings;

use crate::settings::LEVELS;
use crate::settings::setting::{Effect, Field, Kind, Setting, Table, names_of};

pub(super) const TABLE: Table = Table {
    rows: &[
        Setting {
            key: "listen",
            field: Field::Endpoints(|draft| &mut draft.hub().listen),
            example: "[\"0.0.0.0:10000\", \"ssl -h 0.0.0.0 -p 10001\"]",
            effect: Effect::Restart,
            meaning: "Where the hub listens. Port 0 picks a free port.",
        },
        Setting {
            key: "publish-listen",
            field: Field::OptionalEndpoints(|draft| &mut draft.hub().publish_listen),
            example: "\"tcp -h 0.0.0.0 -p 10002\"",
            effect: Effect::Restart,
            meaning: "Where publishers find publisher objects instead. No other objects are there, so a firewall can let publishers \
                      in and keep others out.",
        },
        Setting {
            key: "published-endpoints",
            field: Field::PublishedEndpoints(|draft| &mut draft.hub().published_endpoints),
            example: "\"tcp -h hub.example -p 10000\"",
            effect: Effect::Restart,
            meaning: "The endpoints in proxies, if clients connect through a firewall or by a host name. Without it, proxies contain \
                      the endpoints of `listen`.",
        },
        Setting {
            key: "publish-published-endpoints",
            field: Field::PublishedEndpoints(|draft| &mut draft.hub().publish_published_endpoints),
            example: "\"tcp -h hub.example -p 10002\"",
            effect: Effect::Restart,
            meaning: "The endpoints in proxies of publisher objects. Needs `publish-listen`.",
        },
        Setting {
            key: "adapter-id",
            field: Field::OptionalText("an adapter id", |draft| &mut draft.hub().adapter_id),
            example: "\"IceStorm.TopicManager\"",
            effect: Effect::Restart,
            meaning: "The adapter id in proxies instead of endpoints. The hub registers it with the locator.",
        },
        Setting {
            key: "replica-group-id",
            field: Field::OptionalText("a replica group id", |draft| {
                &mut draft.hub().replica_group_id
            }),
            example: "\"Hubs\"",
            effect: Effect::Restart,
            meaning: "The replica group in proxies instead of the adapter id. Needs `adapter-id`. Hubs do not replicate: run one of \
                      a group at a time.",
        },
        Setting {
            key: "publish-adapter-id",
            field: Field::OptionalText("an adapter id", |draft| {
                &mut draft.hub().publish_adapter_id
            }),
            example: "\"IceStorm.Publish\"",
            effect: Effect::Restart,
            meaning: "The adapter id of publisher objects. Needs `publish-listen`.",
        },
        Setting {
            key: "publish-replica-group-id",
            field: Field::OptionalText("a replica group id", |draft| {
                &mut draft.hub().publish_replica_group_id
            }),
            example: "\"Publishers\"",
            effect: Effect::Restart,
            meaning: "The replica group of publisher objects. Needs `publish-adapter-id`.",
        },
        Setting {
            key: "hub",
            field: Field::Bool(|draft| &mut draft.configuration.has_hub),
            example: "false",
            effect: Effect::Restart,
            meaning: "Whether there is a hub. With `false`, the process runs only a gateway.",
        },
        Setting {
            key: "instance",
            field: Field::Text("a name", |draft| &mut draft.hub().instance_name),
            example: "\"DemoIceStorm\"",
            effect: Effect::Restart,
            meaning: "The category of all objects of the hub.",
        },
        Setting {
            key: "data",
            field: Field::Other {
                kind: Kind::Text("a directory"),
                default: None,
                set: |entry, draft| {
                    draft.hub().store = StoreSettings::Disk(entry.text("a directory")?.into());
                    Ok(())
                },
            },
            example: "\"/var/lib/floe\"",
            effect: Effect::Restart,
            meaning: "The directory that keeps topics, subscriptions and links. Without it, they are in memory and end with the hub.",
        },
        Setting {
            key: "drain-timeout",
            field: Field::Time(|draft| &mut draft.hub().drain_timeout),
            example: "\"5s\"",
            effect: Effect::Immediate,
            meaning: "How long a shutdown waits for the connections of peers, and then for queued events.",
        },
        Setting {
            key: "log",
            field: Field::Other {
                kind: Kind::OneOf(&names_of(&LEVELS)),
                default: None,
                set: |entry, draft| {
                    draft.configuration.log = Some(entry.one_of(&LEVELS)?.to_owned());
                    Ok(())
                },
            },
            example: "\"info\"",
            effect: Effect::Immediate,
            meaning: "How much the hub logs on standard error. Without it, warnings, or what `--verbose` and `FLOE_LOG` choose.",
        },
        Setting {
            key: "delivery.flush-interval",
            field: Field::Time(|draft| &mut draft.hub().flush_interval),
            example: "\"250ms\"",
            effect: Effect::NextBatch,
            meaning: "How long events for a batch subscriber are collected.",
        },
        Setting {
            key: "delivery.flush-bytes",
            field: Field::Bytes(|draft| &mut draft.hub().flush_bytes),
            example: "\"64 KiB\"",
            effect: Effect::NextBatch,
            meaning: "A batch leaves earlier when it has this many bytes.",
        },
        Setting {
            key: "delivery.rest-max",
            field: Field::TimeOr("none", Duration::ZERO, |draft| &mut draft.hub().rest_max),
            example: "\"none\"",
            effect: Effect::Immediate,
            meaning: "The longest pause between two rounds of deliveries to twoway subscribers. The hub pauses only under load, and only \
                      on Linux. Pauses raise the throughput.",
        },
        Setting {
            key: "delivery.polling",
            field: Field::TimeWithin(POLLING_MAX, "none", |draft| &mut draft.hub().polling),
            example: "\"20us\"",
            effect: Effect::Immediate,
            meaning: "How long the hub polls for further events under load before it sleeps; at most 100us.",
        },
        Setting {
            key: "delivery.send-timeout",
            field: Field::OptionalTime("never", |draft| &mut draft.hub().send_timeout),
            example: "\"never\"",
            effect: Effect::NewSubscribers,
            meaning: "How long a delivery may take, from the moment when an event is sent until a twoway subscriber has answered.",
        },
        Setting {
            key: "delivery.discard-interval",
            field: Field::TimeOr("for ever", Duration::MAX, |draft| {
                &mut draft.hub().discard_interval
            }),
            example: "\"for ever\"",
            effect: Effect::Immediate,
            meaning: "How long events are discarded after a failed delivery that the subscriber tolerates (`retryCount`).",
        },
        Setting {
            key: "admin.listen",
            field: Field::OptionalEndpoints(|draft| &mut draft.admin.listen),
            example: "\"tcp -h 127.0.0.1 -p 10003\"",
            effect: Effect::Restart,
            meaning: "Where Ice programs read metrics. Nothing else is served there. Without it, they cannot read any.",
        },
        Setting {
            key: "admin.instance",
            field: Field::OptionalText("a name", |draft| &mut draft.admin.instance_name),
            example: "\"Metrics\"",
            effect: Effect::Restart,
            meaning: "The category of the administrative object. Without it, `instance`.",
        },
        Setting {
            key: "metrics.VIEW.group",
            field: Field::Grouping(|draft| &mut draft.view().all.group_by),
            example: "\"id\"",
            effect: Effect::Restart,
            meaning: "The attributes by which all maps of the view group. `VIEW` is the name of the view. Without it, `\"id\"`.",
        },
        Setting {
            key: "metrics.VIEW.topics",
            field: Field::Grouping(|draft| &mut draft.view().map("Topic").group_by),
            example: "\"service\"",
            effect: Effect::Restart,
            meaning: "The attributes by which the map of topics groups, instead of `group`. If you set this, `subscribers` or `sessions`, the view has only the maps that you set.",
        },
        Setting {
            key: "metrics.VIEW.subscribers",
            field: Field::Grouping(|draft| &mut draft.view().map("Subscriber").group_by),
            example: "\"topic/state\"",
            effect: Effect::Restart,
            meaning: "The attributes by which the map of subscribers groups, instead of `group`.",
        },
        Setting {
            key: "metrics.VIEW.sessions",
            field: Field::Grouping(|draft| &mut draft.view().map("Session").group_by),
            example: "\"remoteHost\"",
            effect: Effect::Restart,
            meaning: "The attributes by which the map of a gateway's sessions groups, instead of `group`.",
        },
        Setting {
            key: "metrics.VIEW.retained",
            field: Field::OptionalCount(|draft| &mut draft.view().retained_max),
            example: "3",
            effect: Effect::Restart,
            meaning: "How many metrics objects each map keeps after their topics, subscribers or sessions are gone. Without it, 10.",
        },
        Setting {
            key: "metrics.VIEW.enabled",
            field: Field::Other {
                kind: Kind::Bool,
                default: Some("true"),
                set: |entry, draft| {
                    draft.view().is_disabled = !entry.boolean()?;
                    Ok(())
                },
            },
            example: "false",
            effect: Effect::Restart,
            meaning: "Whether the view measures from the start. Ice programs can change it.",
        },
    ],
};

/// The longest that a hub looks for more events before it sleeps.
pub const POLLING_MAX: Duration = Duration::from_micros(100);
