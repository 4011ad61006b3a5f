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
use crate::adapter::{AdapterCore, DispatchPlace, Dispatcher, Origin, Request, Response, is_same};
use crate::communicator::Communicator;

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
    /// For the next request.
    origin: Option<Arc<Origin>>,
    /// Of the connection when the origin was made.
    adapter_version: u64,
    found: Found,
    place: DispatchPlace,
    /// Bounds the dispatches under way in number and in bytes. There must be enough of it before the
    /// first poll: a dispatch that has been polled may hold what others wait for, and must not wait
    /// here.
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
            origin: None,
            adapter_version: 0,
            found: Found::default(),
            place: DispatchPlace::default(),
            budget: Arc::new(Semaphore::new(budget_len as usize)),
            budget_len,
        }
    }

    /// Dispatches a request: here if it is done at once, else in a task of its own.
    pub(super) async fn request(&mut self, request: IncomingRequest) {
        let share = self.wait_for_budget(request.parameters_len()).await;
        let asked = Asked::of(&request);
        let Some(origin) = self.origin() else {
            let missing = SystemException::ObjectNotExist(request.target());
            return self.reply(&asked, Err(missing));
        };
        let permit = self.adapter_permit(&origin).await;
        if let Err(exception) = self.begin(request, origin) {
            return self.reply(&asked, Err(exception));
        }
        match self.poll() {
            Poll::Ready(result) => self.reply(&asked, result),
            Poll::Pending => {
                let connection = self.connection.clone();
                let place = std::mem::take(&mut self.place);
                let finish = finish(connection, asked, place, self.permit(share, permit));
                self.connection.tasks.spawn(finish);
            }
        }
    }

    /// Dispatches the requests of a batch one after another, the next when the one before is done.
    pub(super) async fn batch(&mut self, mut batch: IncomingBatch) {
        let share = self.wait_for_budget(batch.byte_len()).await;
        let Some(origin) = self.origin() else {
            return;
        };
        let permit = self.adapter_permit(&origin).await;
        self.origin = Some(origin);
        while let Some(request) = batch.next() {
            let Some(origin) = self.origin() else {
                continue;
            };
            if self.begin(request, origin).is_err() {
                continue;
            }
            match self.poll() {
                Poll::Ready(Ok(response)) => self.take_back(response),
                Poll::Ready(Err(_)) => {}
                Poll::Pending => {
                    let connection = self.connection.clone();
                    let place = std::mem::take(&mut self.place);
                    let permit = self.permit(share, permit);
                    let finish = finish_batch(connection, place, batch, permit);
                    self.connection.tasks.spawn(finish);
                    return;
                }
            }
        }
    }

    /// Writes the last replies of a read, and keeps nothing alive until the next one.
    pub(super) async fn finish_read(&mut self) {
        self.found.forget();
        if self.origin.as_mut().is_some_and(|origin| !origin.release()) {
            self.origin = None;
        }
        self.flush().await;
    }

    /// The origin of the next request; `None` if nobody answers requests of this connection.
    fn origin(&mut self) -> Option<Arc<Origin>> {
        let version = self.connection.adapter_version();
        if std::mem::replace(&mut self.adapter_version, version) != version {
            self.origin = None;
            self.found.forget();
        }
        match self.origin.take() {
            Some(mut origin) => origin.renew().then_some(origin),
            None => Origin::new(&self.connection),
        }
    }

    /// Starts the dispatch of a request.
    fn begin(
        &mut self,
        request: IncomingRequest,
        origin: Arc<Origin>,
    ) -> Result<(), SystemException> {
        let dispatcher = match self.found.find(&request, origin.adapter()) {
            Ok(dispatcher) => dispatcher,
            Err(exception) => {
                self.origin = Some(origin);
                return Err(exception);
            }
        };
        let buffer = std::mem::take(&mut self.spare);
        let request = Request::new(request, origin, buffer);
        begin_dispatch(dispatcher, request, &mut self.place)
    }

    /// Polls what was begun, once.
    fn poll(&mut self) -> Poll<Result<Response, SystemException>> {
        poll_dispatch(&mut self.place, &mut Context::from_waker(Waker::noop()))
    }

    /// Writes the replies collected so far. A peer that does not read its replies is not read from,
    /// so that they cannot pile up here.
    async fn flush(&mut self) {
        let count = std::mem::take(&mut self.reply_count);
        if count == 0 {
            return;
        }
        if !self.connection.send_replies(&mut self.replies, count) {
            self.connection.wait_for_reply_room().await;
        }
    }

    /// Waits until there is enough of the budget for requests of this length, and says how much that
    /// is. Nobody else takes of it. What is answered already leaves first if this takes long.
    async fn wait_for_budget(&mut self, len: usize) -> u32 {
        if self.replies.len() > REPLIES_MAX {
            self.flush().await;
        }
        let share = u32::try_from(len / PERMIT_LEN).unwrap_or(u32::MAX);
        let share = share.saturating_add(PERMITS_MIN).min(self.budget_len);
        if self.budget.available_permits() < share as usize {
            self.flush().await;
            let permit = self.budget.acquire_many(share).await;
            drop(permit.expect("the semaphore is never closed"));
        }
        share
    }

    /// A share of what the dispatches of all connections of an adapter may take. The connection's own
    /// comes first, so that nobody waits with a share of what others wait for.
    async fn adapter_permit(&mut self, origin: &Origin) -> OwnedSemaphorePermit {
        let budget = origin.adapter().budget();
        if let Ok(permit) = budget.clone().try_acquire_owned() {
            return permit;
        }
        self.flush().await;
        let permit = budget.clone().acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    /// What a dispatch holds that goes on: a share of the budget that was waited for, too.
    fn permit(&self, share: u32, adapter: OwnedSemaphorePermit) -> Permit {
        let permit = self.budget.clone().try_acquire_many_owned(share);
        Permit {
            _connection: permit.expect("there was enough, and nobody else takes of it"),
            _adapter: adapter,
        }
    }

    fn reply(&mut self, asked: &Asked, result: Result<Response, SystemException>) {
        let mut reply = match result {
            Ok(response) => {
                let (reply, origin) = response.into_parts();
                self.origin = Some(origin);
                reply
            }
            Err(exception) => asked.encode(exception),
        };
        let Some(request) = &asked.request else {
            self.spare = reply;
            self.spare.clear();
            return;
        };
        self.connection.compress_reply(request, &mut reply);
        self.reply_count += 1;
        if self.replies.is_empty() {
            std::mem::swap(&mut self.replies, &mut reply);
        } else {
            self.replies.append(&mut reply);
        }
        self.spare = reply;
    }

    /// Takes of a response that nobody reads what the next request can have.
    fn take_back(&mut self, response: Response) {
        let (buffer, origin) = response.into_parts();
        self.origin = Some(origin);
        self.spare = buffer;
        self.spare.clear();
    }
}

/// What a dispatch holds of the budgets of its connection and its adapter.
struct Permit {
    _connection: OwnedSemaphorePermit,
    _adapter: OwnedSemaphorePermit,
}

/// The dispatcher that was found last, for requests of one read to the same object.
#[derive(Default)]
struct Found {
    dispatcher: Option<Arc<dyn Dispatcher>>,
    /// Of the servants when it was found.
    version: u64,
    name: String,
    category: String,
    facet: String,
    /// Requests of this read.
    count: usize,
}

impl Found {
    fn find(
        &mut self,
        request: &IncomingRequest,
        adapter: &AdapterCore,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        self.count += 1;
        // Read before the look-up: what changes during it is found the next time.
        let version = adapter.servants_version();
        if let Some(dispatcher) = &self.dispatcher
            && self.version == version
            && is_same(&self.name, request.name())
            && is_same(&self.category, request.category())
            && is_same(&self.facet, request.facet())
        {
            return Ok(dispatcher.clone());
        }
        let dispatcher = adapter.find(request)?;
        // A request that comes alone need not be remembered.
        if self.count > 1 {
            self.remember(request, dispatcher.clone(), version);
        }
        Ok(dispatcher)
    }

    fn remember(
        &mut self,
        request: &IncomingRequest,
        dispatcher: Arc<dyn Dispatcher>,
        version: u64,
    ) {
        self.dispatcher = Some(dispatcher);
        self.version = version;
        request.name().clone_into(&mut self.name);
        request.category().clone_into(&mut self.category);
        request.facet().clone_into(&mut self.facet);
    }

    fn forget(&mut self) {
        self.dispatcher = None;
        self.count = 0;
    }
}

/// What a reply must know of its request.
struct Asked {
    /// For the name of the object in an exception; none if nobody waits for a reply.
    request: Option<IncomingRequest>,
}

impl Asked {
    fn of(request: &IncomingRequest) -> Self {
        let request = (!request.id().is_oneway()).then(|| request.clone());
        Self { request }
    }

    /// The reply for a system exception; nothing if nobody waits for it.
    fn encode(&self, exception: SystemException) -> Vec<u8> {
        match &self.request {
            Some(request) => encode_exception(request, exception),
            None => Vec::new(),
        }
    }
}

impl Connection {
    /// Whose requests it carries, while they exist.
    pub(crate) fn owner(&self) -> Option<(Arc<AdapterCore>, Communicator)> {
        let adapter = self.adapter()?;
        let communicator = adapter.communicator()?;
        Some((adapter, communicator))
    }

    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation. Whether there is room for more.
    fn send_replies(self: &Arc<Self>, replies: &mut Vec<u8>, twoway_count: usize) -> bool {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if machine.is_closed() {
            replies.clear();
            return true;
        }
        self.compress_stream(replies);
        output.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.pending());
        }
        let has_room = output.replies_len() <= self.settings.output_limit;
        let batch = output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
        has_room
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
    asked: Asked,
    mut place: DispatchPlace,
    _permit: Permit,
) {
    let result = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
    if let Some(request) = &asked.request {
        let mut reply = encode_reply(request, result);
        connection.compress_reply(request, &mut reply);
        connection.wait_for_reply_room().await;
        connection.send_replies(&mut reply, 1);
    }
}

/// Waits for a dispatch of a batch, and for all that come after it.
async fn finish_batch(
    connection: Arc<Connection>,
    mut place: DispatchPlace,
    batch: IncomingBatch,
    _permit: Permit,
) {
    // Nobody waits for an answer to a request of a batch.
    let _ = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
    for request in batch {
        if begin_alone(&connection, request, &mut place).is_some() {
            let _ = std::future::poll_fn(|context| poll_dispatch(&mut place, context)).await;
        }
    }
}

/// Starts the dispatch of a request apart from those of a read.
fn begin_alone(
    connection: &Arc<Connection>,
    request: IncomingRequest,
    place: &mut DispatchPlace,
) -> Option<()> {
    let origin = Origin::new(connection)?;
    let dispatcher = origin.adapter().find(&request).ok()?;
    begin_dispatch(dispatcher, Request::new(request, origin, Vec::new()), place).ok()
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
    match result {
        Ok(response) => response.into_parts().0,
        Err(exception) => encode_exception(request, exception),
    }
}

fn encode_exception(request: &IncomingRequest, exception: SystemException) -> Vec<u8> {
    let exception = exception.with_target(&request.target());
    let mut buffer = Vec::new();
    let written = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    if let Err(error) = written {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // A short text always has an encoding.
        let _ = reply::write_outcome(&mut buffer, request.id(), &Outcome::System(exception));
    }
    buffer
}
