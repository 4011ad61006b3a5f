//! The receiving end of links: takes the events of other topics, in this hub or in another service.
//!
//! It is written by hand, because a typed servant would make a map of the context of each event.

use floe::dispatch::{Request, Response};
use floe::{OperationMode, SystemException};
use floe_access::Action;

use crate::core::decode_forward;
use crate::service::guard::Guard;
use crate::service::topic::Topic;

/// Dispatches a request to the link receiver of a topic.
pub(super) fn answer(
    request: Request,
    topic: &Topic,
    guard: &Guard,
) -> Result<Response, SystemException> {
    guard.check(request.current(), Action::Publish, topic.name())?;
    if request.operation() != "forward" {
        let types = ["::Ice::Object", "::IceStorm::TopicLink"];
        return request.builtin("::IceStorm::TopicLink", &types);
    }
    if let Some(events) = request.decode(OperationMode::Normal, decode_forward)? {
        topic.publish_forwarded(&events);
    }
    request.returned_nothing()
}
