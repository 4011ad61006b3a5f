//! Requests that are events: those to one object that follow each other are handed over together.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::{IncomingRequest, RequestId, reply};

use crate::adapter::EventSink;
use crate::event::{Event, EventsBuilder};

/// Bytes of events that are collected before they are handed over.
const COLLECTED_MAX: usize = 64 * 1024;

/// What is collected.
#[derive(Default)]
pub(super) struct Collecting {
    sink: Option<Arc<dyn EventSink>>,
    /// Identity and facet of its object, as they stand on the wire.
    target: Vec<u8>,
    events: EventsBuilder,
    /// Those that are answered, and in which encoding.
    asked: Vec<(RequestId, EncodingVersion)>,
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
        let event = request.event_bytes();
        // A long event is not copied: it keeps the buffer that it was read into, which is then at
        // most a few times as long.
        if event.len() > COLLECTED_MAX || !self.events.push(event) {
            self.deliver();
            if let Some(sink) = &self.sink {
                guarded(|| sink.take(Event::new(request).into()));
            }
        }
        if !request.id().is_oneway() {
            self.asked.push((request.id(), request.encoding()));
        }
        self.events.byte_len() >= COLLECTED_MAX
    }

    /// Hands over what is collected, and appends the replies; how many there are.
    pub(super) fn hand_over(&mut self, replies: &mut Vec<u8>) -> usize {
        self.deliver();
        let count = self.asked.len();
        for (id, encoding) in self.asked.drain(..) {
            // Nothing has always an encoding.
            let _ = reply::write_returned(replies, id, encoding, |_| ());
        }
        count
    }

    /// Whether nothing is left to hand over or to answer.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.events.byte_len() == 0 && self.asked.is_empty()
    }

    /// Forgets the sink: it may be another one the next time.
    pub(super) fn forget(&mut self) {
        self.sink = None;
    }

    fn deliver(&mut self) {
        if let Some(events) = self.events.finish()
            && let Some(sink) = &self.sink
        {
            guarded(|| sink.take(events));
        }
    }
}

/// A panic of a sink is an error of its own, and not the end of the connection.
fn guarded(take: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(take)) {
        let reason = reason(&*panic);
        tracing::error!("a servant panicked, and events that it was given are lost: {reason}");
    }
}

/// What a panic says.
pub(super) fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given")
}
