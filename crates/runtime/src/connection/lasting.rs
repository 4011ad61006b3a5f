//! Dispatches that were not done when they were first polled: a task each.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, IncomingRun, SystemException};

use super::Connection;
use super::budget::Permit;
use super::collecting::{Waiting, reason};
use super::replying::encode_reply;
use crate::adapter::{DispatchPlace, Dispatcher, Origin, Request, Response};

/// Waits for a dispatch that was not done at once, and sends its reply.
pub(super) async fn finish(
    connection: Arc<Connection>,
    asked: Option<IncomingRequest>,
    mut place: DispatchPlace,
    _permit: Permit,
) {
    let result = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
    if let Some(request) = &asked {
        let mut reply = encode_reply(request, result);
        connection.compress_reply(request, &mut reply);
        connection.wait_for_reply_room().await;
        connection.send_replies(&mut reply, 1);
    }
}

/// Waits for a dispatch of a batch, and for all that come after it.
pub(super) async fn finish_batch(
    connection: Arc<Connection>,
    mut place: DispatchPlace,
    batch: IncomingRun,
    sender: Option<String>,
    _permit: Permit,
) {
    // Nobody waits for an answer to a request of a batch.
    let _ = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
    for request in batch {
        if begin_alone(&connection, request, sender.clone(), &mut place).is_some() {
            let _ = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
        }
    }
}

/// Waits until events are taken, and sends the replies.
pub(super) async fn finish_events(connection: Arc<Connection>, waiting: Waiting, _permit: Permit) {
    let mut replies = Buffer::default();
    let count = waiting.wait(replies.bytes_mut()).await;
    if count > 0 {
        connection.wait_for_reply_room().await;
        connection.send_replies(&mut replies, count);
    }
}

/// Starts the dispatch of a request apart from those of a read.
fn begin_alone(
    connection: &Arc<Connection>,
    request: IncomingRequest,
    sender: Option<String>,
    place: &mut DispatchPlace,
) -> Option<()> {
    let origin = Origin::of_sender(connection, sender)?;
    let dispatcher = origin.adapter().find(&request).ok()?;
    begin_dispatch(dispatcher, Request::new(request, origin), place).ok()
}

/// Starts a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn begin_dispatch(
    dispatcher: Arc<dyn Dispatcher>,
    request: Request,
    place: &mut DispatchPlace,
) -> Result<(), SystemException> {
    catch_unwind(AssertUnwindSafe(|| dispatcher.dispatch_in(request, place)))
        .map_err(|panic| panicked(&*panic))
}

/// Polls a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn poll_dispatch(
    place: &mut DispatchPlace,
    context: &mut Context<'_>,
) -> Poll<Result<Response, SystemException>> {
    catch_unwind(AssertUnwindSafe(|| place.poll(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> SystemException {
    let reason = reason(panic);
    tracing::error!("a servant panicked: {reason}");
    SystemException::UnknownException(format!("the servant panicked: {reason}"))
}
