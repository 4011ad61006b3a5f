//! Requests of the peer, dispatched where they were read.
//!
//! A dispatch is polled once in place. Only if it has to wait, it becomes a task of its own. The replies
//! of one read leave in one write. The parts of a request return with its response and become the next
//! request, so that what the requests of a read have in common is not counted for each.
//!
//! `dispatching/fast_path.rs` dispatches a request that came alone.

mod fast_path;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, RequestBatch, RequestFailed, SystemException};

use super::ConnectionCore;
use super::budget::Budget;
use super::pending_dispatch::{finish, finish_serial};
use super::reply_flush::{ReplyFlush, let_others_run};
use super::servant_cache::ServantCache;
use super::turn::Turn;
use crate::dispatch::{
    DispatchSlot, Dispatched, Parts, REPLIES_MAX, Request, Requests, Response, Rest, RestState,
    ReturnSlot, append, encode_exception, panicked,
};
pub(super) use fast_path::SingleDispatch;

/// Buffers that dispatching needs while there is something to read. They are kept elsewhere while there is
/// nothing.
#[derive(Default)]
pub(super) struct DispatchBuffers {
    replies: Buffer,
    /// Of the next response.
    reply: Buffer,
    slot: DispatchSlot,
    return_slot: Option<Arc<ReturnSlot>>,
}

/// Why dispatching pauses.
enum Pause {
    /// No request is left.
    Done,
    /// The turn of the connection is over.
    Turn,
    /// This request waits for the budgets.
    Budget(Box<Parts>),
}

/// The dispatching of one connection.
pub(super) struct Dispatching {
    connection: Arc<ConnectionCore>,
    replies: Buffer,
    reply_count: usize,
    /// The parts of the last response, of which the next request is made.
    parts: Option<Box<Parts>>,
    /// Of the connection when the origin of the parts was made.
    adapter_version: u64,
    servant_cache: ServantCache,
    slot: DispatchSlot,
    /// Where requests return that were lent to a dispatcher, and whether some are.
    return_slot: Option<Arc<ReturnSlot>>,
    is_lending: bool,
    /// Length of the events that the last dispatch has taken.
    taken_len: usize,
    budget: Budget,
    /// When others have theirs.
    pub(super) turn: Turn,
    /// When the events came to which replies wait to be written.
    answered_events: Option<Instant>,
    /// Whether others run before they are.
    lets_others_run: bool,
    reply_flush: ReplyFlush,
}

impl Dispatching {
    pub(super) fn new(connection: Arc<ConnectionCore>) -> Self {
        Self {
            budget: Budget::of(&connection),
            connection,
            turn: Turn::default(),
            replies: Buffer::default(),
            reply_count: 0,
            parts: None,
            adapter_version: 0,
            servant_cache: ServantCache::default(),
            slot: DispatchSlot::default(),
            return_slot: None,
            is_lending: false,
            taken_len: 0,
            answered_events: None,
            lets_others_run: false,
            reply_flush: ReplyFlush::default(),
        }
    }

    /// Dispatches the requests of a batch: each here if it is done at the first poll, else in a task.
    ///
    /// Those of a BatchRequest message have a share of the budget together, and the next one is dispatched
    /// when the one before is done.
    pub(super) async fn dispatch(&mut self, batch: &mut RequestBatch) {
        if batch.is_serial() {
            let share = self.budget.share_of(batch.byte_len());
            if !self.has_budget(share) {
                Box::pin(self.wait_for_budget(share, false)).await;
            }
            self.budget.end_stall();
        }
        let mut pause = self.dispatch_ready(None, batch);
        loop {
            // A wait is rare, and boxed when it happens: in place, it would make each reading longer, also
            // while it waits for something to read.
            let first = match pause {
                Pause::Done => return,
                Pause::Turn => {
                    Box::pin(self.end_turn()).await;
                    None
                }
                Pause::Budget(parts) => {
                    Box::pin(self.wait_for_budgets(parts, batch.is_serial())).await
                }
            };
            pause = self.dispatch_ready(first, batch);
        }
    }

    /// Dispatches requests, `first` before them, up to the first that must wait.
    fn dispatch_ready(&mut self, mut first: Option<Box<Parts>>, batch: &mut RequestBatch) -> Pause {
        loop {
            let parts = match first.take() {
                Some(parts) => parts,
                None => match self.next(batch) {
                    Some(Ok(parts)) => parts,
                    Some(Err(orphan)) => {
                        self.reply_exception(Some(orphan), SystemException::ObjectNotExist);
                        continue;
                    }
                    None => return Pause::Done,
                },
            };
            if !self.may_begin(&parts, batch.is_serial()) {
                return Pause::Budget(parts);
            }
            let left = batch.len();
            match self.begin(parts, batch) {
                Poll::Pending if batch.is_serial() => {
                    self.leave_serial(std::mem::take(batch));
                    return Pause::Done;
                }
                // By its name, since there is the iterator's, too.
                polled => self.end(polled, || RequestBatch::last(batch)),
            }
            let count = 1 + left.saturating_sub(batch.len());
            self.turn.spend_requests(count, self.connection.settings());
            if self.turn.is_over() {
                return Pause::Turn;
            }
        }
    }

    /// Ends the turn: what is answered leaves, and others run before the next request.
    pub(super) async fn end_turn(&mut self) {
        self.budget.let_go_of_adapter();
        self.flush().await;
        self.turn.give_way().await;
    }

    /// Whether the budgets are enough for a request. Those of a serial batch have a share of the connection's.
    #[inline]
    fn may_begin(&mut self, parts: &Parts, is_serial: bool) -> bool {
        let share = self.budget.share_of(parts.current.request.parameters_len());
        (is_serial || self.has_budget(share)) && self.budget.take_of_adapter(parts)
    }

    /// Waits until the budgets may be enough for a request. `None` if it was refused instead.
    async fn wait_for_budgets(&mut self, parts: Box<Parts>, is_serial: bool) -> Option<Box<Parts>> {
        let share = self.budget.share_of(parts.current.request.parameters_len());
        let may_refuse = !parts.current.is_oneway();
        if !is_serial && let Some(refusal) = self.wait_for_budget(share, may_refuse).await {
            self.reply_exception(Some(parts.current.request.clone()), |_| refusal);
            self.take_back(parts);
            return None;
        }
        if !self.budget.take_of_adapter(&parts) {
            self.wait_for_adapter(&parts).await;
        }
        Some(parts)
    }

    /// Answers a request that was polled, or leaves it to a task. `asked` gives the request, which went into the
    /// dispatch.
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
                self.leave(asked, len);
            }
        }
        self.taken_len = 0;
        self.budget.give_way();
    }

    /// Leaves a request that was polled to a task; its parameters have this length.
    fn leave(&mut self, asked: Option<IncomingRequest>, parameters_len: usize) {
        let connection = self.connection.clone();
        let slot = std::mem::take(&mut self.slot);
        let permit = self.budget.permit(parameters_len.max(self.taken_len));
        let asked = asked.filter(|request| !request.id().is_oneway());
        let finish = finish(connection, asked, slot, permit);
        self.connection.tasks().spawn(finish);
    }

    /// The same of one of a serial batch, with all that follow it.
    fn leave_serial(&mut self, batch: RequestBatch) {
        let connection = self.connection.clone();
        let slot = std::mem::take(&mut self.slot);
        let permit = self.budget.permit(batch.byte_len());
        let sender = self.connection.sender();
        let finish = finish_serial(connection, slot, batch, sender, permit);
        self.connection.tasks().spawn(finish);
    }

    /// Writes the last replies of a read, and keeps nothing alive until the next one.
    pub(super) async fn finish_read(&mut self) {
        if let Some(came) = self.answered_events.take() {
            self.lets_others_run = !self.reply_flush.is_pressing(came);
        }
        if std::mem::take(&mut self.lets_others_run) {
            // The tasks that were given the events send them on before their publishers are answered.
            let_others_run().await;
        }
        // Before all that can be done later, since a caller waits for the replies.
        let has_room = self.send_replies();
        self.release();
        if !has_room {
            Box::pin(self.connection.output.wait_for_reply_room()).await;
        }
    }

    /// Keeps nothing alive: what was read is handled.
    #[inline]
    fn release(&mut self) {
        self.budget.let_go_of_adapter();
        if let Some(parts) = &mut self.parts {
            parts.current.request.forget();
            if !parts.current.origin.release() {
                self.parts = None;
            }
        }
    }

    /// Takes buffers for what is about to be read, and leaves its own, in which nothing is.
    pub(super) fn take_buffers(&mut self, buffers: &mut DispatchBuffers) {
        self.exchange(buffers);
        if let Some(parts) = &mut self.parts {
            std::mem::swap(&mut parts.buffer, &mut buffers.reply);
        }
    }

    /// Returns them: there is nothing to read.
    pub(super) fn return_buffers(&mut self, buffers: &mut DispatchBuffers) {
        self.exchange(buffers);
        if let Some(parts) = &mut self.parts {
            std::mem::swap(&mut parts.buffer, &mut buffers.reply);
            // There may have been no parts when the buffers were taken, so that another one is there.
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

    /// The next request; as an error if no adapter answers requests of this connection.
    #[inline]
    fn next(&mut self, batch: &mut RequestBatch) -> Option<Result<Box<Parts>, IncomingRequest>> {
        if let Some(mut parts) = self.renew() {
            if !batch.next_over(&mut parts.current.request) {
                self.parts = Some(parts);
                return None;
            }
            return Some(Ok(parts));
        }
        let request = batch.next()?;
        Some(match self.connection.origin(self.connection.sender()) {
            Some(origin) => Ok(Parts::new(request, origin)),
            None => Err(request),
        })
    }

    /// The parts of the last request, if they are there, and the adapter is still the same.
    #[inline]
    fn renew(&mut self) -> Option<Box<Parts>> {
        let version = self.connection.adapter.version();
        if std::mem::replace(&mut self.adapter_version, version) != version {
            self.parts = None;
            self.budget.let_go_of_adapter();
            self.servant_cache.forget();
        }
        let mut parts = self.parts.take()?;
        parts.current.origin.renew().then_some(parts)
    }

    /// Gives a request, and those that follow it, to the dispatcher of its object, and polls the dispatch once.
    /// A panic of the servant is a failure of that request alone.
    #[inline]
    fn begin(&mut self, parts: Box<Parts>, batch: &mut RequestBatch) -> Poll<Dispatched> {
        let begun = catch_unwind(AssertUnwindSafe(|| self.begin_unguarded(parts, batch)));
        self.take_back_rest(batch);
        begun.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }

    fn begin_unguarded(&mut self, parts: Box<Parts>, batch: &mut RequestBatch) -> Poll<Dispatched> {
        let dispatcher = match self.servant_cache.find(&parts) {
            Ok(dispatcher) => dispatcher,
            Err(exception) => {
                self.parts = Some(parts);
                return Poll::Ready(Err(exception));
            }
        };
        let rest = match batch.len() {
            0 => Rest::default(),
            _ => self.lend(batch),
        };
        self.slot.begin();
        dispatcher.dispatch(Requests::new(Request::of(parts), rest), &mut self.slot);
        self.slot
            .poll_dispatch(&mut Context::from_waker(Waker::noop()))
    }

    /// Lends the requests that follow one.
    fn lend(&mut self, batch: &mut RequestBatch) -> Rest {
        let return_slot = self.return_slot.get_or_insert_default();
        let state = return_slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut state = state.unwrap_or_default();
        let batch_len = batch.len();
        *state = RestState {
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
            // As it was then: what has changed since is seen before the next one.
            servants_version: self.servant_cache.version(),
            taken_len: 0,
            turn: self.turn.lend(batch_len, self.connection.settings()),
        };
        self.is_lending = true;
        Rest::lent(state)
    }

    /// Takes back what is lent.
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
            // A dispatcher by hand has kept it, so that it is not known any more what is to be answered. Should it
            // return yet, it must not meet what is lent by others.
            drop(return_slot);
            self.return_slot = None;
            let reason = "expected its dispatcher to drop its requests before the poll that got them ends, or to put them \
                          into its slot, but it keeps them elsewhere";
            tracing::error!(
                "drops the connection to {}: {reason}",
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

    /// Writes the replies collected so far. A peer that does not read its replies is not read from,
    /// so that they cannot pile up here.
    async fn flush(&mut self) {
        if !self.send_replies() {
            Box::pin(self.connection.output.wait_for_reply_room()).await;
        }
    }

    /// Writes them; whether there is room for more.
    fn send_replies(&mut self) -> bool {
        let count = std::mem::take(&mut self.reply_count);
        count == 0
            || self
                .connection
                .output
                .send_replies(&self.connection, &mut self.replies, count)
    }

    /// Whether there is as much of the budget, and room for a reply. Nobody else takes of it.
    fn has_budget(&self, share: u32) -> bool {
        self.replies.len() <= REPLIES_MAX && self.budget.has(share)
    }

    /// Waits until there is. If none comes back for as long as a stall may last, the request may be
    /// refused: one without a reply would be lost in silence, and waits on.
    async fn wait_for_budget(&mut self, share: u32, may_refuse: bool) -> Option<SystemException> {
        while !self.has_budget(share) && !self.budget_comes(share).await {
            let refusal = may_refuse.then(|| Budget::refuse_nested(&self.connection));
            if let Some(Some(refusal)) = refusal {
                return Some(refusal);
            }
        }
        self.budget.end_stall();
        None
    }

    /// Whether there is enough of the budget before a stall has lasted too long. What is answered
    /// already leaves first.
    async fn budget_comes(&mut self, share: u32) -> bool {
        self.budget.let_go_of_adapter();
        self.flush().await;
        self.budget.comes(&self.connection, share).await
    }

    /// Waits for it. The connection's own share comes first, so that nobody waits with a share of
    /// what others wait for.
    async fn wait_for_adapter(&mut self, parts: &Parts) {
        self.flush().await;
        self.budget.wait_for_adapter(parts).await;
    }

    #[inline]
    fn reply(&mut self, response: Response) {
        let mut parts = response.into_parts();
        if parts.reply_count > 0 {
            match parts.events_came {
                None => self
                    .connection
                    .compression()
                    .compress_reply(&parts.current.request, &mut parts.buffer),
                came => self.answered_events = came,
            }
            self.append_replies(&mut parts.buffer, parts.reply_count);
        }
        self.take_back(parts);
    }

    /// Answers with an exception, unless the request is oneway.
    fn reply_exception(
        &mut self,
        request: Option<IncomingRequest>,
        exception: impl FnOnce(RequestFailed) -> SystemException,
    ) {
        if let Some(request) = request
            && !request.id().is_oneway()
        {
            let mut reply = encode_exception(&request, exception(request.target()));
            self.connection
                .compression()
                .compress_reply(&request, &mut reply);
            self.append_replies(&mut reply, 1);
        }
    }

    fn append_replies(&mut self, replies: &mut Buffer, count: usize) {
        self.reply_count += count;
        append(&mut self.replies, replies);
    }

    /// Keeps the parts of a response for the next request, unless a servant gave the response to a request of
    /// another connection.
    #[inline]
    fn take_back(&mut self, mut parts: Box<Parts>) {
        if parts.current.origin.is_of(&self.connection.adapter) {
            parts.clear();
            self.parts = Some(parts);
        }
    }
}
