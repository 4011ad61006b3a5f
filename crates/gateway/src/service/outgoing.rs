//! Forwards one request, and returns its answer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use floe::dispatch::{Request, Response};
use floe::encoding::{Encode, Encoder};
use floe::forwarding::{Event, EventParts, EventsBuilder};
use floe::message::Outcome;
use floe::{
    Context, EncodingVersion, InvocationMode, InvokeError, Proxy, Reference, SystemException,
};

use super::account::Held;
use super::failure;
use super::server_link::{Origin, Room, ServerLink};

/// A request to forward, with its parameters still encoded.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The object, with the mode of the invocation.
    pub(super) target: Proxy,
    /// True if the request asks for compression.
    pub(super) is_compressed: bool,
    pub(super) event: Event,
    /// The memory of the request, kept until it has its answer, or has left if it gets none.
    pub(super) memory: Option<Held>,
    /// The client that sent the request, if it goes to a server.
    pub(super) origin: Option<Arc<Origin>>,
}

/// The outcome of a forwarded request; `None` if it gets no reply.
pub(crate) type Answer = Result<Option<Outcome>, SystemException>;

impl Outgoing {
    /// Forwards the request. Sets `is_sent` as soon as later requests over the same connection must arrive after it.
    ///
    /// An idempotent request is sent to its server a second time if the connection breaks under it or the servant fails.
    /// Source: observed, glacier2router 3.7.8.
    pub(super) async fn forward(&self, is_sent: &AtomicBool) -> Answer {
        let mut forwarded = self.attempt(is_sent).await?;
        if forwarded
            .as_ref()
            .is_err_and(|error| self.is_repeated_after(error))
        {
            forwarded = self.attempt(is_sent).await?;
        }
        forwarded.map_err(failure::exception)
    }

    /// Forwards the request once, or again as far as it surely did not arrive.
    ///
    /// # Errors
    /// The gateway refuses to send it.
    async fn attempt(
        &self,
        is_sent: &AtomicBool,
    ) -> Result<Result<Option<Outcome>, InvokeError>, SystemException> {
        let mut room = self.room().await?;
        let mut forwarding = pin!(self.target.forward_noting(&self.event, is_sent));
        let mut is_first = true;
        let forwarded = poll_fn(|context| {
            let polled = forwarding.as_mut().poll(context);
            let may_have_retried = polled.is_pending() && !std::mem::replace(&mut is_first, false);
            if let Some(origin) = self.origin.as_ref().filter(|_| may_have_retried) {
                // The server may have closed its connection. Then a retry has made another one, which counts while it is used.
                ServerLink::current(&self.target, origin);
            }
            polled
        })
        .await;
        if let Some(room) = &mut room {
            room.answered(&forwarded);
        }
        Ok(forwarded)
    }

    /// Returns true if the request goes to a server, and may be executed twice after this failure.
    fn is_repeated_after(&self, error: &InvokeError) -> bool {
        let may_succeed = match error {
            InvokeError::PerhapsDispatched(_) => !error.is_timeout(),
            InvokeError::System(
                SystemException::UnknownException(_)
                | SystemException::UnknownLocalException(_)
                | SystemException::UnknownUserException(_),
            ) => true,
            _ => false,
        };
        let is_idempotent = || {
            let parts = EventParts::parse(self.event.as_bytes());
            parts.is_ok_and(|parts| parts.mode.is_idempotent())
        };
        may_succeed && self.origin.is_some() && is_idempotent()
    }

    /// Length of what is sent, in bytes.
    fn len(&self) -> usize {
        let Reference {
            identity, facet, ..
        } = self.target.reference();
        self.event.len() + identity.name.len() + identity.category.len() + facet.len()
    }

    /// Connects to the server, and waits until the request may be among those that have no answer, if it gets any.
    async fn room(&self) -> Result<Option<Room>, SystemException> {
        let Some(origin) = &self.origin else {
            return Ok(None);
        };
        let link = ServerLink::connect(&self.target, origin).await?;
        let is_twoway = self.target.reference().mode == InvocationMode::Twoway;
        match link.filter(|_| is_twoway) {
            Some(link) => {
                let room = link.to_server(origin, self.len()).await;
                room.map(Some)
            }
            None => Ok(None),
        }
    }
}

/// Length of the texts, or of the encoded results, in an answer, in bytes.
pub(super) fn answer_len(answer: &Answer) -> usize {
    match answer {
        Ok(Some(outcome)) => outcome_len(outcome),
        Ok(None) => 0,
        Err(exception) => exception_len(exception),
    }
}

/// Length of the texts, or of the encoded results, in an outcome, in bytes.
pub(super) fn outcome_len(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Returned(bytes) | Outcome::UserException(bytes) => bytes.len(),
        Outcome::System(exception) => exception_len(exception),
    }
}

/// Length of the texts of an exception, in bytes.
pub(super) fn exception_len(exception: &SystemException) -> usize {
    match exception {
        SystemException::ObjectNotExist(failed)
        | SystemException::FacetNotExist(failed)
        | SystemException::OperationNotExist(failed) => {
            let identity = &failed.identity;
            let texts = [
                &identity.name,
                &identity.category,
                &failed.facet,
                &failed.operation,
            ];
            texts.into_iter().map(String::len).sum()
        }
        other => other.to_string().len(),
    }
}

/// Requests and answers up to this length, in bytes, are copied if they may wait, so that none of them keeps alive the
/// whole buffer into which it was read. A longer one has a buffer of its own.
pub(super) const COPIED_LEN_MAX: usize = 64 * 1024;

/// Runs an invocation until its request has left, or until it has ended. Returns the result if it has ended.
pub(super) async fn until_sent<F: Future>(
    mut forwarding: Pin<&mut F>,
    is_sent: &AtomicBool,
) -> Option<F::Output> {
    poll_fn(|context| match forwarding.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending if is_sent.load(Ordering::Relaxed) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Polls a future once in place, so that several of them begin in their order. Gives it back if it is not ready.
pub(crate) async fn begin<F: Future>(future: F) -> Result<F::Output, Pin<Box<F>>> {
    let mut future = Box::pin(future);
    match poll_once(future.as_mut()).await {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(future),
    }
}

/// Polls a future once.
pub(super) async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

/// The response for an answer. A twoway request that was forwarded in another mode returns nothing.
pub(super) fn respond(request: Request, answer: Answer) -> Result<Response, SystemException> {
    match answer? {
        Some(outcome) => request.respond(&outcome),
        None => request.returned_nothing(),
    }
}

/// The request with another context.
pub(crate) fn with_context(event: &Event, context: &Context) -> Event {
    let Ok(parts) = EventParts::parse(event.as_bytes()) else {
        return event.clone();
    };
    if context.is_empty() && parts.context == [0] {
        return event.clone();
    }
    let mut builder = EventsBuilder::default();
    let written = builder.push_with(|buffer| {
        buffer.reserve(event.len());
        buffer.extend_from_slice(parts.head);
        let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
        context.encode(&mut encoder);
        // This cannot fail, because the texts of the context were decoded before.
        let _ = encoder.finish();
        buffer.extend_from_slice(parts.parameters);
        Ok(())
    });
    let events = written.ok().and_then(|()| builder.finish());
    let mut events = events.iter().flat_map(floe::forwarding::Events::each);
    events.next().unwrap_or_else(|| event.clone())
}

/// Returns true if a request has a context.
pub(super) fn has_context(event: &Event) -> bool {
    EventParts::parse(event.as_bytes()).is_ok_and(|parts| parts.context != [0])
}

/// Forwards requests without a reply to the same target, in as few writes as possible.
pub(super) async fn forward_all(target: &Proxy, events: Vec<Event>) -> Result<(), InvokeError> {
    let events: Vec<_> = events.into_iter().map(Into::into).collect();
    target.forward_all(&events).await
}
