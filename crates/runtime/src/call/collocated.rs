//! Collocated invocations: calls to objects in the same communicator, which skip the wire with the same results.
//!
//! Request and reply are encoded as for a peer, but no connection lies between them. A dispatch is polled once in
//! place. If it has to wait, it continues in a task, as on a connection, so a caller that gives up does not stop it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use floe_wire::encoding::{Buffer, EncodeError, ProtocolVersion};
use floe_wire::message::{
    IncomingReply, IncomingRequest, Message, MessageType, RequestBatch, RequestId,
};
use tokio::sync::oneshot;

use super::compressed::encode;
use crate::connection::{WriteMessages, WriteRequest};
use crate::dispatch::{AdapterCore, DispatchSlot, Dispatched, Origin, encode_reply};
use crate::environment::Owner;
use crate::error::{AttemptError, LocalError};
use crate::proxy::Proxy;

/// Most nested dispatches in place. Deeper ones become tasks, so that the stack cannot overflow.
const DEPTH_MAX: u32 = 16;
/// Any id except that of oneway requests.
const TWOWAY: RequestId = RequestId(1);

impl Proxy {
    /// Returns true if the object is in this communicator now, so that calls need no connection.
    pub fn is_collocated(&self) -> bool {
        self.collocated().is_some()
    }

    /// Returns the adapter of the same communicator in which the object lives, if collocated calls are enabled.
    pub(super) fn collocated(&self) -> Option<Arc<AdapterCore>> {
        let inner = &self.inner;
        let may_be_collocated = inner.options.is_collocated
            && inner.options.fixed.is_none()
            && !inner.is_remote.load(Ordering::Relaxed);
        let reference = &inner.reference;
        let is_plain = !reference.secure
            && !reference.mode.is_datagram()
            && reference.protocol.major == ProtocolVersion::V1_0.major
            && reference.encoding.for_sending().is_some();
        if !may_be_collocated || !is_plain {
            return None;
        }
        let adapter = self.communicator()?.core().adapter_of(reference)?;
        // The proxy then looks for a connection, which is refused, too.
        let may_call = !inner.options.is_given || !adapter.refuses_given();
        may_call.then_some(adapter)
    }

    /// Sends a twoway request to an adapter of this communicator.
    pub(super) async fn request_collocated(
        &self,
        adapter: &Arc<AdapterCore>,
        write: &WriteRequest<'_>,
    ) -> Result<IncomingReply, AttemptError> {
        let message = split(&mut encode_bytes(|buffer| write(buffer, TWOWAY))?)?;
        let request = IncomingRequest::parse(&message).map_err(bad_message)?;
        let owner = adapter.owner().ok_or_else(shut_down)?;
        let reply = match start(adapter, &owner, request) {
            Started::Done(reply) => reply,
            Started::Running(reply) => {
                let reply = reply.await;
                reply.map_err(|_| AttemptError::perhaps_sent(LocalError::Shutdown))?
            }
        };
        let message = split(&mut BytesMut::from(Bytes::from(reply.into_vec())))?;
        IncomingReply::parse(&message).map_err(bad_message)
    }

    /// Sends messages without replies to an adapter of this communicator.
    pub(super) fn send_collocated(
        &self,
        adapter: &Arc<AdapterCore>,
        write: &WriteMessages<'_>,
    ) -> Result<(), AttemptError> {
        let mut messages = encode_bytes(write)?;
        let owner = adapter.owner().ok_or_else(shut_down)?;
        while !messages.is_empty() {
            let message = split(&mut messages)?;
            if message.header.message_type == MessageType::BatchRequest {
                let batch = RequestBatch::parse(&message).map_err(bad_message)?;
                let (own, owner) = (adapter.clone(), owner.clone());
                let origin = move || Some(Origin::collocated(own.clone(), owner.clone()));
                let run = async move {
                    DispatchSlot::default().dispatch_serial(batch, origin).await;
                };
                adapter.environment.tasks().spawn(run);
            } else {
                let request = IncomingRequest::parse(&message).map_err(bad_message)?;
                // A oneway caller does not wait for the end of the dispatch.
                let _ = start(adapter, &owner, request);
            }
        }
        Ok(())
    }
}

fn shut_down() -> AttemptError {
    AttemptError::not_sent(LocalError::Shutdown)
}

/// A dispatch that has started.
enum Started {
    /// It is done; this is the encoded reply.
    Done(Buffer),
    Running(oneshot::Receiver<Buffer>),
}

fn start(adapter: &Arc<AdapterCore>, owner: &Arc<Owner>, request: IncomingRequest) -> Started {
    let mut slot = DispatchSlot::default();
    let origin = Origin::collocated(adapter.clone(), owner.clone());
    if let Err(exception) = slot.start(request.clone(), origin) {
        return Started::Done(encode_reply(&request, Err(exception)));
    }
    if let Some(Poll::Ready(result)) = poll_in_place(&mut slot) {
        return Started::Done(encode_reply(&request, result));
    }
    let (sender, receiver) = oneshot::channel();
    adapter.environment.tasks().spawn(async move {
        let result = std::future::poll_fn(|context| slot.poll_guarded(context)).await;
        // The caller may have given up.
        let _ = sender.send(encode_reply(&request, result));
    });
    Started::Running(receiver)
}

/// Polls a dispatch once. Returns `None` without a poll if too many dispatches are nested on this thread.
fn poll_in_place(slot: &mut DispatchSlot) -> Option<Poll<Dispatched>> {
    thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
    }
    let depth = DEPTH.get();
    if depth >= DEPTH_MAX {
        return None;
    }
    DEPTH.set(depth + 1);
    let polled = slot.poll_guarded(&mut Context::from_waker(Waker::noop()));
    DEPTH.set(depth);
    Some(polled)
}

fn encode_bytes(
    write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<BytesMut, AttemptError> {
    Ok(BytesMut::from(Bytes::from(encode(write)?)))
}

/// Splits off the next message. Collocated messages have no length limit.
fn split(messages: &mut BytesMut) -> Result<Message, AttemptError> {
    let peer = || "this communicator".to_owned();
    match Message::split(messages, i32::MAX as usize) {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(AttemptError::not_sent(LocalError::ConnectionLost {
            peer: peer(),
            reason: "a message is incomplete".to_owned(),
        })),
        Err(error) => Err(AttemptError::not_sent(LocalError::Protocol {
            peer: peer(),
            error,
        })),
    }
}

fn bad_message(error: floe_wire::DecodeError) -> AttemptError {
    AttemptError::not_sent(LocalError::Parameters(error))
}
