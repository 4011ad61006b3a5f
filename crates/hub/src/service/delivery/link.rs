//! Delivery to another topic: all that is queued in one call, one call at a time.

use floe::{Events, InvokeError, OperationMode, RequestFailed, SystemException};

use crate::core::encode_forward;
use crate::service::directory::ObjectDirectory;
use crate::service::subscriber::Subscriber;

/// Bytes in one call, if there is more than one event: peers refuse messages of more than 1 MiB
/// unless they are told otherwise.
const CALL_BYTES_MAX: usize = 256 * 1024;

/// Delivers until the link ends.
pub(super) async fn run(link: &Subscriber, directory: &ObjectDirectory) {
    let mut events = Vec::new();
    while link.wait_for_bytes(1).await {
        let count = link.take(usize::MAX, CALL_BYTES_MAX, &mut events).await;
        // Boxed: it is 2 kB long, which an idle link need not hold.
        let result = Box::pin(forward(link, directory, &events)).await;
        events.clear();
        link.settle(count, result);
        tokio::task::consume_budget().await;
    }
}

async fn forward(
    link: &Subscriber,
    directory: &ObjectDirectory,
    events: &[Events],
) -> Result<(), InvokeError> {
    if let Some(name) = link.link().and_then(|link| link.local_name()) {
        let topic = directory.topic(name).ok_or_else(|| no_topic(link))?;
        for events in events {
            topic.publish_forwarded(events);
        }
        return Ok(());
    }
    let parameters =
        encode_forward(events).map_err(|error| InvokeError::NotDispatched(error.into()))?;
    let forwarded = link
        .proxy()
        .invoke("forward", OperationMode::Normal, &parameters);
    forwarded.await.map(drop)
}

/// What the receiving end of a topic that is gone would say.
fn no_topic(link: &Subscriber) -> InvokeError {
    let gone = RequestFailed {
        identity: link.identity().clone(),
        operation: "forward".to_owned(),
        ..RequestFailed::default()
    };
    SystemException::ObjectNotExist(gone).into()
}
