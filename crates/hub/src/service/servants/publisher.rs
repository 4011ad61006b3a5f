//! Publisher objects: any request is an event, answered with nothing in its own encoding.
//!
//! The operations that every object has are no exception, as in IceStorm: `ice_ping` is an event. The
//! facet for publishers that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is ours.

use std::sync::Arc;
use std::time::Instant;

use floe::{Request, Response, SystemException};

use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, to_queue};

/// Publishes to all subscribers of a topic.
pub(super) fn publish(request: Request, topic: &Topic) -> Result<Response, SystemException> {
    topic.publish(to_queue(request.event()), Instant::now());
    request.returned_nothing()
}

/// The same for a publisher that waits for room.
pub(super) async fn publish_waiting(
    request: Request,
    topic: Arc<Topic>,
) -> Result<Response, SystemException> {
    if let Some(waiting) = topic.publish_waiting(to_queue(request.event()), Instant::now()) {
        waiting.await;
    }
    request.returned_nothing()
}

/// Publishes to one subscriber.
pub(super) fn publish_to_one(
    request: Request,
    subscriber: &Arc<Subscriber>,
) -> Result<Response, SystemException> {
    check_present(subscriber)?;
    let events = to_queue(request.event());
    if !subscriber.loses_own(&events) {
        subscriber.publish(events, Instant::now());
    }
    request.returned_nothing()
}

/// The same for a publisher that waits for room.
pub(super) async fn publish_to_one_waiting(
    request: Request,
    subscriber: Arc<Subscriber>,
) -> Result<Response, SystemException> {
    check_present(&subscriber)?;
    let events = to_queue(request.event());
    if subscriber.loses_own(&events) {
        return request.returned_nothing();
    }
    if let Some(events) = subscriber.publish_or_wait(events, Instant::now()) {
        subscriber.publish_waiting(events).await;
    }
    request.returned_nothing()
}

fn check_present(subscriber: &Subscriber) -> Result<(), SystemException> {
    match subscriber.is_gone() {
        true => Err(SystemException::ObjectNotExist(Default::default())),
        false => Ok(()),
    }
}
