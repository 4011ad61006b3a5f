//! Publisher objects: any request is an event, answered with nothing in its own encoding.
//!
//! The operations that every object has are no exception, as in IceStorm: `ice_ping` is an event.

use std::time::Instant;

use floe::{Request, Response, SystemException};

use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, to_queue};

/// Publishes to all subscribers of a topic.
pub(super) fn publish(request: Request, topic: &Topic) -> Result<Response, SystemException> {
    topic.publish(&request.event());
    request.returned_nothing()
}

/// Publishes to one subscriber.
pub(super) fn publish_to_one(
    request: Request,
    subscriber: &Subscriber,
) -> Result<Response, SystemException> {
    if subscriber.is_gone() {
        return Err(SystemException::ObjectNotExist(Default::default()));
    }
    subscriber.publish(&to_queue(&request.event()), Instant::now());
    request.returned_nothing()
}
