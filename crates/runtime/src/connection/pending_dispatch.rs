//! Pending dispatches: a dispatch that its first poll did not finish runs in a task of its own.

use std::future::poll_fn;
use std::sync::Arc;

use floe_wire::connection::FlushPolicy;
use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, RequestBatch, SystemException};

use super::ConnectionCore;
use super::budget::Permit;
use crate::dispatch::{DispatchSlot, Dispatched, RequestSource, encode_exception};

/// Waits for a dispatch, and sends its replies. `asked` is the request, if it gets a reply. While other dispatches of
/// the connection are unfinished, the replies may leave together with theirs, after the tasks that are ready now.
pub(super) async fn finish(
    connection: Arc<ConnectionCore>,
    asked: Option<IncomingRequest>,
    mut slot: DispatchSlot,
    _permit: Permit,
) {
    let dispatched = poll_fn(|context| slot.poll_guarded(context)).await;
    let (mut replies, count) = replies_of(&connection, dispatched, asked.as_ref());
    if count > 0 {
        connection
            .output
            .wait_with_reply(&connection, replies.len())
            .await;
        let policy = FlushPolicy::WithOthers;
        connection
            .output
            .send_replies(&connection, &mut replies, count, policy);
    }
}

/// Returns the encoded replies of a dispatch, and their number.
fn replies_of(
    connection: &ConnectionCore,
    dispatched: Dispatched,
    asked: Option<&IncomingRequest>,
) -> (Buffer, usize) {
    match (dispatched, asked) {
        (Ok(response), _) => {
            let mut parts = response.into_parts();
            parts.compress_reply();
            (parts.buffer, parts.reply_count)
        }
        (Err(exception), Some(request)) => {
            (compressed_exception(connection, request, exception), 1)
        }
        (Err(_), None) => (Buffer::default(), 0),
    }
}

/// Encodes an exception as the reply to a request, compressed if its caller accepts that.
pub(super) fn compressed_exception(
    connection: &ConnectionCore,
    request: &IncomingRequest,
    exception: SystemException,
) -> Buffer {
    let mut reply = encode_exception(request, exception);
    connection.compress_reply(request, &mut reply);
    reply
}

/// Waits for a dispatch of a serial batch, then dispatches the requests that follow it, one after another. None of them
/// gets a reply.
pub(super) async fn finish_serial(
    connection: Arc<ConnectionCore>,
    mut slot: DispatchSlot,
    batch: RequestBatch,
    sender: Option<String>,
    _permit: Permit,
) {
    let _ = poll_fn(|context| slot.poll_guarded(context)).await;
    let origin = || connection.origin(sender.clone());
    slot.dispatch_serial(batch, origin).await;
}
