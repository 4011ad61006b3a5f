//! The changes that the console makes: dead letters are published again or deleted, and subscriptions end. Each change is logged.

use floe::contracts::ice_storm::TopicManagerProxy;
use floe::{Proxy, TypedProxy};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use super::gate::Rights;
use super::letters::{durable_topics, failed, named};
use super::request::text;
use super::response::Refused;
use super::rows::shown;
use super::sample::WatchedHub;
use crate::dead_letters::{DeadLetters, Replay, more_than_letters};

/// A change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Publishes the dead letters of a topic again, but for those that were.
    Replay,
    /// Deletes them, if their topic has nothing else.
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
                let letters = letters_in(body)?;
                let done = replay(hub, &letters).await;
                let DeadLetters { topic, dead } = &letters;
                match &done {
                    Ok(done) => tracing::info!(
                        "console: {user} has published {} dead letters of `{topic}` in `{dead}` again",
                        done["published"]
                    ),
                    Err(refused) => tracing::info!(
                        "console: {user} has tried to publish the dead letters of `{topic}` in `{dead}` again: {}",
                        refused.message
                    ),
                }
                done
            }
            Self::Purge => {
                let letters = letters_in(body)?;
                let done = purge(hub, &letters).await?;
                let DeadLetters { topic, dead } = &letters;
                tracing::info!(
                    "console: {user} has deleted {} dead letters of `{topic}` in `{dead}`",
                    done["deleted"]
                );
                Ok(done)
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

/// The dead letters that a body names.
fn letters_in(body: &Json) -> Result<DeadLetters, Refused> {
    let (topic, dead) = (text(body, "topic")?, text(body, "dead_letter_topic")?);
    named(topic, Some(dead))
}

async fn replay(hub: &WatchedHub, letters: &DeadLetters) -> Result<Json, Refused> {
    let (topics, topic) = (durable_topics(hub), letters.topic.as_str());
    if topic.len() > letters.topic_len_max() {
        let message = format!(
            "expected a topic with a name of at most {} bytes, whose dead letters are in a topic that it shares, got {}",
            letters.topic_len_max(),
            topic.len()
        );
        return Err(Refused::new(StatusCode::CONFLICT, &message));
    }
    let retrieved = manager(hub).retrieve(topic).await;
    let retrieved = retrieved.map_err(|error| failed(topic, &error))?;
    let publisher = retrieved.get_publisher().await;
    let publisher = publisher
        .map_err(|error| failed(topic, &error))?
        .ice_twoway();
    let dead = letters.dead.as_str();
    let replay = Replay::begin(letters, &topics).await;
    let mut replay = replay.map_err(|error| failed(dead, &error))?;
    let mut done = replay.publish_all(&publisher).await;
    if done.is_ok() {
        done = replay.check_pending().await;
    }
    let (count, others) = (replay.published, replay.others);
    done.map_err(|error| {
        let message = format!("topic `{dead}`: {error}; {count} were published again before");
        Refused::new(StatusCode::CONFLICT, &message)
    })?;
    Ok(json!({ "published": count, "others": others }))
}

async fn purge(hub: &WatchedHub, letters: &DeadLetters) -> Result<Json, Refused> {
    let (topics, dead) = (durable_topics(hub), letters.dead.as_str());
    let contents = topics.contents(dead).await;
    let contents = contents.map_err(|error| failed(dead, &error))?;
    let (view, name) = (hub.view.clone(), dead.to_owned());
    // It may wait for the disk.
    let status = tokio::task::spawn_blocking(move || view.topic_status(&name)).await;
    let subscribers = status.ok().flatten().map_or(0, |it| it.subscribers.len());
    let more = more_than_letters(letters, &topics, &contents, subscribers).await;
    if let Some(more) = more.map_err(|error| failed(dead, &error))? {
        let message = format!(
            "kept topic `{dead}`, which has more: {more}; `floe dlq purge --yes` deletes all of it"
        );
        return Err(Refused::new(StatusCode::CONFLICT, &message));
    }
    let retrieved = manager(hub).retrieve(dead).await;
    let retrieved = retrieved.map_err(|error| failed(dead, &error))?;
    let destroyed = retrieved.destroy().await;
    destroyed.map_err(|error| failed(dead, &error))?;
    let count = contents.events;
    let created = topics.create(dead).await;
    created.map_err(|error| {
        let message = format!(
            "deleted {count} dead letters, and their topic `{dead}` cannot be created again: {error}; events cannot become dead \
             letters until `floe topic create --durable` has succeeded"
        );
        Refused::new(StatusCode::CONFLICT, &message)
    })?;
    Ok(json!({ "deleted": count }))
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
