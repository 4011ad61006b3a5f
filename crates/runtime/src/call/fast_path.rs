//! The fast path of send: an invocation that needs no wait before its message is appended.
//!
//! Nearly all invocations take it: either the connection is known and its send queue has room, or a batch only grows.
//! Twoway, oneway and batch requests share the fast path. All other invocations go through `attempt.rs`.

use std::sync::atomic::Ordering;

use floe_wire::connection::RequestIds;
use floe_wire::encoding::{Buffer, EncodeError, Encoder};
use floe_wire::message::RequestId;
use floe_wire::reference::InvocationMode;

use crate::connection::{Reply, oneway};
use crate::error::{AttemptError, InvokeError};
use crate::proxy::{FullBatch, OperationInfo, Proxy, RoutedConnection};

/// The result of the fast path. Failures are boxed, so that the usual results are cheap to return.
pub(super) enum SendAttempt {
    /// The request was sent, and this future waits for its reply.
    Requested(Reply),
    /// The request was sent or collected, and gets no reply.
    Done,
    /// The request was collected, and this full batch must be sent.
    Full(FullBatch),
    /// The invocation needs a wait. If a first attempt was made, this is its failure.
    NeedsWait(Option<Box<AttemptError>>),
    /// The invocation failed: its parameters cannot be encoded, so the request cannot be collected.
    Failed(Box<InvokeError>),
}

impl Proxy {
    /// Invokes an operation if no wait is needed before the reply. `wait_depth` says within how many nested waits of
    /// this thread the reply will be awaited.
    #[inline]
    pub(super) fn try_invoke(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
        wait_depth: usize,
    ) -> SendAttempt {
        if !self.inner.options.interceptors.is_empty() {
            return SendAttempt::NeedsWait(None);
        }
        let is_twoway = match self.reference().mode {
            InvocationMode::Twoway => true,
            InvocationMode::Oneway => false,
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                return self.try_collect(operation, encode);
            }
            InvocationMode::Datagram => return SendAttempt::NeedsWait(None),
        };
        let Some(routed) = self.ready_connection() else {
            return SendAttempt::NeedsWait(None);
        };
        if self.compresses(&routed) {
            return SendAttempt::NeedsWait(None);
        }
        let connection = routed.connection;
        let head = self.head_of(operation);
        let write = |buffer: &mut Buffer, id| match head {
            Some(head) => head.write(buffer, id, encode),
            None => self.write_request(operation, encode, buffer, id),
        };
        let tried = match is_twoway {
            true => {
                connection.set_polling(self.polling());
                let reply = Reply::try_request(connection, wait_depth, RequestIds::Next(1), write);
                reply.map(|reply| reply.map(SendAttempt::Requested))
            }
            false => {
                let sent = oneway::try_send(&connection, |buffer| write(buffer, RequestId::ONEWAY));
                sent.map(|is_sent| is_sent.then_some(SendAttempt::Done))
            }
        };
        match tried {
            Ok(done) => done.unwrap_or(SendAttempt::NeedsWait(None)),
            Err(failure) => SendAttempt::NeedsWait(Some(Box::new(failure))),
        }
    }

    /// Appends a request whose head is not in the cache.
    #[inline(never)]
    fn write_request(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
        buffer: &mut Buffer,
        id: RequestId,
    ) -> Result<(), EncodeError> {
        let context = self.sent_context();
        let head = self.request_head(operation.name, operation.mode, &context);
        let encoding = self.sending_encoding();
        head.write_with(buffer, id, |encoder| {
            encoder.encapsulation(encoding, encode)
        })
    }

    /// Returns the connection that an invocation would use, if that is known without a wait.
    pub(super) fn ready_connection(&self) -> Option<RoutedConnection> {
        let options = &self.inner.options;
        let is_cached =
            options.is_connection_cached && self.inner.is_remote.load(Ordering::Relaxed);
        let is_known = is_cached || options.fixed.is_some();
        is_known.then(|| self.cached())?
    }
}
