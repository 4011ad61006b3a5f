//! Requests of the peer, dispatched where they were read.
//!
//! A dispatch is polled once in place; only if it has to wait does it become a task of its own. The
//! replies of one read leave in one write.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use floe_wire::message::{IncomingBatch, IncomingRequest, Outcome, SystemException, reply};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Connection, Shared};
use crate::adapter::{DispatchFuture, Dispatcher, Request, Response};

/// Replies of one read that are collected before they are written, in bytes.
const REPLIES_MAX: usize = 64 * 1024;
/// A permit of the budget stands for so many bytes of requests.
const PERMIT_LEN: usize = 1024;
/// Permits that every dispatch takes, whatever its length.
const PERMITS_MIN: u32 = 16;

/// The dispatching of one connection.
pub(super) struct Dispatching {
    connection: Arc<Connection>,
    replies: Vec<u8>,
    reply_count: usize,
    /// An empty buffer for the next reply, kept for its allocation.
    spare: Vec<u8>,
    /// Bounds the dispatches under way in number and in bytes. Taken before the first poll: a
    /// dispatch that has been polled may hold what others wait for, and must not wait here.
    budget: Arc<Semaphore>,
    budget_len: u32,
}

impl Dispatching {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        let limit = u32::try_from(connection.settings.dispatch_limit.max(1)).unwrap_or(u32::MAX);
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let budget_len = limit.saturating_mul(PERMITS_MIN).min(most);
        Self {
            connection,
            replies: Vec::new(),
            reply_count: 0,
            spare: Vec::new(),
            budget: Arc::new(Semaphore::new(budget_len as usize)),
            budget_len,
        }
    }

    /// Dispatches a request: here if it is done at once, else in a task of its own.
    pub(super) async fn request(&mut self, request: IncomingRequest) {
        let permit = self.permit(request.parameters().len()).await;
        let buffer = std::mem::take(&mut self.spare);
        let mut future = match self.connection.find(&request, buffer) {
            Ok(future) => future,
            Err(exception) => return self.reply(&request, Err(exception)),
        };
        let polled = poll_dispatch(&mut future, &mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(result) => self.reply(&request, result),
            Poll::Pending => {
                let connection = self.connection.clone();
                let finish = finish(connection, request, future, permit);
                self.connection.tasks.spawn(finish);
            }
        }
    }

    /// Dispatches the requests of a batch one after another, the next when the one before is done.
    pub(super) async fn batch(&mut self, mut batch: IncomingBatch) {
        let permit = self.permit(batch.byte_len()).await;
        while let Some(request) = batch.next() {
            let Ok(mut future) = self.connection.find(&request, Vec::new()) else {
                continue;
            };
            let polled = poll_dispatch(&mut future, &mut Context::from_waker(Waker::noop()));
            if polled.is_pending() {
                let connection = self.connection.clone();
                let finish = finish_batch(connection, future, batch, permit);
                self.connection.tasks.spawn(finish);
                return;
            }
        }
    }

    /// Writes the replies collected so far. A peer that does not read its replies is not read from,
    /// so that they cannot pile up here.
    pub(super) async fn flush(&mut self) {
        let count = std::mem::take(&mut self.reply_count);
        if count == 0 {
            return;
        }
        self.connection.send_replies(&mut self.replies, count);
        self.connection.wait_for_reply_room().await;
    }

    /// A share of the budget for requests of this length. What is answered already leaves first if
    /// this takes long.
    async fn permit(&mut self, len: usize) -> Permit {
        if self.replies.len() > REPLIES_MAX {
            self.flush().await;
        }
        let share = u32::try_from(len / PERMIT_LEN).unwrap_or(u32::MAX);
        let share = share.saturating_add(PERMITS_MIN).min(self.budget_len);
        // The connection's first, so that nobody waits with a share of what others wait for.
        let connection = self.share(&self.budget.clone(), share).await;
        let adapter = match self.connection.adapter() {
            Some(adapter) => Some(self.share(adapter.budget(), 1).await),
            None => None,
        };
        Permit {
            _connection: connection,
            _adapter: adapter,
        }
    }

    async fn share(&mut self, budget: &Arc<Semaphore>, share: u32) -> OwnedSemaphorePermit {
        if let Ok(permit) = budget.clone().try_acquire_many_owned(share) {
            return permit;
        }
        self.flush().await;
        let permit = budget.clone().acquire_many_owned(share).await;
        permit.expect("the semaphore is never closed")
    }

    fn reply(&mut self, request: &IncomingRequest, result: Result<Response, SystemException>) {
        let mut reply = encode_reply(request, result);
        if request.id().is_oneway() {
            self.spare = reply;
            self.spare.clear();
            return;
        }
        self.connection.compress_reply(request, &mut reply);
        self.reply_count += 1;
        if self.replies.is_empty() {
            std::mem::swap(&mut self.replies, &mut reply);
        } else {
            self.replies.append(&mut reply);
        }
        self.spare = reply;
    }
}

/// What a dispatch holds of the budgets of its connection and its adapter.
struct Permit {
    _connection: OwnedSemaphorePermit,
    _adapter: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Starts the dispatch of a request.
    fn find(
        self: &Arc<Self>,
        request: &IncomingRequest,
        buffer: Vec<u8>,
    ) -> Result<DispatchFuture, SystemException> {
        let missing = || SystemException::ObjectNotExist(request.target());
        let adapter = self.adapter().ok_or_else(missing)?;
        let communicator = adapter.communicator().ok_or_else(missing)?;
        let dispatcher = adapter.find(request)?;
        let origin = Some(self.clone());
        let request = Request::new(request.clone(), adapter, communicator, origin, buffer);
        begin_dispatch(dispatcher, request)
    }

    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation.
    fn send_replies(self: &Arc<Self>, replies: &mut Vec<u8>, twoway_count: usize) {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if machine.is_closed() {
            return replies.clear();
        }
        self.compress_stream(replies);
        output.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.pending());
        }
        let batch = output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
    }

    async fn wait_for_reply_room(&self) {
        let limit = self.settings.output_limit;
        if self.lock().output.replies_len() > limit {
            self.wait_for_output(|shared| shared.output.replies_len() <= limit)
                .await;
        }
    }
}

/// Waits for a dispatch that was not done at once, and sends its reply.
async fn finish(
    connection: Arc<Connection>,
    request: IncomingRequest,
    mut future: DispatchFuture,
    _permit: Permit,
) {
    let result = std::future::poll_fn(|context| poll_dispatch(&mut future, context)).await;
    if !request.id().is_oneway() {
        let mut reply = encode_reply(&request, result);
        connection.compress_reply(&request, &mut reply);
        connection.wait_for_reply_room().await;
        connection.send_replies(&mut reply, 1);
    }
}

/// Waits for a dispatch of a batch, and for all that come after it.
async fn finish_batch(
    connection: Arc<Connection>,
    mut future: DispatchFuture,
    batch: IncomingBatch,
    _permit: Permit,
) {
    // Nobody waits for an answer to a request of a batch.
    let _ = std::future::poll_fn(|context| poll_dispatch(&mut future, context)).await;
    for request in batch {
        if let Ok(mut future) = connection.find(&request, Vec::new()) {
            let _ = std::future::poll_fn(|context| poll_dispatch(&mut future, context)).await;
        }
    }
}

/// Starts a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn begin_dispatch(
    dispatcher: Arc<dyn Dispatcher>,
    request: Request,
) -> Result<DispatchFuture, SystemException> {
    catch_unwind(AssertUnwindSafe(|| dispatcher.dispatch(request)))
        .map_err(|panic| panicked(&*panic))
}

/// Polls a dispatch; a panic of the servant is a failure of that request alone.
pub(crate) fn poll_dispatch(
    future: &mut DispatchFuture,
    context: &mut Context<'_>,
) -> Poll<Result<Response, SystemException>> {
    catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
}

fn panicked(panic: &(dyn Any + Send)) -> SystemException {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let reason = text.unwrap_or("no reason given");
    tracing::error!("a servant panicked: {reason}");
    SystemException::UnknownException(format!("the servant panicked: {reason}"))
}

/// The bytes of the reply; meaningless for a oneway request.
pub(crate) fn encode_reply(
    request: &IncomingRequest,
    result: Result<Response, SystemException>,
) -> Vec<u8> {
    let exception = match result {
        Ok(response) => return response.into_buffer(),
        Err(exception) => exception.with_target(&request.target()),
    };
    let mut buffer = Vec::new();
    let written = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    if let Err(error) = written {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // A short text always has an encoding.
        let _ = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    }
    buffer
}
