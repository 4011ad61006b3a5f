//! A look at a server as JSON, version 1 of a public contract: `docs/guides/console.md` names its members. Members may be
//! added; what is there keeps its name, its unit and its meaning until the version changes.

use floe_hub::contracts::floe::RecentLoss;
use serde_json::{Value as Json, json};

use super::gate::Rights;
use super::rows;
use super::sample::{HubLook, Sample};
use super::selection::Selection;
use crate::findings::{Overview, Thresholds, problems};
use crate::totals;

/// The version of the contract.
const VERSION: u32 = 1;

/// The look, for a caller with these rights; `change_token` is for those who may change something.
pub(super) fn snapshot(
    sample: &Sample,
    selection: &Selection,
    rights: &Rights,
    change_token: &str,
) -> Json {
    let (topics, matching) = selection.apply(sample);
    let topics = topics.into_iter();
    let topics: Vec<_> = topics
        .map(|topic| rows::topic(topic, sample.rates(&topic.name)))
        .collect();
    let hub = sample.hub.as_ref();
    let each = |rows: Option<Vec<Json>>| rows.unwrap_or_default();
    json!({
        "version": VERSION,
        "program_version": env!("CARGO_PKG_VERSION"),
        "unix_time_ms": u64::try_from(sample.unix_time.as_millis()).unwrap_or(u64::MAX),
        "rights": {
            "user": rights.user,
            "may_change": rights.may_change,
            "change_token": rights.may_change.then_some(change_token),
        },
        "findings": each(hub.map(findings)),
        "hub": hub.map(|hub| of_hub(hub, sample)),
        "topics": topics,
        "topics_matching": matching,
        "durable_topics": each(hub.map(|hub| hub.durable.iter().map(rows::durable).collect())),
        "links": each(hub.map(links)),
        "recent_losses": each(hub.map(|hub| hub.overview.losses.iter().map(recent_loss).collect())),
        "limits": each(hub.map(limits)),
        "gateway": sample.gateway.as_ref().map(rows::gateway),
    })
}

fn of_hub(hub: &HubLook, sample: &Sample) -> Json {
    let overview = &hub.overview;
    json!({
        "topic_manager": floe::reference::Readable(&hub.manager).to_string(),
        "uptime_seconds": rows::seconds(overview.uptime),
        "connections": overview.connections,
        "connections_refused": overview.connections_refused,
        "requests_refused": hub.refused,
        "topics": overview.topics,
        "dead_letters": overview.dead_letters,
        "kept_dead_letters": totals::kept_dead_letters(&hub.durable),
        "totals": rows::topic(&overview.totals, sample.sum),
        "latencies": rows::latencies(&hub.latencies),
    })
}

/// The problems of the hub, as `floe doctor` finds them.
fn findings(hub: &HubLook) -> Vec<Json> {
    let overview = Overview {
        hub: hub.overview.clone(),
        knows_recent: true,
        durable: Some(hub.durable.clone()),
        storage_problems: hub.storage_problems.clone(),
        // `floe bridge list` has them.
        bridge_problems: Vec::new(),
    };
    let found = problems(&overview, &Thresholds::default()).into_iter();
    let mut found: Vec<_> = found
        .map(|what| {
            let is_of_storage = hub.storage_problems.contains(&what);
            let what_to_do = if is_of_storage {
                MAKE_ROOM
            } else {
                LOOK_CLOSER
            };
            json!({ "what": what, "what_to_do": what_to_do })
        })
        .collect();
    let full = hub
        .limits
        .iter()
        .filter(|it| it.used.saturating_mul(10) >= it.limit.saturating_mul(9));
    found.extend(full.map(|limit| {
        let what = format!(
            "{} of {} of {} are in use",
            limit.used, limit.limit, limit.setting
        );
        let what_to_do = format!(
            "remove what is not needed, or raise {} in the settings",
            limit.setting
        );
        json!({ "what": what, "what_to_do": what_to_do })
    }));
    found
}

const MAKE_ROOM: &str = "make room on the disk, or mend it: the hub refuses durable events and changes until it can store them, and goes on by itself";
const LOOK_CLOSER: &str = "the views Topics and Durable show which subscribers are meant; `floe status` lists the same with thresholds of your own";

fn links(hub: &HubLook) -> Vec<Json> {
    let links = hub.links.iter();
    links
        .map(|(topic, link)| rows::subscriber(topic, link))
        .collect()
}

fn limits(hub: &HubLook) -> Vec<Json> {
    let limits = hub.limits.iter();
    limits
        .map(|it| json!({ "setting": it.setting, "used": it.used, "limit": it.limit }))
        .collect()
}

fn recent_loss(loss: &RecentLoss) -> Json {
    json!({
        "topic": loss.topic,
        "subscriber": loss.subscriber,
        "lost": rows::losses(&loss.lost),
        "seconds_ago": rows::seconds(loss.age),
    })
}
