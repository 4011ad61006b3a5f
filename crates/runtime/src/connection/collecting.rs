//! Requests that are events: those to one object that follow each other are handed over together.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::{AlikeEvent, IncomingRequest, RequestId, reply};

use crate::adapter::{EventSink, Taking};
use crate::event::{Event, Events, EventsBuilder};

/// Bytes of events that are collected before they are handed over.
const COLLECTED_MAX: usize = 64 * 1024;

/// What is collected.
#[derive(Default)]
pub(super) struct Collecting {
    sink: Option<Arc<dyn EventSink>>,
    /// Identity and facet of its object, as they stand on the wire.
    target: Vec<u8>,
    events: EventsBuilder,
    /// What stands before these: a long event, and what came before it.
    runs: Vec<Events>,
    /// Those that are answered.
    asked: Vec<Asked>,
}

/// An event that is answered, and in which encoding.
pub(super) type Asked = (RequestId, EncodingVersion);

/// What is left of events that were handed over.
pub(super) enum HandedOver {
    /// Replies, so many.
    Replies(usize),
    /// They wait for room.
    Waiting(Waiting),
}

/// Events that wait for room in their sink.
pub(super) struct Waiting {
    taking: Vec<Guarded>,
    asked: Vec<Asked>,
    /// How long they are together, in bytes.
    pub(super) byte_len: usize,
}

impl Collecting {
    /// Whether the request is an event for the sink of those before it.
    #[inline]
    pub(super) fn takes(&self, request: &IncomingRequest) -> bool {
        self.sink.is_some() && self.target == request.target_bytes()
    }

    /// Events to the target of this request are from now on for this sink. Nothing must be left of
    /// another one.
    pub(super) fn begin(&mut self, sink: Arc<dyn EventSink>, request: &IncomingRequest) {
        self.sink = Some(sink);
        self.target.clear();
        self.target.extend_from_slice(request.target_bytes());
    }

    /// Adds an event; whether it is time to hand over what is collected.
    #[inline]
    pub(super) fn add(&mut self, request: &IncomingRequest) -> bool {
        let asked = (request.id(), request.encoding());
        self.add_bytes(request.event_bytes(), asked, || Event::new(request))
    }

    /// The same of an event to the same object as the last one.
    #[inline]
    pub(super) fn add_alike(&mut self, event: &AlikeEvent<'_>) -> bool {
        let asked = (event.id(), event.encoding());
        self.add_bytes(event.bytes(), asked, || Event::of_alike(event))
    }

    #[inline]
    fn add_bytes(&mut self, bytes: &[u8], asked: Asked, whole: impl FnOnce() -> Event) -> bool {
        if !asked.0.is_oneway() {
            self.asked.push(asked);
        }
        if is_long(bytes) || !self.events.push(bytes) {
            self.runs.extend(self.events.finish());
            self.runs.push(whole().into());
            return true;
        }
        self.events.byte_len() >= COLLECTED_MAX
    }

    /// Hands over what is collected, and appends the replies, unless it has to wait.
    pub(super) fn hand_over(&mut self, replies: &mut Vec<u8>, now: Instant) -> HandedOver {
        self.runs.extend(self.events.finish());
        let mut waiting: Option<Waiting> = None;
        for run in self.runs.drain(..) {
            let Some(sink) = self.sink.clone() else { break };
            let byte_len = run.byte_len();
            if let Some(taking) = begin(sink, run, now) {
                let waiting = waiting.get_or_insert_with(|| Waiting {
                    taking: Vec::new(),
                    asked: std::mem::take(&mut self.asked),
                    byte_len: 0,
                });
                waiting.taking.push(taking);
                waiting.byte_len += byte_len;
            }
        }
        match waiting {
            Some(waiting) => HandedOver::Waiting(waiting),
            None => HandedOver::Replies(append_replies(replies, self.asked.drain(..))),
        }
    }

    /// Whether nothing is left to hand over or to answer.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.events.byte_len() == 0 && self.runs.is_empty() && self.asked.is_empty()
    }

    /// Forgets the sink: it may be another one the next time.
    pub(super) fn forget(&mut self) {
        self.sink = None;
    }
}

/// Hands over an event that came alone; what is left of it if it waits for room.
#[inline]
pub(super) fn hand_over_sole(
    sink: Arc<dyn EventSink>,
    event: Event,
    asked: Asked,
    now: Instant,
) -> Option<Waiting> {
    let byte_len = event.len();
    let taking = begin(sink, event.into(), now)?;
    let is_asked = !asked.0.is_oneway();
    Some(Waiting {
        taking: vec![taking],
        asked: Vec::from_iter(is_asked.then_some(asked)),
        byte_len,
    })
}

/// Whether an event is not copied: it keeps the buffer that it was read into, which is then at most a few times as
/// long.
#[inline]
pub(super) fn is_long(event: &[u8]) -> bool {
    event.len() > COLLECTED_MAX
}

impl Waiting {
    /// Waits until all events are taken, and appends the replies; how many there are.
    pub(super) async fn wait(mut self, replies: &mut Vec<u8>) -> usize {
        // All at a time: others may stand behind the last of them where the first has nothing to wait for.
        poll_fn(|context| {
            let taking = &mut self.taking;
            taking.retain_mut(|taking| Pin::new(taking).poll(context).is_pending());
            match taking.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        append_replies(replies, self.asked.into_iter())
    }
}

fn append_replies(replies: &mut Vec<u8>, asked: impl ExactSizeIterator<Item = Asked>) -> usize {
    let count = asked.len();
    for (id, encoding) in asked {
        // Nothing has always an encoding.
        let _ = reply::write_returned(replies, id, encoding, |_| ());
    }
    count
}

/// Hands events to a sink; what is left to wait for. It has its place in the order of those who wait.
fn begin(sink: Arc<dyn EventSink>, events: Events, now: Instant) -> Option<Guarded> {
    let taking = guarded(|| sink.take(events, now)).flatten()?;
    let mut taking = Guarded(taking);
    let polled = Pin::new(&mut taking).poll(&mut Context::from_waker(Waker::noop()));
    polled.is_pending().then_some(taking)
}

/// What a sink does with events while they wait for room.
struct Guarded(Taking);

impl Future for Guarded {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        guarded(|| self.0.as_mut().poll(context)).unwrap_or(Poll::Ready(()))
    }
}

/// A panic of a sink is an error of its own, and not the end of the connection.
fn guarded<T>(take: impl FnOnce() -> T) -> Option<T> {
    let taken = catch_unwind(AssertUnwindSafe(take));
    if let Err(panic) = &taken {
        let reason = reason(&**panic);
        tracing::error!("a servant panicked, and events that it was given are lost: {reason}");
    }
    taken.ok()
}

/// What a panic says.
pub(super) fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn events_that_wait_do_not_keep_those_waiting_that_came_behind_them() {
        let (first, first_waits) = oneshot::channel::<()>();
        let goes_on = Arc::<AtomicBool>::default();
        let second_goes_on = goes_on.clone();
        let taking: [Taking; 2] = [
            Box::pin(async { drop(first_waits.await) }),
            Box::pin(async move { second_goes_on.store(true, Ordering::Relaxed) }),
        ];
        let waiting = Waiting {
            taking: taking.map(Guarded).into(),
            asked: Vec::new(),
            byte_len: 0,
        };
        let mut replies = Vec::new();
        let mut wait = pin!(waiting.wait(&mut replies));
        let mut context = Context::from_waker(Waker::noop());
        assert!(wait.as_mut().poll(&mut context).is_pending());
        assert!(goes_on.load(Ordering::Relaxed));
        assert!(first.send(()).is_ok());
        assert!(wait.as_mut().poll(&mut context).is_ready());
    }
}
