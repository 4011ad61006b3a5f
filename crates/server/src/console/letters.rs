//! A list of dead letters, with their reasons.

use floe::{Identity, TypedProxy};
use floe_hub::contracts::floe::{DurableTopicsProxy, LoggedEvent};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use super::response::Refused;
use super::sample::WatchedHub;
use crate::dead_letters::REPLAYED;

/// Dead letters in a list: the oldest.
const COUNT_MAX: i32 = 100;

/// The object with the logs of a hub.
pub(super) fn durable_topics(hub: &WatchedHub) -> DurableTopicsProxy {
    let identity = Identity::with_category("DurableTopics", "Floe");
    DurableTopicsProxy::from_proxy(hub.manager.ice_identity(identity))
}

/// The oldest dead letters in a topic, and how many there are.
///
/// # Errors
/// There is no such topic, or it is not durable.
pub(super) async fn list(hub: &WatchedHub, dead: &str) -> Result<Json, Refused> {
    let topics = durable_topics(hub);
    let contents = topics.contents(dead).await;
    let contents = contents.map_err(|error| failed(dead, &error))?;
    let read = topics.read(dead, contents.first, COUNT_MAX).await;
    let (events, _) = read.map_err(|error| failed(dead, &error))?;
    let replayed = contents.subscriptions.iter().find(|it| it.name == REPLAYED);
    let replayed = replayed.map_or(0, |it| it.position);
    let letters: Vec<_> = events.iter().map(|event| letter(event, replayed)).collect();
    Ok(json!({ "topic": dead, "events": contents.events, "letters": letters }))
}

fn letter(event: &LoggedEvent, replayed: i64) -> Json {
    let entry = |key: &str| event.context.get(key);
    let number = |key: &str| entry(key).and_then(|text| text.parse::<i64>().ok());
    json!({
        "letter": event.number,
        "operation": event.operation,
        "topic": entry("floe.deadTopic"),
        "subscription": entry("floe.deadSubscription"),
        "sequence": number("floe.deadSequence"),
        "attempts": number("floe.deadAttempts"),
        "reason": entry("floe.deadReason"),
        "parameters_bytes": event.parameters.len(),
        "replayed": event.number < replayed,
    })
}

/// The hub has refused something about this topic.
pub(super) fn failed(topic: &str, error: &dyn std::error::Error) -> Refused {
    Refused::new(StatusCode::CONFLICT, &format!("topic `{topic}`: {error}"))
}
