//! An event of a log, published again.

use floe::{Context, InvokeError, OperationMode, Proxy, TypedProxy};
use floe_hub::contracts::floe::LoggedEvent;

/// Publishes an event of a log as its publisher did, but without what says that it was published before.
///
/// # Errors
/// The hub does not take it.
pub async fn publish_again(publisher: &Proxy, event: LoggedEvent) -> Result<(), InvokeError> {
    let LoggedEvent {
        operation,
        mode,
        mut context,
        parameters,
        ..
    } = event;
    remove_number(&mut context);
    context.retain(|key, _| !REMOVED.contains(&key.as_str()));
    let mode = match mode {
        OperationMode::Nonmutating => OperationMode::Idempotent,
        mode => mode,
    };
    let publisher = publisher.ice_context(context);
    let published = publisher.invoke(&operation, mode, &parameters).await;
    published.map(drop)
}

/// Takes the number of an event away: a durable topic would take the event for one that it has already, and drop it.
pub fn remove_number(context: &mut Context) {
    context.retain(|key, _| !NUMBER.contains(&key.as_str()));
}

/// The entries with which a publisher numbers its events.
const NUMBER: [&str; 2] = ["floe.publisher", "floe.publisherSequence"];

/// The acknowledgement that the publisher wished for, and what a dead letter says of itself, which is not true any more; also the
/// count of hubs that it has passed: who publishes it again on purpose begins a new journey.
const REMOVED: [&str; 9] = [
    "floe.acknowledge",
    floe::forwarding::HOPS_KEY,
    "floe.deadTopic",
    "floe.deadSubscription",
    "floe.deadSequence",
    "floe.deadTime",
    "floe.deadAttempts",
    "floe.deadReason",
    "floe.deadTimes",
];
