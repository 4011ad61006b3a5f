//! Requests of the peer, dispatched where they were read.
//!
//! A dispatch is polled once in place; only if it has to wait does it become a task of its own. The
//! replies of one read leave in one write. What a request is made of comes back with its response and
//! becomes the next request, so that what is common to the requests of a read is not counted for each.
//!
//! - `dispatching/batch.rs`: the requests of a batch
//! - `dispatching/sole.rs`: a request that came alone
//! - `dispatching/repeating.rs`: requests that begin as the one before them
//! - `dispatching/following.rs`: the same in the hands of a generated dispatcher

mod batch;
mod following;
mod repeating;
mod sole;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, IncomingRun, Next, RequestFailed, SystemException};

use super::Connection;
use super::budget::Budget;
use super::collecting::{Collecting, HandedOver, Waiting};
use super::courtesy::let_peers_run;
use super::found::Found;
use super::lasting::{finish, finish_events, panicked};
use super::pace::{Pace, let_others_run};
use super::replying::encode_exception;
use crate::adapter::{AdapterCore, DispatchPlace, EventSink, Origin, Parts, Request, Response};
use crate::communicator::Communicator;
use following::Home;
pub use following::{Answered, Following};
use repeating::Repeated;
pub(super) use sole::Sole;

/// Replies of one read that are collected before they are written, in bytes.
const REPLIES_MAX: usize = 64 * 1024;

/// What dispatching needs while there is something to read, kept elsewhere while there is nothing.
#[derive(Default)]
pub(super) struct Equipment {
    replies: Buffer,
    /// Of the next response.
    reply: Buffer,
    place: DispatchPlace,
    home: Option<Arc<Home>>,
}

/// The dispatching of one connection.
pub(super) struct Dispatching {
    connection: Arc<Connection>,
    replies: Buffer,
    reply_count: usize,
    /// What the next request is made of: it came back with the last response.
    spare: Option<Box<Parts>>,
    /// Of the connection when the origin of the spare was made.
    adapter_version: u64,
    found: Found,
    collecting: Collecting,
    place: DispatchPlace,
    /// Where requests come back that were lent to a dispatcher, and whether some are.
    home: Option<Arc<Home>>,
    is_lending: bool,
    budget: Budget,
    /// When the events came to which replies wait to be written.
    answered_events: Option<Instant>,
    /// Whether others run before they are.
    lets_others_run: bool,
    pace: Pace,
}

impl Dispatching {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self {
            budget: Budget::of(&connection),
            connection,
            replies: Buffer::default(),
            reply_count: 0,
            spare: None,
            adapter_version: 0,
            found: Found::default(),
            collecting: Collecting::default(),
            place: DispatchPlace::default(),
            home: None,
            is_lending: false,
            answered_events: None,
            lets_others_run: false,
            pace: Pace::default(),
        }
    }

    /// Dispatches requests: each here if it is done at once, else in a task of its own.
    pub(super) async fn run(&mut self, run: &mut IncomingRun) {
        let mut waiting = self.run_at_once(None, run);
        while let Some(parts) = waiting {
            let share = self.budget.share_of(parts.current.request.parameters_len());
            // What seldom has to wait is boxed when it does: kept in place, it would make each reading
            // longer, also while it waits for something to read.
            let may_refuse = !parts.current.is_oneway();
            if let Some(refusal) = Box::pin(self.wait_for_budget(share, may_refuse)).await {
                self.reply_exception(Some(parts.current.request.clone()), |_| refusal);
                self.take_back(parts);
                waiting = self.run_at_once(None, run);
                continue;
            }
            if !self.budget.take_of_adapter(&parts) {
                Box::pin(self.wait_for_adapter(&parts)).await;
            }
            waiting = self.run_at_once(Some(parts), run);
        }
    }

    /// Dispatches requests, `first` before them, up to the first that must wait for the budgets.
    fn run_at_once(
        &mut self,
        mut first: Option<Box<Parts>>,
        run: &mut IncomingRun,
    ) -> Option<Box<Parts>> {
        loop {
            let parts = match first.take() {
                Some(parts) => parts,
                None => match self.next(run)? {
                    Ok(parts) => parts,
                    Err(orphan) => {
                        self.reply_exception(Some(orphan), SystemException::ObjectNotExist);
                        continue;
                    }
                },
            };
            if !self.may_run(&parts) {
                return Some(parts);
            }
            let Some(mut polled) = self.begin(parts) else {
                self.collect_alike(run);
                continue;
            };
            loop {
                // By its name, for there is the iterator's, too.
                self.end(polled, || IncomingRun::last(run));
                polled = match self.repeat(run, false) {
                    Repeated::Over => break,
                    Repeated::Waiting(parts) => return Some(parts),
                    Repeated::Polled(polled) => polled,
                };
            }
        }
    }

    /// Whether the budgets are enough for a request of a run.
    #[inline]
    fn may_run(&mut self, parts: &Parts) -> bool {
        let share = self.budget.share_of(parts.current.request.parameters_len());
        self.has_budget(share) && self.budget.take_of_adapter(parts)
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
        self.budget.give_way();
    }

    /// Leaves a request that was polled to a task; its parameters have this length.
    fn leave(&mut self, asked: Option<IncomingRequest>, parameters_len: usize) {
        let connection = self.connection.clone();
        let place = std::mem::take(&mut self.place);
        let share = self.budget.share_of(parameters_len);
        let asked = asked.filter(|request| !request.id().is_oneway());
        let finish = finish(connection, asked, place, self.budget.permit(share));
        self.connection.tasks.spawn(finish);
    }

    /// Writes the last replies of a read, and keeps nothing alive until the next one.
    pub(super) async fn finish_read(&mut self) {
        if let Some(spare) = &mut self.spare {
            // Who has the reply may see it go.
            spare.servant = None;
        }
        self.hand_over();
        if let Some(came) = self.answered_events.take() {
            self.lets_others_run = !self.pace.is_pressing(came);
        }
        if std::mem::take(&mut self.lets_others_run) {
            // Whoever was given the events sends them on before their publishers hear of it.
            let_others_run().await;
            let_peers_run();
        }
        // Before all that can be done later, for somebody waits for them.
        let has_room = self.send_replies();
        self.collecting.forget();
        self.let_go();
        if !has_room {
            Box::pin(self.connection.wait_for_reply_room()).await;
        }
    }

    /// Keeps nothing alive: what was read is handled.
    #[inline]
    fn let_go(&mut self) {
        self.budget.let_go_of_adapter();
        if let Some(spare) = &mut self.spare {
            spare.current.request.forget();
            if !spare.current.origin.release() {
                self.spare = None;
            }
        }
        self.place.rest();
    }

    /// Takes buffers and a place for what is about to be read, and leaves its own, in which nothing is.
    pub(super) fn equip(&mut self, equipment: &mut Equipment) {
        self.exchange(equipment);
        if let Some(parts) = &mut self.spare {
            std::mem::swap(&mut parts.buffer, &mut equipment.reply);
        }
    }

    /// Gives them back: there is nothing to read.
    pub(super) fn rest(&mut self, equipment: &mut Equipment) {
        self.exchange(equipment);
        if let Some(parts) = &mut self.spare {
            std::mem::swap(&mut parts.buffer, &mut equipment.reply);
            // There may have been no parts when it was taken, so that another one is there.
            if parts.buffer.bytes_mut().capacity() > 0 {
                parts.buffer = Buffer::default();
            }
        }
    }

    fn exchange(&mut self, equipment: &mut Equipment) {
        std::mem::swap(&mut self.replies, &mut equipment.replies);
        std::mem::swap(&mut self.place, &mut equipment.place);
        std::mem::swap(&mut self.home, &mut equipment.home);
    }

    /// The next request; as an error if nobody answers requests of this connection.
    #[inline]
    fn next(&mut self, run: &mut IncomingRun) -> Option<Result<Box<Parts>, IncomingRequest>> {
        if let Some(mut parts) = self.renew() {
            match run.next_over(&mut parts.current.request) {
                Next::End => {
                    self.spare = Some(parts);
                    return None;
                }
                Next::Alike => {}
                Next::Other => parts.servant = None,
            }
            return Some(Ok(parts));
        }
        let request = run.next()?;
        Some(match Origin::new(&self.connection) {
            Some(origin) => Ok(Parts::new(request, origin)),
            None => Err(request),
        })
    }

    /// What the next request is made of, if it is there, and the adapter is still the same.
    #[inline]
    fn renew(&mut self) -> Option<Box<Parts>> {
        let version = self.connection.adapter_version();
        if std::mem::replace(&mut self.adapter_version, version) != version {
            self.spare = None;
            self.budget.let_go_of_adapter();
            self.hand_over();
            self.collecting.forget();
            self.found.forget();
        }
        let mut parts = self.spare.take()?;
        parts.current.origin.renew().then_some(parts)
    }

    /// Starts the dispatch of a request, and polls it once; a panic of the servant is a failure of
    /// that request alone. `None` if it is an event, which is handed over with those that follow.
    #[inline]
    fn begin(&mut self, parts: Box<Parts>) -> Option<Poll<Result<Response, SystemException>>> {
        if self.collecting.takes(&parts.current.request) {
            self.collect(parts);
            return None;
        }
        self.hand_over();
        match self.begin_other(parts) {
            Begun::Polled(polled) => Some(polled),
            Begun::Event(sink, parts) => {
                self.collecting.begin(sink, &parts.current.request);
                self.collect(parts);
                None
            }
        }
    }

    /// The same of a request to another object than the events before it, all of which are handed over.
    #[inline]
    fn begin_other(&mut self, mut parts: Box<Parts>) -> Begun {
        let Self {
            found,
            place,
            spare,
            ..
        } = self;
        let begun = catch_unwind(AssertUnwindSafe(|| {
            if let Some(sink) = found.sink(&parts, parts.current.request.target_bytes()) {
                return Begun::Event(sink, parts);
            }
            let dispatcher = match found.find(&mut parts) {
                Ok(dispatcher) => dispatcher,
                Err(exception) => {
                    *spare = Some(parts);
                    return Begun::Polled(Poll::Ready(Err(exception)));
                }
            };
            if let Some(sink) = dispatcher.event_sink(&parts.current) {
                found.note_sink(&sink);
                return Begun::Event(sink, parts);
            }
            dispatcher.dispatch_in(Request::of(parts), place);
            Begun::Polled(place.poll(&mut Context::from_waker(Waker::noop())))
        }));
        begun.unwrap_or_else(|panic| Begun::Polled(Poll::Ready(Err(panicked(&*panic)))))
    }

    fn collect(&mut self, parts: Box<Parts>) {
        let is_enough = self.collecting.add(&parts.current.request);
        self.take_back(parts);
        if is_enough {
            self.hand_over();
        }
    }

    /// Collects the requests that follow an event as long as they begin as it did.
    #[inline]
    fn collect_alike(&mut self, run: &mut IncomingRun) {
        while let Some(event) = run.next_alike() {
            if self.collecting.add_alike(&event) {
                self.hand_over();
            }
        }
    }

    /// Hands the events over that were collected. Those that wait for room go on in a task.
    #[inline]
    fn hand_over(&mut self) {
        if self.collecting.is_empty() {
            return;
        }
        let now = Instant::now();
        match self.collecting.hand_over(self.replies.bytes_mut(), now) {
            HandedOver::Replies(0) => {}
            HandedOver::Replies(count) => {
                self.reply_count += count;
                self.answered_events = Some(now);
            }
            HandedOver::Waiting(waiting) => self.wait_for_sink(waiting),
        }
    }

    fn wait_for_sink(&mut self, waiting: Waiting) {
        let permit = self.budget.permit_late(waiting.byte_len);
        let finish = finish_events(self.connection.clone(), waiting, permit);
        self.connection.tasks.spawn(finish);
    }

    /// Writes the replies collected so far. A peer that does not read its replies is not read from,
    /// so that they cannot pile up here.
    async fn flush(&mut self) {
        if !self.send_replies() {
            Box::pin(self.connection.wait_for_reply_room()).await;
        }
    }

    /// Writes them; whether there is room for more.
    fn send_replies(&mut self) -> bool {
        self.hand_over();
        let count = std::mem::take(&mut self.reply_count);
        count == 0 || self.connection.send_replies(&mut self.replies, count)
    }

    /// Whether there is as much of the budget, and room for a reply. Nobody else takes of it.
    fn has_budget(&self, share: u32) -> bool {
        self.replies.len() <= REPLIES_MAX && self.budget.has(share)
    }

    /// Waits until there is. If none comes back for as long as a stall may last, the request may be
    /// refused: one without a reply would be lost in silence, and waits on.
    async fn wait_for_budget(&mut self, share: u32, may_refuse: bool) -> Option<SystemException> {
        while !self.has_budget(share) && !self.budget_comes(share).await {
            let refusal = may_refuse.then(|| self.connection.refuse_nested());
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
        let request = &parts.current.request;
        if !request.id().is_oneway() {
            self.connection.compress_reply(request, &mut parts.buffer);
            self.append_reply(&mut parts.buffer);
        }
        self.take_back(parts);
    }

    /// Answers with an exception; not at all if nobody waits for it.
    fn reply_exception(
        &mut self,
        request: Option<IncomingRequest>,
        exception: impl FnOnce(RequestFailed) -> SystemException,
    ) {
        if let Some(request) = request
            && !request.id().is_oneway()
        {
            let mut reply = encode_exception(&request, exception(request.target()));
            self.connection.compress_reply(&request, &mut reply);
            self.append_reply(&mut reply);
        }
    }

    fn append_reply(&mut self, reply: &mut Buffer) {
        self.reply_count += 1;
        append(&mut self.replies, reply);
    }

    /// Keeps of a response what the next request can have. A servant may have given the response to
    /// a request of another connection, which is none of this one's business.
    #[inline]
    fn take_back(&mut self, mut parts: Box<Parts>) {
        if parts.current.origin.is_of(&self.connection) {
            parts.buffer.clear();
            self.spare = Some(parts);
        }
    }
}

/// What a request has turned out to be.
enum Begun {
    /// Its dispatch has begun, and was polled once.
    Polled(Poll<Result<Response, SystemException>>),
    /// It is an event for this sink.
    Event(Arc<dyn EventSink>, Box<Parts>),
}

/// Appends a reply, which is empty afterwards.
#[inline]
fn append(replies: &mut Buffer, reply: &mut Buffer) {
    if replies.is_empty() {
        std::mem::swap(replies, reply);
    } else {
        replies.append(reply);
    }
}

impl Connection {
    /// Whose requests it carries, while they exist.
    pub(crate) fn owner(&self) -> Option<(Arc<AdapterCore>, Communicator)> {
        let adapter = self.adapter()?;
        let communicator = adapter.communicator()?;
        Some((adapter, communicator))
    }
}
