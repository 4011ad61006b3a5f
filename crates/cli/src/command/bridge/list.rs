//! `floe bridge list`: the bridges of a server.

use clap::Args;
use floe_bridges::contracts::floe::{BridgeStatus, BridgedTopic};
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{Format, Output};
use crate::peer::{self, TimeoutArgument};

/// Lists the bridges of a server: their state, their programs, and what crossed
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

impl List {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::run(self.timeout, async |communicator| {
            let bridges = self.hub.bridges(&communicator).await?;
            let rows: Vec<Json> = match output.format() {
                Format::Table => bridges.iter().flat_map(rows).collect(),
                _ => bridges.iter().map(whole).collect(),
            };
            let columns = [
                "world",
                "address",
                "peers",
                "topic",
                "in",
                "out",
                "not_crossed",
                "trouble",
            ];
            output.rows(&columns, &rows)?;
            Ok(Exit::Success)
        })
    }
}

/// A line for each topic; a bridge without topics has one, too.
fn rows(bridge: &BridgeStatus) -> Vec<Json> {
    let row = |topic: Option<&BridgedTopic>| {
        json!({
            "world": bridge.world,
            "address": address(bridge),
            "peers": bridge.peer_count,
            "topic": topic.map(|it| &it.topic),
            "in": topic.map(|it| it.taken_in),
            "out": topic.map(|it| it.sent_out),
            "not_crossed": topic.map(not_crossed),
            "trouble": bridge.trouble,
        })
    };
    match bridge.topics.as_slice() {
        [] => vec![row(None)],
        topics => topics.iter().map(|topic| row(Some(topic))).collect(),
    }
}

fn address(bridge: &BridgeStatus) -> &str {
    match bridge.address.as_str() {
        "" => &bridge.place,
        address => address,
    }
}

/// The events that did not cross: `2 malformed, 1 dropped`.
fn not_crossed(topic: &BridgedTopic) -> String {
    let texts = topic.not_crossed.iter();
    let texts: Vec<String> = texts
        .map(|it| format!("{} {}", it.count, it.reason))
        .collect();
    texts.join(", ")
}

fn whole(bridge: &BridgeStatus) -> Json {
    let topics = bridge.topics.iter().map(|topic| {
        let not_crossed = topic.not_crossed.iter();
        let not_crossed: serde_json::Map<_, _> = not_crossed
            .map(|it| (it.reason.clone(), it.count.into()))
            .collect();
        json!({
            "topic": topic.topic,
            "name": topic.name,
            "direction": topic.direction,
            "in": topic.taken_in,
            "out": topic.sent_out,
            "not_crossed": not_crossed,
        })
    });
    json!({
        "world": bridge.world,
        "place": bridge.place,
        "address": bridge.address,
        "peer_count": bridge.peer_count,
        "peers": bridge.peers,
        "topics": topics.collect::<Vec<_>>(),
        "trouble": bridge.trouble,
    })
}
