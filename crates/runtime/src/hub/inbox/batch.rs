//! The part of a read that a dispatch takes: events in their order, and the replies that leave later.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use floe_wire::message::SystemException;
use tokio::sync::oneshot;

use super::{Content, Inbox, Item, Waited, not_taken, wake};
use crate::codegen::TypedEvent;
use crate::dispatch::{
    DeferredReplies, DeferredReply, Request, RequestSource, RequestTaker, Taken,
};
use crate::hub::Interruption;

/// Items on their way into an inbox.
pub(in crate::hub) struct Batch<'a, E: Send + 'static> {
    inbox: &'a Arc<Inbox<E>>,
    /// The connection that answers later; `None` if the caller waits for the outcome of the dispatch.
    source: Option<&'a Arc<dyn RequestSource>>,
    admission: StreamEntry,
    /// How many requests it has taken.
    taken: usize,
    items: VecDeque<Item<E>>,
    /// How many of the first items are answered at once.
    free: usize,
    /// The replies to the items after these.
    deferred: Vec<DeferredReply>,
    /// The exception of the only item, if its caller waits.
    exception: Option<Box<SystemException>>,
    /// The exception of an event without a reply. The next reply throws it, because that answers the event, too.
    refusal: Option<Box<SystemException>>,
}

/// Says if the stream takes events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamEntry {
    Open,
    /// Nobody reads the stream any more.
    Closed,
    /// A newer connection has brought events already. These were sent before them, and would come after them.
    Late,
}

impl<E: TypedEvent> Inbox<E> {
    /// Begins a batch of events that come over this connection.
    pub(in crate::hub) fn begin<'a>(
        self: &'a Arc<Self>,
        source: Option<&'a Arc<dyn RequestSource>>,
        len_max: usize,
    ) -> Batch<'a, E> {
        let mut state = self.lock();
        let admission = match source {
            _ if state.is_closed => StreamEntry::Closed,
            Some(source) if !self.admits(&mut state, source) => StreamEntry::Late,
            _ => StreamEntry::Open,
        };
        let waiting = state.arrived - self.finished.load(Ordering::SeqCst).min(state.arrived);
        let free = match self.is_durable {
            true => 0,
            false => usize::try_from(self.capacity.saturating_sub(waiting)).unwrap_or(usize::MAX),
        };
        // An empty queue lends its memory.
        let mut items = match state.items.is_empty() {
            true => std::mem::take(&mut state.items),
            false => std::mem::take(&mut state.spare),
        };
        let refusal = state.refusal.take();
        drop(state);
        items.reserve(len_max.min(RESERVED_MAX));
        Batch {
            inbox: self,
            source,
            admission,
            taken: 0,
            items,
            free,
            deferred: Vec::new(),
            exception: None,
            refusal,
        }
    }

    /// Notes the connection of the last events. Returns false if the events of this one come too late: a newer one has
    /// brought events, and this is the rest of a connection that the hub has given up.
    fn admits(&self, state: &mut Content<E>, source: &Arc<dyn RequestSource>) -> bool {
        let is_source = |other: &Weak<dyn RequestSource>| {
            std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(source))
        };
        if state.source.as_ref().is_some_and(is_source) {
            return true;
        }
        let is_late = |retired: &Retired| {
            is_source(&retired.source) && (source.is_closed() || retired.since.elapsed() < LATE_FOR)
        };
        if !self.has_several_sources && state.retired.iter().any(is_late) {
            return false;
        }
        state
            .retired
            .retain(|retired| retired.source.strong_count() > 0 && !is_source(&retired.source));
        if let Some(former) = state.source.replace(Arc::downgrade(source)) {
            if is_closed(&former) {
                self.retract(state);
            }
            state.retired.push(Retired {
                source: former,
                since: Instant::now(),
            });
        }
        true
    }
}

/// A connection whose hub has gone on to another one.
pub(super) struct Retired {
    source: Weak<dyn RequestSource>,
    since: Instant,
}

/// The rest of a connection that a hub has given up is read within this time. A connection that brings events
/// later than that is in use.
const LATE_FOR: Duration = Duration::from_secs(1);

fn is_closed(source: &Weak<dyn RequestSource>) -> bool {
    source.upgrade().is_none_or(|source| source.is_closed())
}

impl<E: Send + 'static> Inbox<E> {
    /// Answers events that were taken when the stream was closed.
    fn refuse(
        &self,
        source: Option<&Arc<dyn RequestSource>>,
        deferred: Vec<DeferredReply>,
    ) -> Option<Waited> {
        let exception = self.is_durable.then(not_taken);
        let Some(source) = source else {
            let (sender, waited) = oneshot::channel();
            // The receiver is here.
            let _ = sender.send(exception.map_or(Ok(()), Err));
            return Some(waited);
        };
        let mut replies = DeferredReplies::to(source.clone());
        for mut reply in deferred {
            reply.hold_nothing();
            replies.push(0, reply);
        }
        if let Some(replies) = replies.take_until(0, exception.as_ref()) {
            replies.send();
        }
        None
    }
}

impl<E: TypedEvent> RequestTaker<'static> for Batch<'_, E> {
    fn take(&mut self, request: &Request) -> Taken<'static> {
        self.taken += 1;
        let (item, exception) = match E::decode(request) {
            Some(Ok(event)) => (Ok(event), None),
            Some(Err(exception)) => (refused(request, &exception), Some(Box::new(exception))),
            None => match request.builtin_result(E::TYPE_ID, E::TYPE_IDS) {
                Ok(result) => return Taken::Builtin(result),
                Err(exception) => (refused(request, &exception), Some(Box::new(exception))),
            },
        };
        match self.admission {
            StreamEntry::Open => {}
            StreamEntry::Closed if self.inbox.is_durable => {
                return Taken::Refused(not_taken().into());
            }
            StreamEntry::Closed => return answered(exception),
            StreamEntry::Late => return self.take_late(request),
        }
        self.items.push_back(item);
        let exception = match request.current().is_oneway() {
            true => {
                self.refusal = self.refusal.take().or(exception);
                None
            }
            false => exception.or_else(|| self.refusal.take()),
        };
        if self.items.len() <= self.free {
            return answered(exception);
        }
        match self.source {
            Some(_) => self.deferred.push(request.defer(exception)),
            None => self.exception = exception,
        }
        Taken::Deferred
    }

    fn end(self) -> bool {
        self.put().has_woken
    }
}

/// The outcome when a batch is in the inbox.
#[derive(Default)]
pub(in crate::hub) struct Put {
    /// True if the consumer was waiting.
    has_woken: bool,
    /// The wait of the caller of the only item, if that is not answered at once.
    pub(in crate::hub) waited: Option<Waited>,
}

impl<E: TypedEvent> Batch<'_, E> {
    /// Takes an event that comes too late. If its caller expects a reply, it learns that the event has not arrived.
    fn take_late(&mut self, request: &Request) -> Taken<'static> {
        if request.current().is_oneway() {
            match self.items.back_mut() {
                Some(Err(Interruption::Lost { count })) => *count += 1,
                _ => self.items.push_back(Err(Interruption::Lost { count: 1 })),
            }
        }
        Taken::Refused(not_taken().into())
    }

    /// Puts the items into the inbox, and wakes the consumer.
    pub(in crate::hub) fn put(self) -> Put {
        let Self {
            inbox,
            source,
            taken,
            mut items,
            free,
            mut deferred,
            exception,
            refusal,
            ..
        } = self;
        inbox.arrivals.note_arrived(taken);
        let mut state = inbox.lock();
        if state.is_closed {
            drop(state);
            return Put {
                has_woken: false,
                waited: inbox.refuse(source, deferred),
            };
        }
        state.refusal = refusal;
        if let Some(source) = source {
            DeferredReply::hold_all(&mut deferred, &**source);
        }
        let first = state.arrived;
        let count = items.len();
        state.arrived += count as u64;
        match state.items.is_empty() {
            true => state.items = items,
            false => {
                state.items.append(&mut items);
                state.spare = items;
            }
        }
        let mut waited = None;
        if count > free {
            inbox.arrivals.note_deferred(count - free);
            let numbers = first + free as u64..;
            match source {
                Some(source) => {
                    let replies = state.deferred_to(source);
                    for (number, reply) in numbers.zip(deferred) {
                        replies.push(inbox.answered_at(number), reply);
                    }
                }
                None => {
                    let exception = exception.map(|exception| *exception);
                    waited = Some(state.wait_until(inbox.answered_at(first), exception));
                }
            }
            inbox.note_flush_at(&state);
        }
        let consumer = state.consumer.take_if(|_| count > 0);
        drop(state);
        let has_woken = consumer.is_some();
        wake(consumer);
        if count > free {
            inbox.flush_if_due();
        }
        Put { has_woken, waited }
    }
}

/// The answer to an event that needs no wait.
fn answered(exception: Option<Box<SystemException>>) -> Taken<'static> {
    exception.map_or(Taken::Answered, Taken::Refused)
}

/// The item for an event that is answered with an exception.
#[cold]
fn refused<E>(request: &Request, exception: &SystemException) -> Item<E> {
    let reason = match exception {
        SystemException::OperationNotExist(_) => "the interface has no such operation".into(),
        exception => exception.to_string(),
    };
    Err(Interruption::Refused {
        operation: request.operation().to_owned(),
        reason,
    })
}

/// Most items for which memory is reserved before they are decoded. A batch message may claim more requests than it has.
const RESERVED_MAX: usize = 1024;
