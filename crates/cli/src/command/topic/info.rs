//! `floe topic info`.

use std::time::Duration;

use clap::Args;
use floe::contracts::ice_storm::TopicProxy;
use floe::{Communicator, InvokeError, Proxy, TypedProxy};
use floe_hub::contracts::floe::{
    Backpressure, DurableTopicStatus, SubscriberInfo, SubscriberState, TopicStatus,
};
use serde_json::{Value as Json, json};

use super::super::durable_rows::{self, SUBSCRIPTION_COLUMNS};
use super::Access;
use super::rates::{self, Rates};
use super::subscribers::{SUBSCRIBER_COLUMNS, identity, info_of, losses, subscriber_rows};
use crate::endpoint::readable;
use crate::exit::Failure;
use crate::hub;
use crate::output::{self, Format, Output};
use crate::peer::parse_time;

/// Shows what the hub knows of a topic
///
/// For a Floe hub it shows counts and rates of events, and the queue, lag and losses of each subscriber; the
/// lag is the age of the oldest waiting event. It also shows which publishers are held back now, by which
/// subscriber and for how long. Of a durable topic it shows the size and the retention of the log, and how far each
/// durable subscription is behind and for how long nobody has been there. `held_ms` is for how long each subscriber has held publishers back so far. An
/// IceStorm does not report these; they are null, and standard error says which.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The topic
    name: String,

    /// How long to count events for the rates. 0 leaves the rates out
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = parse_time)]
    over: Duration,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Info {
    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let Access { hub, .. } = &self.access;
        let topic = hub.topic(communicator, &self.name).await?;
        let (status, rates) = self.look(communicator).await?;
        let about = about(&self.name, &topic, status.as_ref()).await;
        let mut about = about.map_err(|error| hub.unanswered(error.into()))?;
        let info = match &status {
            Some(_) => None,
            None => hub.topic_info(communicator, &self.name).await?,
        };
        let info = status.as_ref().map(info_of).or(info);
        let subscribers = subscriber_rows(&topic, info.as_ref()).await;
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
        let durable = match &status {
            Some(_) => hub.durable_status(communicator, &self.name).await?,
            None => None,
        };
        let durable_rows: Vec<_> = durable
            .iter()
            .flat_map(durable_rows::subscriptions)
            .collect();
        about["dead_letters"] = durable
            .as_ref()
            .map(|durable| durable.kept_dead_letters)
            .into();
        if let (Some(durable), Some(status)) = (&durable, &status) {
            // The age of the oldest event that waits, in a queue or for a durable subscription.
            let (_, age) = durable_rows::largest_lag(durable);
            about["lag_ms"] = rates::milliseconds(status.totals.lag.max(age));
        }
        about["log"] = durable
            .as_ref()
            .map_or(Json::Null, |durable| match output.format() {
                Format::Table => durable_rows::log_text(durable).into(),
                _ => durable_rows::log(durable),
            });
        if output.format() != Format::Table {
            about["durable_subscriptions"] = durable_rows.into();
            about["held_publishers"] = held.into();
            about["subscribers"] = subscribers.into();
            return output.record(&about, "name");
        }
        output.record(&about, "name")?;
        if !held.is_empty() {
            output.line("")?;
            output.rows(&HELD_COLUMNS, &held)?;
        }
        if !durable_rows.is_empty() {
            output.line("")?;
            output.rows(&SUBSCRIPTION_COLUMNS[1..], &durable_rows)?;
            for (name, member, away) in absent_members(durable.iter()) {
                output.line(format_args!(
                    "subscriber `{}` of `{}` cannot be reached since {away}",
                    output.shown(member),
                    output.shown(name)
                ))?;
            }
        }
        match subscribers.is_empty() {
            true => output.line("\nno subscribers"),
            false => {
                output.line("")?;
                output.rows(&SUBSCRIBER_COLUMNS, &subscribers)
            }
        }
    }

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

/// The subscribers of durable subscriptions that cannot be reached, and for how long.
fn absent_members<'a>(
    topics: impl Iterator<Item = &'a DurableTopicStatus>,
) -> impl Iterator<Item = (&'a str, &'a str, String)> {
    let all = topics.flat_map(|topic| &topic.subscriptions);
    all.flat_map(|own| {
        let away = own.members.iter().filter(|member| member.away > 0);
        away.map(|it| {
            (
                own.name.as_str(),
                it.subscriber.as_str(),
                durable_rows::time(it.away),
            )
        })
    })
}

/// The columns of a table of publishers that are held back.
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

/// A note on the things that only a Floe hub reports.
const UNKNOWN: &str = "published, forwarded, delivered, lost, and the state, queue and losses of subscribers are not known: \
                       this is no Floe hub";

/// Describes a topic as any event service which speaks IceStorm does. A Floe hub has told of its links among the subscribers, which
/// come in pages; all links in one answer may be too long.
async fn about(
    name: &str,
    topic: &TopicProxy,
    status: Option<&TopicStatus>,
) -> Result<Json, InvokeError> {
    let publisher = topic.get_publisher().await?;
    let links: Vec<_> = match status {
        Some(status) => {
            let subscribers = status.subscribers.iter().map(|own| &own.info);
            // A link that has failed for good is none any more, as in IceStorm.
            let is_link =
                |info: &&SubscriberInfo| info.is_link && info.state != SubscriberState::Failed;
            let links = subscribers.filter(is_link);
            links
                .map(|info| link_json(&info.subscriber, info.cost))
                .collect()
        }
        None => {
            let links = topic.get_link_info_seq().await?;
            let links = links.iter();
            links
                .map(|link| link_json(link.the_topic.as_proxy(), link.cost))
                .collect()
        }
    };
    Ok(json!({
        "name": name,
        "proxy": readable(&topic.as_proxy().to_string()),
        "publisher": readable(&publisher.to_string()),
        "links": links,
    }))
}

fn link_json(topic: &Proxy, cost: i32) -> Json {
    let identity = &topic.reference().identity;
    // The objects of topics are named so, here and in IceStorm.
    let name = identity.name.strip_prefix("topic.");
    json!({
        "name": name.unwrap_or(&identity.name),
        "cost": cost,
        "identity": identity.to_string(),
    })
}
