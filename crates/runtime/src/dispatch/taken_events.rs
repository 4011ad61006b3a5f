//! Requests that a dispatcher takes undecoded, as events.

use std::any::Any;
use std::fmt;
use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use floe_wire::message::{IncomingRequest, Outcome, SystemException, reply};

use super::lent_requests::LentRequests;
use super::request::RequestParts;
use super::slot::panic_reason;
use super::{Current, DispatchSlot, Request, Response, panicked};
use crate::event::{Event, Events, EventsBuilder};

/// Short events are collected up to this many bytes before they are taken. A longer event is not copied: it keeps the
/// buffer that it was read into, which is then at most a few times as long.
const COLLECTED_MAX: usize = 64 * 1024;

/// Requests that were taken as events. Each is answered with an empty result, in its own encoding.
#[must_use = "the requests are not answered"]
pub struct TakenEvents {
    parts: Box<RequestParts>,
    rest: LentRequests,
}

impl TakenEvents {
    pub(super) fn new(
        front: Request,
        rest: LentRequests,
        take: impl FnMut(Events, Instant),
    ) -> Self {
        let now = Instant::now();
        let mut taken = Self {
            parts: front.into_parts(),
            rest,
        };
        taken.parts.events_came = Some(now);
        taken.take_all(GuardedTake { take, now });
        taken
    }

    /// The last of the requests.
    pub fn current(&self) -> &Current {
        &self.parts.current
    }

    /// Answers the requests.
    pub fn answer(self, slot: &mut DispatchSlot) {
        slot.run(ready(Ok(Response::of(self.parts))));
    }

    /// Answers the requests after a wait: for example, until there is room for the events. If the wait fails, all
    /// requests are answered with its exception. The future is polled once before further requests are dispatched. Until
    /// it ends, the events count as a dispatch of their connection.
    pub fn answer_or_refuse(
        self,
        slot: &mut DispatchSlot,
        wait: impl Future<Output = Result<(), SystemException>> + Send + 'static,
    ) {
        let Self {
            mut parts,
            mut rest,
        } = self;
        slot.run(async move {
            let wait = pin!(GuardedWait(pin!(wait)));
            if let Err(exception) = rest.lent_until_pending(wait).await {
                refuse_all(&mut parts, exception);
            }
            Ok(Response::of(parts))
        });
    }

    fn take_all(&mut self, mut take: GuardedTake<impl FnMut(Events, Instant)>) {
        self.answer_front();
        if self.rest.is_empty() {
            return take.take(event(&self.parts.current.request));
        }
        let mut collected = Collected {
            builder: std::mem::take(&mut self.parts.events),
            len: 0,
        };
        collected.add(&self.parts.current.request, &mut take);
        while self.rest.next_event(&mut self.parts) {
            self.answer_front();
            collected.add(&self.parts.current.request, &mut take);
        }
        collected.flush(&mut take);
        self.rest.note_taken(collected.len);
        self.parts.events = collected.builder;
    }

    /// Appends the reply to the front request, if its caller expects one.
    #[inline]
    fn answer_front(&mut self) {
        let RequestParts {
            current,
            buffer,
            reply_count,
            ..
        } = &mut *self.parts;
        let (id, encoding) = (current.request.id(), current.request.encoding());
        if !id.is_oneway() {
            // Encoding an empty result cannot fail.
            let _ = reply::write_returned(buffer.bytes_mut(), id, encoding, |_| ());
            *reply_count += 1;
        }
    }
}

impl fmt::Debug for TakenEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TakenEvents").finish_non_exhaustive()
    }
}

/// Takes a single request as an event, which is copied unless it is long.
fn event(request: &IncomingRequest) -> Events {
    let bytes = request.event_bytes();
    match bytes.len() > COLLECTED_MAX {
        true => Event::new(request).into(),
        false => Event::copied(bytes).into(),
    }
}

/// Events that are collected so that they are taken together.
struct Collected {
    builder: EventsBuilder,
    /// Length of all events so far.
    len: usize,
}

impl Collected {
    #[inline]
    fn add<T: FnMut(Events, Instant)>(
        &mut self,
        request: &IncomingRequest,
        take: &mut GuardedTake<T>,
    ) {
        let bytes = request.event_bytes();
        self.len += bytes.len();
        if bytes.len() > COLLECTED_MAX || !self.builder.push(bytes) {
            self.flush(take);
            take.take(Event::new(request).into());
        } else if self.builder.byte_len() >= COLLECTED_MAX {
            self.flush(take);
        }
    }

    fn flush<T: FnMut(Events, Instant)>(&mut self, take: &mut GuardedTake<T>) {
        if let Some(events) = self.builder.finish() {
            take.take(events);
        }
    }
}

/// Passes events to a dispatcher. If it panics, they are lost, and the connection continues.
struct GuardedTake<T> {
    take: T,
    now: Instant,
}

impl<T: FnMut(Events, Instant)> GuardedTake<T> {
    fn take(&mut self, events: Events) {
        let taken = catch_unwind(AssertUnwindSafe(|| (self.take)(events, self.now)));
        if let Err(panic) = taken {
            log_panic(&*panic);
        }
    }
}

/// Polls the future that a dispatcher returned. If it panics, it has failed.
struct GuardedWait<'a, F>(Pin<&'a mut F>);

impl<F: Future<Output = Result<(), SystemException>>> Future for GuardedWait<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }
}

/// Replaces the empty replies with replies that throw this exception.
fn refuse_all(parts: &mut RequestParts, exception: SystemException) {
    let replies = reply::all_returned_nothing(parts.buffer.bytes(), usize::MAX);
    let ids: Vec<_> = replies.into_iter().flatten().map(|(id, _)| id).collect();
    parts.buffer.clear();
    let outcome = Outcome::System(exception);
    for id in ids {
        // Encoding a text fails only beyond 2 GiB. Without a reply, the caller knows as little as after a lost
        // connection.
        if reply::write_outcome(&mut parts.buffer, id, &outcome).is_err() {
            parts.reply_count -= 1;
        }
    }
}

fn log_panic(panic: &(dyn Any + Send)) {
    let reason = panic_reason(panic);
    tracing::error!("a servant panicked and lost the events that it had taken: {reason}");
}
