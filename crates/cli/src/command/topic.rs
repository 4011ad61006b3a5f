//! `floe topic`: the topics of a hub, or of an IceStorm.
//!
//! - `topic/durable.rs`: durable topics: how they begin, and where their subscriptions are
//! - `topic/replay.rs`: `floe topic replay`
//! - `topic/link.rs`: links between topics
//! - `topic/rates.rs`: two looks at a topic, and what happened between them
//! - `topic/unsubscribe.rs`: `floe topic unsubscribe`
//! - `topic/watch.rs`: `floe topic watch`

mod durable;
mod link;
mod rates;
mod replay;
mod unsubscribe;
mod watch;

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use floe::contracts::ice_storm::{LinkInfo, QoS, TopicExistsError, TopicProxy};
use floe::{
    Communicator, Identity, InvocationMode, InvokeError, Proxy, SystemException, TypedProxy,
};
use floe_hub::contracts::floe::{
    Backpressure, Losses, SubscriberInfo, SubscriberState, TopicInfo, TopicStatus, TopicTotals,
};
use serde_json::{Value as Json, json};

use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::hub::{self, HubArgument};
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument, parse_time};
pub(super) use durable::{invoke_failed, log_failed};
use rates::Rates;
pub(super) use replay::publish_again;

/// Lists, creates, shows, links and removes topics of a hub or an IceStorm
///
/// Exit code 4: no such topic or link; 5: the topic or link exists already, or no hub listens at the address.
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    List(List),
    Create(Create),
    Info(Info),
    Remove(Remove),
    Subscribers(Subscribers),
    Link(link::Link),
    Unlink(link::Unlink),
    Unsubscribe(unsubscribe::Unsubscribe),
    Watch(watch::Watch),
    Position(durable::Position),
    Replay(replay::Replay),
}

impl Topic {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let timeout = self.access().timeout;
        peer::run(timeout, async |communicator| {
            match self {
                Self::List(list) => list.run(&communicator, output).await,
                Self::Create(create) => create.run(&communicator, output).await,
                Self::Info(info) => info.run(&communicator, output).await,
                Self::Remove(remove) => remove.run(&communicator).await,
                Self::Subscribers(subscribers) => subscribers.run(&communicator, output).await,
                Self::Link(link) => link.run(&communicator).await,
                Self::Unlink(unlink) => unlink.run(&communicator).await,
                Self::Unsubscribe(unsubscribe) => unsubscribe.run(&communicator).await,
                Self::Watch(watch) => watch.run(&communicator, output).await,
                Self::Position(position) => position.run(&communicator, output).await,
                Self::Replay(replay) => replay.run(&communicator, output).await,
            }
            .map(|()| Exit::Success)
        })
    }

    fn access(&self) -> &Access {
        match self {
            Self::List(List { access })
            | Self::Create(Create { access, .. })
            | Self::Info(Info { access, .. })
            | Self::Remove(Remove { access, .. })
            | Self::Subscribers(Subscribers { access, .. })
            | Self::Link(link::Link { access, .. })
            | Self::Unlink(link::Unlink { access, .. })
            | Self::Unsubscribe(unsubscribe::Unsubscribe { access, .. })
            | Self::Position(durable::Position { access, .. })
            | Self::Replay(replay::Replay { access, .. }) => access,
            Self::Watch(watch) => watch.access(),
        }
    }
}

/// Where the hub is, and how long it may take.
#[derive(Debug, Args)]
struct Access {
    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// Lists the topics with the number of their subscribers
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    access: Access,
}

impl List {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let topics = hub.manager(communicator)?.retrieve_all().await;
        if let Err(InvokeError::System(SystemException::UnknownException(_))) = &topics {
            // There are more than fit into one message.
            let topics = hub.topics_in_pages(communicator).await?;
            let row = |it: &TopicTotals| json!({"name": it.name, "subscribers": it.subscribers});
            let rows: Vec<_> = topics.iter().map(row).collect();
            return output.rows(&["name", "subscribers"], &rows);
        }
        let topics = topics.map_err(|error| hub.unanswered(error.into()))?;
        let mut rows = Vec::with_capacity(topics.len());
        for (name, topic) in topics {
            match topic.get_subscribers().await {
                Ok(subscribers) => {
                    rows.push(json!({"name": name, "subscribers": subscribers.len()}));
                }
                // Removed since it was listed.
                Err(InvokeError::System(SystemException::ObjectNotExist(_))) => {}
                Err(error) => return Err(hub.unanswered(error.into())),
            }
        }
        output.rows(&["name", "subscribers"], &rows)
    }
}

/// Creates topics. Exit code 5: a topic exists already
///
/// It tries all of them, and reports the result of each.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Their names
    #[arg(required = true, value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,

    /// Keeps their events on the disk of the hub: subscribers can read earlier ones, and have positions
    #[arg(long)]
    durable: bool,

    /// Also succeeds if a topic exists already
    #[arg(long)]
    exist_ok: bool,

    #[command(flatten)]
    access: Access,
}

impl Create {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let mut rows = Vec::with_capacity(self.names.len());
        let mut each = Each::default();
        for name in &self.names {
            if let Some(topic) = each.note(self.create(communicator, name).await)? {
                let proxy = readable(&topic.as_proxy().to_string());
                rows.push(json!({"name": name, "proxy": proxy}));
            }
        }
        if !rows.is_empty() {
            output.rows(&["name", "proxy"], &rows)?;
        }
        each.finish()
    }

    async fn create(&self, communicator: &Communicator, name: &str) -> Result<TopicProxy, Failure> {
        let hub = &self.access.hub;
        if self.durable {
            durable::create(hub, communicator, name, self.exist_ok).await?;
            return hub.topic(communicator, name).await;
        }
        match hub.manager(communicator)?.create(name).await {
            Ok(topic) => Ok(topic),
            Err(TopicExistsError::TopicExists(_)) if self.exist_ok => {
                hub.topic(communicator, name).await
            }
            Err(TopicExistsError::TopicExists(_)) => {
                let message = format!("the topic `{name}` exists already");
                Err(Failure::new(Exit::Refused, message).help("add --exist-ok if that is fine"))
            }
            Err(TopicExistsError::Invoke(error)) => Err(hub.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }
}

/// What became of several things that were tried one after another: the first failure is told at the end, the
/// others when they happen.
#[derive(Debug, Default)]
struct Each {
    failure: Option<Failure>,
}

impl Each {
    /// What came of one; none if that failed.
    ///
    /// # Errors
    /// The failure, if it would meet the others too: there is no hub.
    fn note<T>(&mut self, result: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(failure) if failure.is_of_connection() || failure.exit() == Exit::Usage => {
                Err(failure)
            }
            Err(failure) => {
                if let Some(before) = self.failure.replace(failure) {
                    before.report();
                }
                Ok(None)
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }
}

/// Shows what the hub knows of a topic
///
/// For a Floe hub it shows counts and rates of events, and the queue, lag and losses of each subscriber; the
/// lag is the age of the oldest waiting event. It also shows which publishers are held back now, by which
/// subscriber and for how long; `held_ms` is for how long each subscriber has held publishers back so far. An
/// IceStorm does not report these; they are null, and standard error says which.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The topic
    name: String,

    /// How long to count events for the rates. 0 leaves the rates out
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = parse_time)]
    over: Duration,

    #[command(flatten)]
    access: Access,
}

impl Info {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let Access { hub, .. } = &self.access;
        let topic = hub.topic(communicator, &self.name).await?;
        let about = about(&self.name, &topic).await;
        let mut about = about.map_err(|error| hub.unanswered(error.into()))?;
        let (status, rates) = self.look(communicator).await?;
        let info = match &status {
            Some(_) => None,
            None => hub.topic_info(communicator, &self.name).await?,
        };
        let info = status.as_ref().map(info_of).or(info);
        let subscribers = subscribers(&topic, info.as_ref()).await;
        let mut subscribers = subscribers.map_err(|error| hub.unanswered(error.into()))?;
        for (row, own) in subscribers
            .iter_mut()
            .zip(status.iter().flat_map(|it| &it.subscribers))
        {
            row["lag_ms"] = rates::milliseconds(own.lag);
        }
        let backpressure = match &status {
            Some(_) => hub.backpressure(communicator, &self.name).await?,
            None => Vec::new(),
        };
        for row in &mut subscribers {
            row["held_ms"] = held_by(&backpressure, row);
        }
        let held = held_publishers(&backpressure);
        about["published"] = info.as_ref().map(|info| info.published).into();
        about["forwarded"] = info.as_ref().map(|info| info.forwarded).into();
        about["delivered"] = info.as_ref().map(|info| info.delivered).into();
        about["lost"] = info.as_ref().map(|info| hub::lost(&info.lost)).into();
        about["lost_by_reason"] = info.as_ref().map(|info| losses(&info.lost)).into();
        if let Some(status) = &status {
            rates::describe(&status.totals, rates, &mut about);
        }
        if info.is_none() {
            output::talk(UNKNOWN);
        }
        if output.format() != Format::Table {
            about["held_publishers"] = held.into();
            about["subscribers"] = subscribers.into();
            return output.record(&about, "name");
        }
        output.record(&about, "name")?;
        if !held.is_empty() {
            output.line("")?;
            output.rows(&HELD_COLUMNS, &held)?;
        }
        match subscribers.is_empty() {
            true => output.line("\nno subscribers"),
            false => {
                output.line("")?;
                output.rows(&SUBSCRIBER_COLUMNS, &subscribers)
            }
        }
    }
}

impl Info {
    /// Looks twice, for the rates.
    async fn look(
        &self,
        communicator: &Communicator,
    ) -> Result<(Option<TopicStatus>, Option<Rates>), Failure> {
        let hub = &self.access.hub;
        let first = hub.topic_status(communicator, &self.name).await?;
        let Some(first) = first.filter(|_| !self.over.is_zero()) else {
            return Ok((hub.topic_status(communicator, &self.name).await?, None));
        };
        tokio::time::sleep(self.over).await;
        let second = hub.topic_status(communicator, &self.name).await?;
        let rates = second.as_ref().and_then(|second| {
            let (from, to) = (first.uptime, second.uptime);
            Rates::between(&first.totals, from, &second.totals, to)
        });
        Ok((second, rates))
    }
}

/// What a table of publishers that are held back shows.
const HELD_COLUMNS: [&str; 3] = ["held_publisher", "by_subscriber", "for_ms"];

/// A row for each publisher that is held back by a subscriber.
fn held_publishers(backpressure: &[Backpressure]) -> Vec<Json> {
    let rows = backpressure.iter().flat_map(|own| {
        own.publishers.iter().map(|held| {
            json!({
                "held_publisher": held.publisher,
                "by_subscriber": identity(&own.subscriber),
                "for_ms": rates::milliseconds(held.time),
            })
        })
    });
    rows.collect()
}

/// For how long the subscriber in this row has held publishers back.
fn held_by(backpressure: &[Backpressure], row: &Json) -> Json {
    let own = backpressure
        .iter()
        .find(|own| row["identity"] == identity(&own.subscriber));
    rates::milliseconds(own.map_or(0, |own| own.time))
}

fn identity(proxy: &Proxy) -> Json {
    proxy.reference().identity.to_string().into()
}

/// What an older hub would tell.
fn info_of(status: &TopicStatus) -> TopicInfo {
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

/// What a service other than Floe leaves open.
const UNKNOWN: &str = "published, forwarded, delivered, lost, and the state, queue and losses of subscribers are not known: \
                       this is no Floe hub";

/// What any event service that speaks IceStorm tells of a topic.
async fn about(name: &str, topic: &TopicProxy) -> Result<Json, InvokeError> {
    let publisher = topic.get_publisher().await?;
    let links = topic.get_link_info_seq().await?;
    Ok(json!({
        "name": name,
        "proxy": readable(&topic.as_proxy().to_string()),
        "publisher": readable(&publisher.to_string()),
        "links": links.iter().map(link_json).collect::<Vec<_>>(),
    }))
}

fn link_json(link: &LinkInfo) -> Json {
    json!({
        "name": link.name,
        "cost": link.cost,
        "identity": link.the_topic.as_proxy().reference().identity.to_string(),
    })
}

/// The subscribers, with all that a Floe hub tells of them, or with their identities alone.
async fn subscribers(
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

/// What a table of subscribers shows.
const SUBSCRIBER_COLUMNS: [&str; 8] = [
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

fn losses(losses: &Losses) -> Json {
    json!({
        "overflow": losses.overflow,
        "offline": losses.offline,
        "failed": losses.failed,
        "removed": losses.removed,
        "looped": losses.looped,
        "expired": losses.expired,
    })
}

/// Removes topics and their subscriptions. Exit code 4: a topic does not exist
///
/// It tries all of them, and reports the result of each.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The topics
    #[arg(required = true)]
    names: Vec<String>,

    #[command(flatten)]
    access: Access,
}

impl Remove {
    async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let mut each = Each::default();
        for name in &self.names {
            if each.note(self.remove(communicator, name).await)?.is_some() {
                output::talk(format_args!("removed topic `{name}`"));
            }
        }
        each.finish()
    }

    async fn remove(&self, communicator: &Communicator, name: &str) -> Result<(), Failure> {
        let topic = self.access.hub.topic(communicator, name).await?;
        let removed = topic.destroy().await;
        removed.map_err(|error| self.access.hub.unanswered(error.into()))
    }
}

/// Lists the subscribers and links of a topic
#[derive(Debug, Args)]
pub(crate) struct Subscribers {
    /// The topic
    name: String,

    #[command(flatten)]
    access: Access,
}

impl Subscribers {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let Access { hub, .. } = &self.access;
        let topic = hub.topic(communicator, &self.name).await?;
        let status = hub.topic_status(communicator, &self.name).await?;
        let info = match &status {
            Some(status) => Some(info_of(status)),
            None => hub.topic_info(communicator, &self.name).await?,
        };
        let subscribers = subscribers(&topic, info.as_ref()).await;
        let subscribers = subscribers.map_err(|error| hub.unanswered(error.into()))?;
        output.rows(&SUBSCRIBER_COLUMNS, &subscribers)
    }
}
