//! Invocations of objects in the same communicator: they skip the wire, and mean the same.
//!
//! Request and reply are encoded as for a peer; what is saved is everything between them. A dispatch
//! is polled once in place. If it has to wait, it goes on as a task, as it would for a peer: a caller
//! that gives up does not stop it.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use floe_wire::encoding::{Buffer, EncodeError, ProtocolVersion};
use floe_wire::message::{
    IncomingReply, IncomingRequest, Message, MessageType, RequestBatch, RequestId, SystemException,
};
use tokio::sync::oneshot;

use super::Proxy;
use crate::dispatch::{AdapterCore, DispatchSlot, Dispatched, Origin, Request, encode_reply};
use crate::environment::Owner;
use crate::error::{AttemptError, LocalError};

/// Dispatches in place inside one another; deeper ones become tasks, so that no stack overflows.
const DEPTH_MAX: u32 = 16;
/// Any id but that of a oneway request.
const TWOWAY: RequestId = RequestId(1);

impl Proxy {
    /// The adapter of the same communicator in which the object lives, if that is to be used.
    pub(super) fn collocated(&self) -> Option<Arc<AdapterCore>> {
        let inner = &self.inner;
        let may_be_here = inner.options.is_collocated
            && inner.options.fixed.is_none()
            && !inner.is_remote.load(Ordering::Relaxed);
        let reference = &inner.reference;
        let is_plain = !reference.secure
            && !reference.mode.is_datagram()
            && reference.protocol.major == ProtocolVersion::V1_0.major
            && reference.encoding.for_sending().is_some();
        if !may_be_here || !is_plain {
            return None;
        }
        self.communicator()?.core().adapter_of(reference)
    }

    /// A twoway request to an adapter here.
    pub(super) async fn request_here(
        &self,
        adapter: &Arc<AdapterCore>,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<IncomingReply, AttemptError> {
        let message = one_message(|buffer| write(buffer, TWOWAY))?;
        let request = IncomingRequest::parse(&message).map_err(bad_message)?;
        let owner = adapter.owner().ok_or(SHUTDOWN)?;
        let reply = match start(adapter, &owner, request) {
            Started::Done(reply) => reply,
            Started::Running(reply) => reply.await.map_err(|_| AttemptError {
                error: LocalError::Shutdown,
                perhaps_dispatched: true,
            })?,
        };
        let message = split(&mut BytesMut::from(Bytes::from(reply.into_vec())))?;
        IncomingReply::parse(&message).map_err(bad_message)
    }

    /// Messages without a reply to an adapter here.
    pub(super) fn send_here(
        &self,
        adapter: &Arc<AdapterCore>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<(), AttemptError> {
        let mut messages = encode(write)?;
        let owner = adapter.owner().ok_or(SHUTDOWN)?;
        while !messages.is_empty() {
            let message = split(&mut messages)?;
            if message.header.message_type == MessageType::BatchRequest {
                let batch = RequestBatch::parse(&message).map_err(bad_message)?;
                let run = run_batch(adapter.clone(), owner.clone(), batch);
                adapter.environment().tasks().spawn(run);
            } else {
                let request = IncomingRequest::parse(&message).map_err(bad_message)?;
                // Nobody waits for the end.
                let _ = start(adapter, &owner, request);
            }
        }
        Ok(())
    }
}

const SHUTDOWN: AttemptError = AttemptError {
    error: LocalError::Shutdown,
    perhaps_dispatched: false,
};

/// A dispatch that has begun.
enum Started {
    /// With the encoded reply.
    Done(Buffer),
    Running(oneshot::Receiver<Buffer>),
}

fn start(adapter: &Arc<AdapterCore>, owner: &Arc<Owner>, request: IncomingRequest) -> Started {
    let mut slot = DispatchSlot::default();
    if let Err(exception) = begin(adapter, owner, &request, &mut slot) {
        return Started::Done(encode_reply(&request, Err(exception)));
    }
    if let Some(Poll::Ready(result)) = poll_in_place(&mut slot) {
        return Started::Done(encode_reply(&request, result));
    }
    let (sender, receiver) = oneshot::channel();
    adapter.environment().tasks().spawn(async move {
        let result = std::future::poll_fn(|context| slot.poll_guarded(context)).await;
        // The caller may have given up.
        let _ = sender.send(encode_reply(&request, result));
    });
    Started::Running(receiver)
}

fn begin(
    adapter: &Arc<AdapterCore>,
    owner: &Arc<Owner>,
    request: &IncomingRequest,
    slot: &mut DispatchSlot,
) -> Result<(), SystemException> {
    let dispatcher = adapter.find(request)?;
    let origin = Origin::collocated(adapter.clone(), owner.clone());
    let request = Request::new(request.clone(), origin);
    slot.start(dispatcher, request)
}

/// The requests of a batch, one after another.
async fn run_batch(adapter: Arc<AdapterCore>, owner: Arc<Owner>, batch: RequestBatch) {
    let mut slot = DispatchSlot::default();
    for request in batch {
        if begin(&adapter, &owner, &request, &mut slot).is_ok() {
            // Nobody waits for an answer to a request of a batch.
            let _ = std::future::poll_fn(|context| slot.poll_guarded(context)).await;
        }
    }
}

/// Polls a dispatch once; `None` if so many dispatches are being polled here that this one must not
/// be.
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

fn encode(
    write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<BytesMut, AttemptError> {
    let mut buffer = Buffer::joined();
    write(&mut buffer).map_err(|error| local(error.into()))?;
    Ok(BytesMut::from(Bytes::from(buffer.into_vec())))
}

fn one_message(
    write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<Message, AttemptError> {
    split(&mut encode(write)?)
}

/// Takes the next message off the front. There is no limit to what one says to oneself.
fn split(messages: &mut BytesMut) -> Result<Message, AttemptError> {
    let peer = || "this communicator".to_owned();
    match Message::split(messages, i32::MAX as usize) {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(local(LocalError::ConnectionLost {
            peer: peer(),
            reason: "a message was not whole".to_owned(),
        })),
        Err(error) => Err(local(LocalError::Protocol {
            peer: peer(),
            error,
        })),
    }
}

fn bad_message(error: floe_wire::DecodeError) -> AttemptError {
    local(LocalError::Parameters(error))
}

fn local(error: LocalError) -> AttemptError {
    AttemptError {
        error,
        perhaps_dispatched: false,
    }
}
