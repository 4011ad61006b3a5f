//! The changes that the console makes: dead letters are published again or deleted, and subscriptions end. Each change is logged.

use floe::contracts::ice_storm::{QoS, TopicManagerProxy};
use floe::{Proxy, TypedProxy};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use super::gate::Rights;
use super::letters::{durable_topics, failed};
use super::request::text;
use super::response::Refused;
use super::rows::shown;
use super::sample::WatchedHub;
use crate::dead_letters::{REPLAYED, publish_again};

/// A change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Publishes the dead letters of a topic again, but for those that were.
    Replay,
    /// Deletes them.
    Purge,
    /// Ends a subscription or a link.
    Unsubscribe,
}

/// The paths of changes.
pub(super) const CHANGES: [(&str, Change); 3] = [
    ("/api/v1/dead-letters/replay", Change::Replay),
    ("/api/v1/dead-letters/purge", Change::Purge),
    ("/api/v1/subscribers/unsubscribe", Change::Unsubscribe),
];

/// How many dead letters are read at a time.
const PULL_COUNT: i32 = 200;
/// How long to wait for a dead letter, in milliseconds. A pull that finds some does not wait.
const PULL_WAIT: i32 = 200;

impl Change {
    /// Does it, and says what came of it.
    ///
    /// # Errors
    /// The body says too little, or the hub refuses.
    pub(super) async fn run(
        self,
        hub: &WatchedHub,
        rights: &Rights,
        body: &Json,
    ) -> Result<Json, Refused> {
        let user = &rights.user;
        match self {
            Self::Replay => {
                let (topic, dead) = (text(body, "topic")?, text(body, "dead_letter_topic")?);
                let count = replay(hub, topic, dead).await?;
                tracing::info!(
                    "console: {user} has published {count} dead letters of `{dead}` to `{topic}` again"
                );
                Ok(json!({ "published": count }))
            }
            Self::Purge => {
                let dead = text(body, "dead_letter_topic")?;
                let count = purge(hub, dead).await?;
                tracing::info!("console: {user} has deleted {count} dead letters of `{dead}`");
                Ok(json!({ "deleted": count }))
            }
            Self::Unsubscribe => {
                let (topic, subscriber) = (text(body, "topic")?, text(body, "subscriber")?);
                unsubscribe(hub, topic, subscriber).await?;
                tracing::info!(
                    "console: {user} has ended the subscription of `{subscriber}` to `{topic}`"
                );
                Ok(json!({ "unsubscribed": subscriber }))
            }
        }
    }
}

async fn replay(hub: &WatchedHub, topic: &str, dead: &str) -> Result<u64, Refused> {
    let topics = durable_topics(hub);
    let retrieved = manager(hub).retrieve(topic).await;
    let retrieved = retrieved.map_err(|error| failed(topic, &error))?;
    let publisher = retrieved.get_publisher().await;
    let publisher = publisher
        .map_err(|error| failed(topic, &error))?
        .ice_twoway();
    let mut qos = QoS::new();
    qos.insert("floe.durable".to_owned(), REPLAYED.to_owned());
    qos.insert("floe.from".to_owned(), "beginning".to_owned());
    let opened = topics.open_pull(dead, &qos).await;
    opened.map_err(|error| failed(dead, &error))?;
    let mut count = 0;
    loop {
        let pulled = topics.pull(dead, REPLAYED, PULL_COUNT, PULL_WAIT).await;
        let letters = pulled.map_err(|error| failed(dead, &error))?;
        if letters.is_empty() {
            return Ok(count);
        }
        for letter in letters {
            let number = letter.number;
            let published = publish_again(&publisher, letter).await;
            published.map_err(|error| failed(topic, &error))?;
            // One by one, so that none is published twice if the next one fails.
            let acknowledged = topics.acknowledge(dead, REPLAYED, &[number]).await;
            acknowledged.map_err(|error| failed(dead, &error))?;
            count += 1;
        }
    }
}

async fn purge(hub: &WatchedHub, dead: &str) -> Result<i64, Refused> {
    let view = hub.view.clone();
    // It may wait for the disk.
    let known = tokio::task::spawn_blocking(move || view.durable_topics(usize::MAX)).await;
    let known = known.ok().flatten().unwrap_or_default();
    let is_of_letters = known.iter().any(|topic| {
        let mut all = topic.subscriptions.iter();
        all.any(|it| it.dead_letter_topic == dead) && topic.name != dead
    });
    if !is_of_letters {
        let message = format!(
            "expected the topic of the dead letters of a durable subscription, got `{dead}`"
        );
        return Err(Refused::new(StatusCode::CONFLICT, &message));
    }
    let topics = durable_topics(hub);
    let contents = topics.contents(dead).await;
    let contents = contents.map_err(|error| failed(dead, &error))?;
    let retrieved = manager(hub).retrieve(dead).await;
    let retrieved = retrieved.map_err(|error| failed(dead, &error))?;
    let destroyed = retrieved.destroy().await;
    destroyed.map_err(|error| failed(dead, &error))?;
    let created = topics.create(dead).await;
    created.map_err(|error| failed(dead, &error))?;
    Ok(contents.events)
}

/// Ends the subscription, or the link, whose proxy is shown as this text.
async fn unsubscribe(hub: &WatchedHub, topic: &str, subscriber: &str) -> Result<(), Refused> {
    let missing = || {
        let message = format!("topic `{topic}` has no subscriber `{subscriber}` any more");
        Refused::new(StatusCode::NOT_FOUND, &message)
    };
    let (view, name) = (hub.view.clone(), topic.to_owned());
    let status = tokio::task::spawn_blocking(move || view.topic_status(&name)).await;
    let status = status.ok().flatten().ok_or_else(missing)?;
    let mut all = status.subscribers.into_iter();
    let found = all.find(|it| shown(&it.info.subscriber) == subscriber);
    let found = found.ok_or_else(missing)?;
    let retrieved = manager(hub).retrieve(topic).await;
    let retrieved = retrieved.map_err(|error| failed(topic, &error))?;
    let proxy: Proxy = found.info.subscriber;
    if found.info.is_link {
        let linked = floe::contracts::ice_storm::TopicProxy::from_proxy(proxy);
        let unlinked = retrieved.unlink(Some(&linked)).await;
        return unlinked.map_err(|error| failed(topic, &error));
    }
    let unsubscribed = retrieved.unsubscribe(Some(&proxy)).await;
    unsubscribed.map_err(|error| failed(topic, &error))
}

fn manager(hub: &WatchedHub) -> TopicManagerProxy {
    TopicManagerProxy::from_proxy(hub.manager.clone())
}
