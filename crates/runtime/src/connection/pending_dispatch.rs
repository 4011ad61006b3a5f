//! Pending dispatches: a dispatch that its first poll did not finish runs in a task of its own.

use std::future::poll_fn;
use std::sync::Arc;

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, RequestBatch};

use super::ConnectionCore;
use super::budget::Permit;
use crate::dispatch::{DispatchSlot, Dispatched, Request, encode_exception};

/// Waits for a dispatch, and sends its replies. `asked` is the request, if it gets a reply.
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
        connection
            .output
            .send_replies(&connection, &mut replies, count);
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
            if parts.reply_count > 0 && parts.events_came.is_none() {
                connection
                    .compression()
                    .compress_reply(&parts.current.request, &mut parts.buffer);
            }
            (parts.buffer, parts.reply_count)
        }
        (Err(exception), Some(request)) => {
            let mut reply = encode_exception(request, exception);
            connection.compression().compress_reply(request, &mut reply);
            (reply, 1)
        }
        (Err(_), None) => (Buffer::default(), 0),
    }
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
    for request in batch {
        if start_one(&connection, request, sender.clone(), &mut slot).is_some() {
            let _ = poll_fn(|context| slot.poll_guarded(context)).await;
        }
        // Many that are done at their first poll must not keep others waiting.
        tokio::task::coop::consume_budget().await;
    }
}

/// Starts the dispatch of a single request.
fn start_one(
    connection: &Arc<ConnectionCore>,
    request: IncomingRequest,
    sender: Option<String>,
    slot: &mut DispatchSlot,
) -> Option<()> {
    let origin = connection.origin(sender)?;
    let dispatcher = origin.adapter().find(&request).ok()?;
    slot.start(dispatcher, Request::new(request, origin)).ok()
}
