//! The fast path of send: an invocation that needs no wait before its message is appended.
//!
//! Nearly all invocations take it. The connection is known and has room, or a batch only grows, so that nothing has to
//! be awaited or tried again. It is the same for twoway, oneway and batch requests; what it cannot do goes the way of
//! `attempt.rs`.

use std::sync::atomic::Ordering;

use floe_wire::encoding::{Buffer, EncodeError, Encoder};
use floe_wire::message::RequestId;
use floe_wire::reference::InvocationMode;

use super::batch::Full;
use super::route::Found;
use super::{OperationInfo, Proxy};
use crate::connection::Reply;
use crate::error::{AttemptError, InvokeError};

/// What the fast path made of an invocation.
pub(super) enum FastPath {
    /// The request is on its way, and this waits for its reply.
    Requested(Reply),
    /// It is on its way, or collected, and gets no reply.
    Done,
    /// It is collected, and this batch is full and must be sent.
    Full(Full),
    /// It cannot be made without a wait. The failure is that of a first attempt, if there was one.
    No(Option<AttemptError>),
}

impl Proxy {
    /// Invokes an operation if nothing has to be waited for but the reply. The reply will be waited for within this many
    /// waits of the thread.
    ///
    /// # Errors
    /// The parameters have no encoding, so that they cannot be collected.
    #[inline]
    pub(super) fn try_invoke(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
        wait_depth: usize,
    ) -> Result<FastPath, InvokeError> {
        if !self.inner.options.interceptors.is_empty() {
            return Ok(FastPath::No(None));
        }
        let is_twoway = match self.reference().mode {
            InvocationMode::Twoway => true,
            InvocationMode::Oneway => false,
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                return self.try_collect(operation, encode);
            }
            InvocationMode::Datagram => return Ok(FastPath::No(None)),
        };
        let Some(found) = self.known_connection() else {
            return Ok(FastPath::No(None));
        };
        if self.compresses(&found) {
            return Ok(FastPath::No(None));
        }
        let connection = found.connection;
        let head = self.head_of(operation);
        let write = |buffer: &mut Buffer, id| match head {
            Some(head) => head.write(buffer, id, encode),
            None => self.write_request(operation, encode, buffer, id),
        };
        let tried = match is_twoway {
            true => {
                connection.set_polling(self.polling());
                let reply = Reply::try_request(connection, wait_depth, write);
                reply.map(|reply| reply.map(FastPath::Requested))
            }
            false => {
                let sent = connection.try_send(|buffer| write(buffer, RequestId::ONEWAY));
                sent.map(|is_sent| is_sent.then_some(FastPath::Done))
            }
        };
        Ok(match tried {
            Ok(done) => done.unwrap_or(FastPath::No(None)),
            Err(failure) => FastPath::No(Some(failure)),
        })
    }

    /// Appends a request whose header is not in the cache.
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

    /// The connection that an invocation would take, if it can be told without a wait.
    pub(super) fn known_connection(&self) -> Option<Found> {
        let options = &self.inner.options;
        let is_cached =
            options.is_connection_cached && self.inner.is_remote.load(Ordering::Relaxed);
        let is_known = is_cached || options.fixed.is_some();
        is_known.then(|| self.cached())?
    }
}
