//! Delivery over a link: one call forwards all queued events to the other topic, and the next call waits for it.

use floe::forwarding::Events;
use floe::message::RequestFailed;
use floe::{InvokeError, OperationMode, SystemException};

use crate::core::encode_forward;
use crate::service::directory::ObjectDirectory;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Published;

/// The maximum bytes in one call, unless a single event is longer. Peers refuse messages of more than 1 MiB by default.
pub(super) const CALL_BYTES_MAX: usize = 256 * 1024;

/// Delivers until the link ends.
pub(super) async fn run(link: &Subscriber, directory: &ObjectDirectory) {
    let mut events = Vec::new();
    while link.wait_for_bytes(1).await {
        let count = link.take(usize::MAX, CALL_BYTES_MAX, &mut events).await;
        // Boxed, because it takes 2 kB, which an idle link should not hold.
        let result = Box::pin(forward(link, directory, &events)).await;
        events.clear();
        link.settle(count, result);
        tokio::task::consume_budget().await;
    }
}

pub(super) async fn forward(
    link: &Subscriber,
    directory: &ObjectDirectory,
    events: &[Events],
) -> Result<(), InvokeError> {
    let within = link.link().and_then(|it| Some((it, it.local_name()?)));
    if let Some((other, name)) = within {
        let topic = directory.topic(name).ok_or_else(|| no_topic(link))?;
        other.check_publish(name)?;
        let mut published = Published::default();
        for events in events {
            published.add(topic.publish_forwarded(events.clone()));
        }
        return Ok(published.done().await?);
    }
    let parameters =
        encode_forward(events).map_err(|error| InvokeError::NotDispatched(error.into()))?;
    let forwarded = link
        .proxy()
        .invoke("forward", OperationMode::Normal, &parameters);
    forwarded.await.map(drop)
}

/// The error that the link receiver of a destroyed topic would return.
fn no_topic(link: &Subscriber) -> InvokeError {
    let gone = RequestFailed {
        identity: link.identity().clone(),
        operation: "forward".to_owned(),
        ..RequestFailed::default()
    };
    SystemException::ObjectNotExist(gone).into()
}
