//! Requests that leave without any wait: nearly all of them.
//!
//! Where the connection is there and has room, or where a batch only grows, nothing has to be awaited
//! or tried again. What cannot be done at once goes the long way of `attempt.rs`. A thread that waits for one call
//! alone makes it here, and reads the answer itself.

use std::sync::atomic::Ordering;

use floe_wire::encoding::{Buffer, EncodeError, Encoder};
use floe_wire::message::RequestId;
use floe_wire::reference::{InvocationMode, Reference};

use super::batch::Full;
use super::options::Options;
use super::route::Found;
use super::{OperationInfo, Proxy};
use crate::blocking::may_wait_at_once;
use crate::connection::{Failure, Received, Reply, Short};
use crate::error::InvokeError;

/// What became of a message.
pub(super) enum AtOnce {
    /// It is on its way, or collected.
    Done,
    /// It is collected, and a batch is full that must be sent.
    Full(Full),
    /// It must go the long way; the failure is that of a first attempt.
    Not(Option<Failure>),
}

/// What became of a twoway request.
pub(super) enum Begun {
    /// It is on its way, and this waits for its reply.
    Sent(Reply),
    /// It must go the long way; the failure is that of a first attempt.
    Not(Option<Failure>),
}

/// How the requests of a proxy leave if nothing is in their way: decided once, for the proxy never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShortWay {
    /// Not at all: they are intercepted, or their answers must come in time.
    No,
    /// At once, by a thread that reads the answer if it waits for nothing else.
    Twoway,
    /// Behind others in the output of a connection.
    Oneway,
    /// Behind others in a batch.
    Batch,
}

impl ShortWay {
    pub(super) fn of(reference: &Reference, options: &Options) -> Self {
        match reference.mode {
            _ if !options.interceptors.is_empty() => Self::No,
            InvocationMode::Oneway => Self::Oneway,
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => Self::Batch,
            InvocationMode::Twoway if options.timeout.is_none() => Self::Twoway,
            InvocationMode::Twoway | InvocationMode::Datagram => Self::No,
        }
    }
}

impl Proxy {
    /// How its calls may be made by [`Proxy::is_done_shortly`] or [`Proxy::ask`].
    #[inline(always)]
    pub(super) fn short_way(&self) -> ShortWay {
        self.inner.short_way
    }

    /// Makes a call that gets no reply if its message can be appended to others that are about to leave, which is
    /// nearly always so where many follow each other; false, and nothing is done, if not.
    ///
    /// # Errors
    /// It was appended, and then the connection was lost.
    #[inline]
    pub(super) fn is_done_shortly(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> Result<bool, Box<Failure>> {
        match self.inner.short_way {
            _ if operation.returns_data => Ok(false),
            ShortWay::Oneway => self.extend_burst(operation, encode),
            ShortWay::Batch => Ok(self.extend_batch(operation, encode)),
            ShortWay::Twoway | ShortWay::No => Ok(false),
        }
    }

    /// Makes a twoway call on this thread, which waits for nothing else, if nothing has to be waited for but its
    /// reply; `None`, and nothing is done, if not. A short reply is put into the place for it.
    #[inline]
    pub(super) fn ask(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
        short: &mut Short,
    ) -> Result<Option<Received>, Box<Failure>> {
        if !may_wait_at_once() {
            return Ok(None);
        }
        let connection = match self.known_connection() {
            Some(found) if !self.compresses(&found) => found.connection,
            _ => return Ok(None),
        };
        connection.set_polling(self.polling());
        connection.ask(self.request_writer(operation, encode), short)
    }

    /// What appends a request.
    #[inline]
    fn request_writer<'a>(
        &'a self,
        operation: &'static OperationInfo,
        encode: &'a impl Fn(&mut Encoder<'_>),
    ) -> impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError> + 'a {
        let head = self.head_of(operation);
        move |buffer, id| match head {
            Some(head) => head.write(buffer, id, encode),
            None => self.write_request(operation, encode, buffer, id),
        }
    }

    /// Appends a request whose head is not remembered.
    #[inline(never)]
    fn write_request(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
        buffer: &mut Buffer,
        id: RequestId,
    ) -> Result<(), EncodeError> {
        let context = self.sent_context();
        let head = self.header(operation.name, operation.mode, &context);
        let encoding = self.sending_encoding();
        head.write_with(buffer, id, |encoder| {
            encoder.encapsulation(encoding, encode)
        })
    }

    /// Sends a twoway request if nothing has to be waited for but its reply.
    #[inline]
    pub(super) fn request_at_once(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> Begun {
        if !self.inner.options.interceptors.is_empty() {
            return Begun::Not(None);
        }
        let connection = match self.known_connection() {
            Some(found) if !self.compresses(&found) => found.connection,
            _ => return Begun::Not(None),
        };
        connection.set_polling(self.polling());
        match connection.request_at_once(self.request_writer(operation, encode)) {
            Ok(Some(reply)) => Begun::Sent(reply),
            Ok(None) => Begun::Not(None),
            Err(failure) => Begun::Not(Some(failure)),
        }
    }

    /// Sends a request that gets no reply, or collects it, if nothing has to be waited for.
    ///
    /// # Errors
    /// The parameters have no encoding, so that they cannot be collected.
    #[inline]
    pub(super) fn send_at_once(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> Result<AtOnce, InvokeError> {
        if !self.inner.options.interceptors.is_empty() {
            return Ok(AtOnce::Not(None));
        }
        match self.reference().mode {
            InvocationMode::Oneway => {
                let write = self.request_writer(operation, encode);
                Ok(self.post_at_once(|buffer| write(buffer, RequestId::ONEWAY)))
            }
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                self.collect_at_once(operation, encode)
            }
            InvocationMode::Twoway | InvocationMode::Datagram => Ok(AtOnce::Not(None)),
        }
    }

    fn post_at_once(&self, write: impl Fn(&mut Buffer) -> Result<(), EncodeError>) -> AtOnce {
        let connection = match self.known_connection() {
            Some(found) if !self.compresses(&found) => found.connection,
            _ => return AtOnce::Not(None),
        };
        match connection.send_at_once(write) {
            Ok(true) => {
                self.remember_lane(&connection);
                AtOnce::Done
            }
            Ok(false) => AtOnce::Not(None),
            Err(failure) => AtOnce::Not(Some(failure)),
        }
    }

    /// The connection that an invocation would take, if that needs no thought.
    pub(super) fn known_connection(&self) -> Option<Found> {
        let options = &self.inner.options;
        let is_cached =
            options.is_connection_cached && self.inner.is_remote.load(Ordering::Relaxed);
        let is_known = is_cached || options.fixed.is_some();
        is_known.then(|| self.cached())?
    }
}
