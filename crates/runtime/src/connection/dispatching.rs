//! Dispatching of the peer's requests by the task or thread that read them.
//!
//! Each dispatch is polled once in place. It becomes a task only if it has to wait. All replies of one read leave in
//! one write. The parts of a request come back with its response and serve the next request, so that the reference
//! counts that the requests of a read share are not touched for each of them.
//!
//! `dispatching/fast_path.rs` dispatches a request that came alone.

mod fast_path;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use floe_wire::connection::FlushPolicy;
use floe_wire::encoding::Buffer;
use floe_wire::message::{
    IncomingRequest, Outcome, RefusedRequest, RequestBatch, RequestFailed, SystemException, reply,
};

use super::ConnectionCore;
use super::budget::Budget;
use super::pending_dispatch::{compressed_exception, finish, finish_serial};
use super::quantum::Quantum;
use super::reply_flush::{ReplyFlush, run_ready_tasks};
use crate::address_turn::Participation;
use crate::dispatch::{
    DispatchSlot, Dispatched, LentRequests, LentState, REPLIES_MAX, Request, RequestParts,
    Requests, Response, ReturnSlot, ServantCache, append, panicked,
};
pub(super) use fast_path::Handled;

/// Reads with only replies after which the parts of the last request are dropped. If requests come in between, making
/// them anew this seldom costs next to nothing.
const REPLY_READS_MAX: u8 = 16;

/// Buffers that dispatching borrows while there is something to read.
#[derive(Default)]
pub(super) struct DispatchBuffers {
    replies: Buffer,
    /// The buffer for the next reply.
    reply: Buffer,
    slot: DispatchSlot,
    return_slot: Option<Arc<ReturnSlot>>,
}

/// Why dispatching stops for now.
enum Blocked {
    /// No request is left.
    Done,
    /// The quantum of the connection is spent.
    Quantum,
    /// This request waits for the budgets.
    Budget(Box<RequestParts>),
}

/// The dispatching of one connection.
pub(super) struct Dispatching {
    connection: Arc<ConnectionCore>,
    replies: Buffer,
    reply_count: usize,
    /// The parts of the last response, reused for the next request.
    parts: Option<Box<RequestParts>>,
    /// Reads that held only replies, since the last time that `parts` were dropped for that.
    reply_reads: u8,
    /// The version of the connection's adapter for which the origin in `parts` was made.
    adapter_version: u64,
    servant_cache: ServantCache,
    slot: DispatchSlot,
    /// The slot through which a dispatcher returns the requests that were lent to it.
    return_slot: Option<Arc<ReturnSlot>>,
    /// True while requests are lent to a dispatcher.
    is_lending: bool,
    /// Bytes of the events that the last dispatch took.
    taken_len: usize,
    budget: Budget,
    /// When the connections of other peers are due.
    pub(super) quantum: Quantum,
    /// The time at which the last events came, while the replies to them wait to be written.
    answered_events: Option<Instant>,
    /// True if ready tasks run before those replies are written.
    runs_tasks_first: bool,
    /// True if the consumer of a stream was woken, and runs before the replies are written.
    yields_first: bool,
    reply_flush: ReplyFlush,
}

impl Dispatching {
    pub(super) fn new(connection: Arc<ConnectionCore>, turns: Participation) -> Self {
        Self {
            budget: Budget::of(&connection, turns.address()),
            quantum: Quantum::new(turns),
            connection,
            replies: Buffer::default(),
            reply_count: 0,
            parts: None,
            reply_reads: 0,
            adapter_version: 0,
            servant_cache: ServantCache::default(),
            slot: DispatchSlot::default(),
            return_slot: None,
            is_lending: false,
            taken_len: 0,
            answered_events: None,
            runs_tasks_first: false,
            yields_first: false,
            reply_flush: ReplyFlush::default(),
        }
    }

    /// Dispatches the requests of a batch. A request that its first poll does not finish becomes a task.
    ///
    /// The requests of a BatchRequest message share their permits and are dispatched one after another.
    pub(super) async fn dispatch(&mut self, batch: &mut RequestBatch) {
        if batch.is_serial() {
            let share = self.budget.share_of(batch.byte_len());
            if !self.has_budget(share) {
                Box::pin(self.wait_for_budget(share, false)).await;
            }
            self.budget.end_stall();
        }
        let mut blocked = self.dispatch_ready(None, batch);
        loop {
            // A wait is rare, so its future is boxed only when it happens. Held in place, it would make the future of
            // every read longer.
            let first = match blocked {
                Blocked::Done => return,
                Blocked::Quantum => {
                    Box::pin(self.end_quantum()).await;
                    None
                }
                Blocked::Budget(parts) => {
                    Box::pin(self.wait_for_budgets(parts, batch.is_serial())).await
                }
            };
            blocked = self.dispatch_ready(first, batch);
        }
    }

    /// Dispatches `first` and then the requests of the batch, up to the first that must wait.
    fn dispatch_ready(
        &mut self,
        mut first: Option<Box<RequestParts>>,
        batch: &mut RequestBatch,
    ) -> Blocked {
        loop {
            let parts = match first.take() {
                Some(parts) => parts,
                None => match self.next(batch) {
                    Some(Ok(parts)) => parts,
                    Some(Err(orphan)) => {
                        self.reply_exception(Some(orphan), SystemException::ObjectNotExist);
                        continue;
                    }
                    None => return Blocked::Done,
                },
            };
            if !self.may_begin(&parts, batch.is_serial()) {
                return Blocked::Budget(parts);
            }
            let left = batch.len();
            match self.begin(parts, batch) {
                // Events that were taken keep their order: the requests after them need not wait.
                Poll::Pending if batch.is_serial() && self.taken_len == 0 => {
                    self.defer_serial(std::mem::take(batch));
                    return Blocked::Done;
                }
                // Named in full, because `Iterator` has a `last`, too.
                polled => self.end(polled, || RequestBatch::last(batch)),
            }
            let count = 1 + left.saturating_sub(batch.len());
            self.quantum
                .spend_requests(count, &self.connection.settings);
            if self.quantum.is_over() {
                return Blocked::Quantum;
            }
        }
    }

    /// Ends the quantum: writes the replies, and lets other connections run before the next request.
    pub(super) async fn end_quantum(&mut self) {
        self.budget.release_adapter_share();
        self.flush().await;
        self.quantum.give_way(&self.connection.settings).await;
    }

    /// Returns true if the budgets suffice for a request. The requests of a serial batch already hold permits of the
    /// connection.
    #[inline]
    fn may_begin(&mut self, parts: &RequestParts, is_serial: bool) -> bool {
        let share = self.budget.share_of(parts.current.request.parameters_len());
        (is_serial || self.has_budget(share)) && self.budget.take_adapter_share(parts)
    }

    /// Waits until the budgets may suffice for a request. Returns `None` if the request was refused instead.
    async fn wait_for_budgets(
        &mut self,
        parts: Box<RequestParts>,
        is_serial: bool,
    ) -> Option<Box<RequestParts>> {
        let share = self.budget.share_of(parts.current.request.parameters_len());
        let may_refuse = !parts.current.is_oneway();
        if !is_serial && let Some(refusal) = self.wait_for_budget(share, may_refuse).await {
            self.reply_exception(Some(parts.current.request.clone()), |_| refusal);
            self.take_back(parts);
            return None;
        }
        if !self.budget.take_adapter_share(&parts) {
            // The connection has taken its own permits first, so that it never waits for them while it holds a share
            // that other connections wait for.
            self.flush().await;
            self.leave_quantum().await;
            self.budget.wait_for_adapter_share(&parts).await;
            self.quantum.enter().await;
        }
        Some(parts)
    }

    /// Replies to a request after its first poll, or hands it to a task. `asked` returns the request, which the
    /// dispatch has consumed.
    fn end(
        &mut self,
        polled: Poll<Result<Response, SystemException>>,
        asked: impl FnOnce() -> Option<IncomingRequest>,
    ) {
        match polled {
            Poll::Ready(Ok(response)) => self.reply(response),
            Poll::Ready(Err(exception)) => self.reply_exception(asked(), |_| exception),
            Poll::Pending => {
                let asked = asked();
                let len = asked.as_ref().map_or(0, IncomingRequest::parameters_len);
                self.defer(asked, len);
            }
        }
        self.taken_len = 0;
        self.budget.yield_adapter_share();
    }

    /// Hands a polled request to a task. `parameters_len` is the length of its parameters.
    fn defer(&mut self, asked: Option<IncomingRequest>, parameters_len: usize) {
        let connection = self.connection.clone();
        let slot = std::mem::take(&mut self.slot);
        let permit = self.budget.permit(parameters_len.max(self.taken_len));
        let asked = asked.filter(|request| !request.id().is_oneway());
        // The task may wait for long, and the servant may have released the message.
        let asked = asked.map(|request| request.without_parameters());
        let finish = finish(connection, asked, slot, permit);
        self.connection.tasks.spawn(finish);
    }

    /// Hands a polled request of a serial batch to a task, with all requests that follow it.
    fn defer_serial(&mut self, batch: RequestBatch) {
        let connection = self.connection.clone();
        let slot = std::mem::take(&mut self.slot);
        let permit = self.budget.permit(batch.byte_len());
        let sender = self.connection.sender();
        let finish = finish_serial(connection, slot, batch, sender, permit);
        self.connection.tasks.spawn(finish);
    }

    /// Answers a request that no object gets, and logs the reason.
    pub(super) async fn refuse(&mut self, refused: &RefusedRequest) {
        let (peer, error) = (self.connection.peer(), &refused.error);
        self.connection
            .warn_limited(|| format!("refused a request from {peer}: {error}"));
        if !refused.id.is_oneway() {
            let outcome = Outcome::System(refused.exception());
            let mut buffer = Buffer::default();
            // Encoding a short text cannot fail.
            let _ = reply::write_outcome(&mut buffer, refused.id, &outcome);
            self.append_replies(&mut buffer, 1);
        }
        self.quantum.spend_requests(1, &self.connection.settings);
        if self.replies.len() > REPLIES_MAX {
            self.flush().await;
        }
    }

    /// Notes that a read held only replies. A connection over which this side calls back seldom gets requests, and then it
    /// does not keep the parts of the last one: a hub with thousands of subscribers has as many such connections.
    #[inline]
    pub(super) fn note_reply_read(&mut self) {
        if self.parts.is_some() {
            self.reply_reads += 1;
            if self.reply_reads >= REPLY_READS_MAX {
                self.reply_reads = 0;
                self.parts = None;
            }
        }
    }

    /// Writes the last replies of a read and releases all references until the next one.
    pub(super) async fn finish_read(&mut self) {
        if let Some(came) = self.answered_events.take() {
            self.runs_tasks_first = !self.reply_flush.answers_first(came);
        }
        if std::mem::take(&mut self.runs_tasks_first) {
            // The tasks that got the events send them to subscribers before the publishers get their replies.
            run_ready_tasks().await;
        }
        if std::mem::take(&mut self.yields_first) {
            // The consumer of a stream often is what a runtime with one thread was given to block on. That runs only when
            // no task is ready, so this waits until the runtime has looked for new input.
            tokio::task::yield_now().await;
        }
        // The replies leave before all other work, because callers wait for them.
        let has_room = self.send_replies();
        self.release();
        if !has_room {
            Box::pin(self.wait_for_reply_room()).await;
        }
    }

    /// Releases all references: everything that was read is handled.
    #[inline]
    fn release(&mut self) {
        self.budget.release_adapter_share();
        if let Some(parts) = &mut self.parts {
            parts.current.request.forget();
            if !parts.current.origin.release() {
                self.parts = None;
            }
        }
    }

    /// Takes buffers for the next read in exchange for its own, which are empty.
    pub(super) fn take_buffers(&mut self, buffers: &mut DispatchBuffers) {
        self.exchange(buffers);
        if let Some(parts) = &mut self.parts {
            std::mem::swap(&mut parts.buffer, &mut buffers.reply);
        }
    }

    /// Gives the buffers back when there is nothing to read.
    pub(super) fn return_buffers(&mut self, buffers: &mut DispatchBuffers) {
        self.exchange(buffers);
        if let Some(parts) = &mut self.parts {
            std::mem::swap(&mut parts.buffer, &mut buffers.reply);
            // If there were no parts when the buffers were taken, the parts have a buffer of their own by now.
            if parts.buffer.bytes_mut().capacity() > 0 {
                parts.buffer = Buffer::default();
            }
        }
    }

    fn exchange(&mut self, buffers: &mut DispatchBuffers) {
        std::mem::swap(&mut self.replies, &mut buffers.replies);
        std::mem::swap(&mut self.slot, &mut buffers.slot);
        std::mem::swap(&mut self.return_slot, &mut buffers.return_slot);
    }

    /// Makes the parts of the next request. The request comes back as an error if no adapter serves this connection.
    #[inline]
    fn next(
        &mut self,
        batch: &mut RequestBatch,
    ) -> Option<Result<Box<RequestParts>, IncomingRequest>> {
        if let Some(mut parts) = self.renew() {
            if !batch.next_over(&mut parts.current.request) {
                self.parts = Some(parts);
                return None;
            }
            return Some(Ok(parts));
        }
        let request = batch.next()?;
        Some(match self.connection.origin(self.connection.sender()) {
            Some(origin) => Ok(RequestParts::new(request, origin)),
            None => Err(request),
        })
    }

    /// Returns the parts of the last request if they are free and the adapter is unchanged.
    #[inline]
    fn renew(&mut self) -> Option<Box<RequestParts>> {
        let version = self.connection.adapter.version();
        if std::mem::replace(&mut self.adapter_version, version) != version {
            self.parts = None;
            self.budget.release_adapter_share();
            self.servant_cache.forget();
        }
        let mut parts = self.parts.take()?;
        parts.current.origin.renew().then_some(parts)
    }

    /// Passes a request, together with those that follow it, to the dispatcher of its object, and polls the dispatch
    /// once. If the servant panics, only that request fails.
    #[inline]
    fn begin(&mut self, parts: Box<RequestParts>, batch: &mut RequestBatch) -> Poll<Dispatched> {
        let begun = catch_unwind(AssertUnwindSafe(|| self.begin_unguarded(parts, batch)));
        self.take_back_rest(batch);
        begun.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }

    fn begin_unguarded(
        &mut self,
        parts: Box<RequestParts>,
        batch: &mut RequestBatch,
    ) -> Poll<Dispatched> {
        let dispatcher = match self.servant_cache.find(&parts) {
            Ok(dispatcher) => dispatcher,
            Err(exception) => {
                self.parts = Some(parts);
                return Poll::Ready(Err(exception));
            }
        };
        let rest = match batch.len() {
            0 => LentRequests::default(),
            _ => self.lend(batch),
        };
        self.slot.begin();
        dispatcher.dispatch(Requests::new(Request::of(parts), rest), &mut self.slot);
        self.slot
            .poll_dispatch(&mut Context::from_waker(Waker::noop()))
    }

    /// Lends the following requests to the dispatcher.
    fn lend(&mut self, batch: &mut RequestBatch) -> LentRequests {
        let return_slot = self.return_slot.get_or_insert_default();
        let state = return_slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut state = state.unwrap_or_default();
        let batch_len = batch.len();
        *state = LentState {
            return_slot: Some(return_slot.clone()),
            parameters_len_max: match batch.is_serial() {
                true => usize::MAX,
                false => self.budget.parameters_len_max(),
            },
            batch: std::mem::take(batch),
            adapter: Some(self.connection.adapter.clone()),
            replies: std::mem::take(&mut self.replies),
            reply_count: 0,
            adapter_version: self.adapter_version,
            // The version at the time of the look-up; a later change is noticed before the next request.
            servants_version: self.servant_cache.version(),
            taken_len: 0,
            quantum: self.quantum.lend(batch_len, &self.connection.settings),
        };
        self.is_lending = true;
        LentRequests::lent(state)
    }

    /// Takes lent requests back.
    #[inline]
    fn take_back_rest(&mut self, batch: &mut RequestBatch) {
        if std::mem::take(&mut self.is_lending) {
            self.take_back_lent(batch);
        }
    }

    fn take_back_lent(&mut self, batch: &mut RequestBatch) {
        let return_slot = self.return_slot.get_or_insert_default();
        let mut return_slot = return_slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = return_slot.as_deref_mut() else {
            // A hand-written dispatcher has kept the requests, so this side no longer knows which replies are due. The
            // slot is dropped: if the requests still come back, they must not mix with those lent later.
            drop(return_slot);
            self.return_slot = None;
            let reason = "expected its dispatcher to drop the requests by the end of the poll that got them, or to put them \
                          back into their slot, but it keeps them";
            tracing::error!(
                "dropped the connection to {}: {reason}",
                self.connection.peer()
            );
            return self.connection.abort(reason.to_owned());
        };
        *batch = std::mem::take(&mut state.batch);
        self.replies = std::mem::take(&mut state.replies);
        self.reply_count += state.reply_count;
        self.taken_len = state.taken_len;
        state.adapter = None;
    }

    /// Writes the replies collected so far. If the peer does not read its replies, this waits: the connection is not
    /// read meanwhile, so that replies cannot pile up.
    async fn flush(&mut self) {
        if !self.send_replies() {
            Box::pin(self.wait_for_reply_room()).await;
        }
    }

    /// Waits until the send queue has room for more replies.
    async fn wait_for_reply_room(&mut self) {
        self.leave_quantum().await;
        self.connection.output.wait_for_reply_room().await;
        self.quantum.enter().await;
    }

    /// Ends the quantum before a wait. Otherwise, the time that a connection uses until its dispatches are at their limit
    /// would never count for its address.
    async fn leave_quantum(&mut self) {
        self.quantum.leave(&self.connection.settings).await;
    }

    /// Writes the replies. Returns true if the send queue has room for more.
    fn send_replies(&mut self) -> bool {
        let count = std::mem::take(&mut self.reply_count);
        count == 0
            || self.connection.output.send_replies(
                &self.connection,
                &mut self.replies,
                count,
                FlushPolicy::Now,
            )
    }

    /// Returns true if this many permits are left, and the collected replies have not reached [`REPLIES_MAX`]. Only this
    /// connection takes permits.
    fn has_budget(&self, share: u32) -> bool {
        self.replies.len() <= REPLIES_MAX && self.budget.has_permits(share)
    }

    /// Waits until there are enough permits. If none comes back within the stall timeout, a request with a reply may be
    /// refused. A request without a reply waits on, because a refusal would lose it silently.
    async fn wait_for_budget(&mut self, share: u32, may_refuse: bool) -> Option<SystemException> {
        while !self.has_budget(share) {
            self.budget.release_adapter_share();
            self.flush().await;
            self.leave_quantum().await;
            let has_come = self.budget.wait_for(&self.connection, share).await;
            self.quantum.enter().await;
            if has_come {
                continue;
            }
            // The stall timeout is over.
            let refusal = may_refuse.then(|| Budget::refuse_nested(&self.connection));
            if let Some(Some(refusal)) = refusal {
                return Some(refusal);
            }
        }
        self.budget.end_stall();
        None
    }

    #[inline]
    fn reply(&mut self, response: Response) {
        let mut parts = response.into_parts();
        if parts.reply_count > 0 {
            self.compress_reply(&mut parts);
            self.answered_events = parts.events_came.or(self.answered_events);
            self.yields_first |= parts.yields_first;
            self.append_replies(&mut parts.buffer, parts.reply_count);
        }
        self.take_back(parts);
    }

    /// Compresses a reply if its caller accepts that. The time counts towards the quantum.
    #[inline]
    fn compress_reply(&mut self, parts: &mut RequestParts) {
        if parts.may_compress_reply() {
            let begun = Instant::now();
            parts.compress_reply();
            self.quantum.spend_since(begun, &self.connection.settings);
        }
    }

    /// Replies with an exception, unless the request is oneway.
    fn reply_exception(
        &mut self,
        request: Option<IncomingRequest>,
        exception: impl FnOnce(RequestFailed) -> SystemException,
    ) {
        if let Some(request) = request
            && !request.id().is_oneway()
        {
            let exception = exception(request.target());
            let begun = request.reply_compression().map(|_| Instant::now());
            let mut reply = compressed_exception(&self.connection, &request, exception);
            if let Some(begun) = begun {
                self.quantum.spend_since(begun, &self.connection.settings);
            }
            self.append_replies(&mut reply, 1);
        }
    }

    fn append_replies(&mut self, replies: &mut Buffer, count: usize) {
        self.reply_count += count;
        append(&mut self.replies, replies);
    }

    /// Keeps the parts of a response for the next request. A servant may return a response that was made for another
    /// connection; its parts are dropped.
    #[inline]
    fn take_back(&mut self, mut parts: Box<RequestParts>) {
        if parts.current.origin.is_of(&self.connection.adapter) {
            parts.clear();
            self.parts = Some(parts);
        }
    }
}
