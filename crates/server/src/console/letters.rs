//! A list of dead letters, with their reasons.

use floe::{Identity, TypedProxy};
use floe_hub::contracts::floe::{DurableTopicsProxy, LoggedEvent};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use super::response::Refused;
use super::sample::WatchedHub;
use crate::dead_letters::{DeadLetters, READ_COUNT, own_dead};

/// Dead letters in a list: the oldest.
const COUNT_MAX: usize = 100;
/// A list ends after so many reads, whatever they have found.
const READ_MAX: usize = 50;

/// The object with the logs of a hub.
pub(super) fn durable_topics(hub: &WatchedHub) -> DurableTopicsProxy {
    let identity = Identity::with_category("DurableTopics", "Floe");
    DurableTopicsProxy::from_proxy(hub.manager.ice_identity(identity))
}

/// The dead letters that a caller names: of a topic, in the topic that holds them.
///
/// # Errors
/// They would be the events of the topic themselves.
pub(super) fn named(topic: &str, dead: Option<&str>) -> Result<DeadLetters, Refused> {
    let letters = DeadLetters::new(topic, dead);
    if letters.is_topic_itself() {
        let message = format!(
            "expected a topic of dead letters, got `{topic}`, whose events they are; unless a subscription has chosen another one, \
             it is `{}`",
            own_dead(topic)
        );
        return Err(Refused::new(StatusCode::CONFLICT, &message));
    }
    Ok(letters)
}

/// The oldest dead letters of a topic from this number on, how many events are in the topic that holds them, and how many of those
/// that it has passed are no dead letters of this topic. If there may be more, `next` is the number to go on from.
///
/// # Errors
/// There is no such topic, or it is not durable.
pub(super) async fn list(
    hub: &WatchedHub,
    letters: &DeadLetters,
    from: i64,
) -> Result<Json, Refused> {
    let (topics, dead) = (durable_topics(hub), letters.dead.as_str());
    let contents = topics.contents(dead).await;
    let contents = contents.map_err(|error| failed(dead, &error))?;
    let replayed = letters.replayed_until(&contents);
    let (mut rows, mut others) = (Vec::new(), 0);
    let (mut from, mut reads) = (contents.first.max(from), 0);
    while from < contents.next && rows.len() < COUNT_MAX && reads < READ_MAX {
        let read = topics.read(dead, from, READ_COUNT).await;
        let (events, next) = read.map_err(|error| failed(dead, &error))?;
        if next <= from {
            break;
        }
        (from, reads) = (next, reads + 1);
        for event in events {
            if !letters.has(&event) {
                others += 1;
                continue;
            }
            if rows.len() == COUNT_MAX {
                from = event.number;
                break;
            }
            rows.push(letter(&event, replayed));
        }
    }
    Ok(json!({
        "topic": letters.topic,
        "dead_letter_topic": dead,
        "events": contents.events,
        "others": others,
        "next": (from < contents.next).then_some(from),
        "letters": rows,
    }))
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
