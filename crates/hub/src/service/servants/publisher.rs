//! Publisher objects: any request is an event, answered with nothing in its own encoding.
//!
//! The operations that every object has are no exception, as in IceStorm: `ice_ping` is an event. The
//! facet for publishers that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is ours.

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

/// The same for a publisher that waits for room.
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

/// The same for a publisher that waits for room.
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

/// The runtime says which object it was.
fn gone() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
