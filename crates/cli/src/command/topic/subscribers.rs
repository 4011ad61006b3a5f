//! `floe topic subscribers`, and the rows that tell of subscribers.

use clap::Args;
use floe::contracts::ice_storm::{QoS, TopicProxy};
use floe::{Communicator, Identity, InvocationMode, InvokeError, Proxy};
use floe_hub::contracts::floe::{Losses, SubscriberInfo, SubscriberState, TopicInfo, TopicStatus};
use serde_json::{Value as Json, json};

use super::Access;
use crate::endpoint::readable;
use crate::exit::Failure;
use crate::hub;
use crate::output::Output;

/// Lists the subscribers and links of a topic
#[derive(Debug, Args)]
pub(crate) struct Subscribers {
    /// The topic
    name: String,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Subscribers {
    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let Access { hub, .. } = &self.access;
        let topic = hub.topic(communicator, &self.name).await?;
        let status = hub.topic_status(communicator, &self.name).await?;
        let info = match &status {
            Some(status) => Some(info_of(status)),
            None => hub.topic_info(communicator, &self.name).await?,
        };
        let subscribers = subscriber_rows(&topic, info.as_ref()).await;
        let subscribers = subscribers.map_err(|error| hub.unanswered(error.into()))?;
        output.rows(&SUBSCRIBER_COLUMNS, &subscribers)
    }
}

/// The part of a status that an older hub reports.
pub(super) fn info_of(status: &TopicStatus) -> TopicInfo {
    let totals = &status.totals;
    let subscribers = status.subscribers.iter();
    TopicInfo {
        name: totals.name.clone(),
        published: totals.published,
        forwarded: totals.forwarded,
        delivered: totals.delivered,
        lost: totals.lost.clone(),
        subscribers: subscribers.map(|own| own.info.clone()).collect(),
    }
}

/// The subscribers, with all that a Floe hub tells of them, or with their identities alone.
pub(super) async fn subscriber_rows(
    topic: &TopicProxy,
    info: Option<&TopicInfo>,
) -> Result<Vec<Json>, InvokeError> {
    if let Some(info) = info {
        return Ok(info.subscribers.iter().map(subscriber).collect());
    }
    let identities = topic.get_subscribers().await?;
    let unknown = |identity: &Identity| {
        let columns = SUBSCRIBER_COLUMNS.iter();
        let mut row: Json = columns
            .map(|name| ((*name).to_owned(), Json::Null))
            .collect();
        row["identity"] = identity.to_string().into();
        row
    };
    Ok(identities.iter().map(unknown).collect())
}

fn subscriber(info: &SubscriberInfo) -> Json {
    let mode = match info.is_link {
        true => "link",
        false => mode(info.subscriber.reference().mode, &info.qos),
    };
    json!({
        "identity": identity(&info.subscriber),
        "mode": mode,
        "state": state(info.state),
        "offered": info.offered,
        "delivered": info.delivered,
        "lost": hub::lost(&info.lost),
        "queued": info.queued,
        "outstanding": info.outstanding,
        "queued_bytes": info.queued_bytes,
        "lost_by_reason": losses(&info.lost),
        "proxy": readable(&info.subscriber.to_string()),
        "qos": info.qos,
        "cost": info.is_link.then_some(info.cost),
    })
}

/// The columns of a table of subscribers.
pub(super) const SUBSCRIBER_COLUMNS: [&str; 8] = [
    "identity",
    "mode",
    "state",
    "offered",
    "delivered",
    "lost",
    "queued",
    "outstanding",
];

fn mode(mode: InvocationMode, qos: &QoS) -> &'static str {
    let is_ordered = qos
        .get("reliability")
        .is_some_and(|value| value == "ordered");
    match mode {
        InvocationMode::Twoway if is_ordered => "ordered",
        InvocationMode::Twoway => "twoway",
        InvocationMode::Oneway => "oneway",
        InvocationMode::BatchOneway => "batch",
        InvocationMode::Datagram => "datagram",
        InvocationMode::BatchDatagram => "batch datagram",
    }
}

fn state(state: SubscriberState) -> &'static str {
    match state {
        SubscriberState::Online => "online",
        SubscriberState::Offline => "offline",
        SubscriberState::Failed => "failed",
    }
}

pub(super) fn losses(losses: &Losses) -> Json {
    json!({
        "overflow": losses.overflow,
        "offline": losses.offline,
        "failed": losses.failed,
        "removed": losses.removed,
        "looped": losses.looped,
        "expired": losses.expired,
        "retention": losses.retention,
    })
}

pub(super) fn identity(proxy: &Proxy) -> Json {
    proxy.reference().identity.to_string().into()
}
