//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::sync::Arc;

use floe::{DispatchSlot, Requests, SystemException};

use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, all};

/// Publishes to all subscribers of a topic.
pub(super) fn publish(requests: Requests, slot: &mut DispatchSlot, topic: &Topic) {
    requests
        .take_events(|events, now| topic.publish(events, now))
        .answer(slot);
}

/// Publishes to all subscribers of a topic, and replies when each has room.
pub(super) fn publish_waiting(requests: Requests, slot: &mut DispatchSlot, topic: &Topic) {
    let mut waits = Vec::new();
    let taken = requests.take_events(|events, now| {
        waits.extend(topic.publish_waiting(events, now).map(Box::pin));
    });
    match waits.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waits)),
    }
}

/// Publishes to one subscriber.
pub(super) fn publish_to_one(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let taken = requests.take_events(|events, now| {
        if !subscriber.loses_own(&events) {
            subscriber.publish(events, now);
        }
    });
    taken.answer(slot);
}

/// Publishes to one subscriber, and replies when it has room.
pub(super) fn publish_to_one_waiting(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let mut waits = Vec::new();
    let taken = requests.take_events(|events, now| {
        if subscriber.loses_own(&events) {
            return;
        }
        if let Some(rest) = subscriber.publish_or_wait(events, now) {
            let subscriber = subscriber.clone();
            waits.push(Box::pin(
                async move { subscriber.publish_waiting(rest).await },
            ));
        }
    });
    match waits.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waits)),
    }
}

/// The runtime fills in the identity of the object.
fn gone() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
