//! Dispatches that were not done when they were first polled: a task each.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, RequestBatch, SystemException};

use super::Connection;
use super::budget::Permit;
use super::replying::encode_exception;
use crate::dispatch::{DispatchSlot, Dispatched, Dispatcher, Origin, Request, panic_reason};

/// Waits for a dispatch, and sends its replies. `asked` is the request, if it gets a reply.
pub(super) async fn finish(
    connection: Arc<Connection>,
    asked: Option<IncomingRequest>,
    mut slot: DispatchSlot,
    _permit: Permit,
) {
    let dispatched = poll_fn(|context| poll_dispatch(&mut slot, context)).await;
    let (mut replies, count) = replies_of(&connection, dispatched, asked.as_ref());
    if count > 0 {
        connection.wait_for_reply_room().await;
        connection.send_replies(&mut replies, count);
    }
}

/// The replies of a dispatch, and how many there are.
fn replies_of(
    connection: &Connection,
    dispatched: Dispatched,
    asked: Option<&IncomingRequest>,
) -> (Buffer, usize) {
    match (dispatched, asked) {
        (Ok(response), _) => {
            let mut parts = response.into_parts();
            if parts.reply_count > 0 && parts.events_came.is_none() {
                connection.compress_reply(&parts.current.request, &mut parts.buffer);
            }
            (parts.buffer, parts.reply_count)
        }
        (Err(exception), Some(request)) => {
            let mut reply = encode_exception(request, exception);
            connection.compress_reply(request, &mut reply);
            (reply, 1)
        }
        (Err(_), None) => (Buffer::default(), 0),
    }
}

/// Waits for a dispatch of a serial batch, and for all that follow it. None of them gets a reply.
pub(super) async fn finish_serial(
    connection: Arc<Connection>,
    mut slot: DispatchSlot,
    batch: RequestBatch,
    sender: Option<String>,
    _permit: Permit,
) {
    let _ = poll_fn(|context| poll_dispatch(&mut slot, context)).await;
    for request in batch {
        if begin_alone(&connection, request, sender.clone(), &mut slot).is_some() {
            let _ = poll_fn(|context| poll_dispatch(&mut slot, context)).await;
        }
    }
}

/// Starts the dispatch of a request apart from those of a read.
fn begin_alone(
    connection: &Arc<Connection>,
    request: IncomingRequest,
    sender: Option<String>,
    slot: &mut DispatchSlot,
) -> Option<()> {
    let origin = Origin::of_sender(connection, sender)?;
    let dispatcher = origin.adapter().find(&request).ok()?;
    begin_dispatch(dispatcher, Request::new(request, origin), slot).ok()
}

/// Starts a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn begin_dispatch(
    dispatcher: Arc<dyn Dispatcher>,
    request: Request,
    slot: &mut DispatchSlot,
) -> Result<(), SystemException> {
    slot.begin();
    catch_unwind(AssertUnwindSafe(|| {
        dispatcher.dispatch(request.into(), slot)
    }))
    .map_err(|panic| panicked(&*panic))
}

/// Polls a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn poll_dispatch(
    slot: &mut DispatchSlot,
    context: &mut Context<'_>,
) -> Poll<Dispatched> {
    catch_unwind(AssertUnwindSafe(|| slot.poll_dispatch(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> SystemException {
    let reason = panic_reason(panic);
    tracing::error!("a servant panicked: {reason}");
    SystemException::UnknownException(format!("the servant panicked: {reason}"))
}
