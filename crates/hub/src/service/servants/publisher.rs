//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use floe::{DispatchSlot, Requests, SystemException, TakenEvents};

use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, all};

/// Publishes to all subscribers of a topic. If `waits`, the reply comes when each subscriber has room.
pub(super) fn publish(requests: Requests, slot: &mut DispatchSlot, topic: &Topic, waits: bool) {
    let mut waiting = Vec::new();
    let taken = requests.take_events(|events, now| match waits {
        true => waiting.extend(topic.publish_or_wait(events, now).map(Box::pin)),
        false => topic.publish(events, now),
    });
    answer(taken, slot, waiting);
}

/// Publishes to one subscriber. If `waits`, the reply comes when it has room.
pub(super) fn publish_to_one(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
    waits: bool,
) {
    if subscriber.is_gone() {
        // The runtime fills in the identity of the object.
        let gone = SystemException::ObjectNotExist(Default::default());
        return slot.run(ready(Err(gone)));
    }
    let mut waiting = Vec::new();
    let taken = requests.take_events(|events, now| match waits {
        _ if subscriber.loses_own(&events) => {}
        true => waiting.extend(subscriber.publish_or_wait(events, now).map(Box::pin)),
        false => subscriber.publish(events, now),
    });
    answer(taken, slot, waiting);
}

/// Replies when all publications have room.
fn answer<F: Future<Output = ()> + Send + 'static>(
    taken: TakenEvents,
    slot: &mut DispatchSlot,
    waiting: Vec<Pin<Box<F>>>,
) {
    match waiting.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waiting)),
    }
}
