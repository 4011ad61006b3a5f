//! The receiving end of links: takes the events of other topics, in this hub or in another service.
//!
//! It is written by hand, because a typed servant would make a map of the context of each event.

use std::sync::Arc;

use floe::dispatch::{Request, Response};
use floe::{OperationMode, SystemException};
use floe_access::Action;

use crate::core::{decode_forward, without_tokens};
use crate::service::registry::Registry;
use crate::service::topic::Topic;

/// Dispatches a request to the link receiver of a topic. If the topic is durable, the events are stored before the answer.
/// While a subscriber holds the events back, there is no reply, so that the queue of the link fills at the other end.
pub(super) async fn answer(
    request: Request,
    topic: Arc<Topic>,
    registry: Arc<Registry>,
) -> Result<Response, SystemException> {
    let guard = registry.guard();
    guard.check(request.current(), Action::Publish, topic.name())?;
    if request.operation() != "forward" {
        let types = ["::Ice::Object", "::IceStorm::TopicLink"];
        return request.builtin("::IceStorm::TopicLink", &types);
    }
    if let Some(events) = request.decode(OperationMode::Normal, decode_forward)? {
        let published = topic.publish_forwarded(without_tokens(events));
        published.set_publisher(request.current());
        published.done().await?;
    }
    request.returned_nothing()
}
