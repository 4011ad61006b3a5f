//! A request in flight, as the future of its reply.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use floe_wire::connection::{FlushPolicy, RequestIds};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, RequestId};

use super::appended::{Appended, narrow};
#[cfg(unix)]
use super::driver::Driver;
use super::pending_reply::{PendingReply, ReplyResult};
use super::reply_recipient::ReplyRecipient;
use super::wait::{Wait, wait_depth};
use super::{ConnectionCore, reentrancy_guard};
use crate::error::AttemptError;

/// A function that appends a twoway request with the given id. It is a trait object where a request may have to wait:
/// otherwise each operation of a contract would compile the waiting anew.
pub(crate) type WriteRequest<'a> =
    dyn Fn(&mut Buffer, RequestId) -> Result<(), EncodeError> + Send + Sync + 'a;

/// The future of the reply to a twoway request. Dropped early, it gives the request up.
pub(crate) struct Reply {
    connection: Arc<ConnectionCore>,
    /// Present until the future is dropped.
    pending: Option<Arc<PendingReply>>,
    /// The id of the request while it is in flight.
    id: Option<RequestId>,
    /// Position of the request in the send queue.
    at: Range<u64>,
}

impl Reply {
    /// Sends a twoway request if there is room for it. Returns `None`, with nothing sent, if there is none.
    /// `wait_depth` says within how many nested waits of this thread the reply will be awaited.
    #[inline]
    pub(crate) fn try_request(
        connection: Arc<ConnectionCore>,
        wait_depth: usize,
        ids: RequestIds,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Option<Self>, AttemptError> {
        reentrancy_guard::check(&connection, wait_depth)?;
        let pending = PendingReply::take();
        let sent = Appended::try_requests(
            &connection,
            ids,
            FlushPolicy::WithOthers,
            |buffer, id, _| write(buffer, id),
            |_, _| ReplyRecipient::Caller(pending.clone()),
        )?;
        Ok(sent.map(|sent| Self {
            connection,
            pending: Some(pending),
            id: Some(sent.value),
            at: sent.at,
        }))
    }

    /// Sends a twoway request as soon as there is room for it, and waits for its reply. `is_sent` becomes true when the
    /// request is in the send queue. Dropping the future gives the request up.
    ///
    /// `write` appends the message with the given id, which is the `reserved` one if there is any, else a new one.
    pub(crate) async fn request(
        connection: Arc<ConnectionCore>,
        reserved: Option<RequestId>,
        write: &WriteRequest<'_>,
        is_sent: &AtomicBool,
    ) -> Result<IncomingReply, AttemptError> {
        let ids = reserved.map_or(RequestIds::Next(1), RequestIds::Reserved);
        loop {
            match Self::try_request(connection.clone(), wait_depth(), ids, write)? {
                Some(reply) => {
                    is_sent.store(true, Ordering::Relaxed);
                    return reply.await.map_err(|failure| *failure);
                }
                None => connection.output.wait_for_room().await,
            }
        }
    }

    /// Waits for the reply on this thread. A short reply is copied into `short`.
    #[inline]
    pub(crate) fn wait_reading(
        mut self,
        short: &mut ShortReply,
    ) -> Result<ReceivedReply, Box<AttemptError>> {
        #[cfg(unix)]
        match self.read_on_this_thread(short) {
            Some(Ok(received @ (ReceivedReply::Nothing | ReceivedReply::Short))) => {
                self.end_untouched();
                return Ok(received);
            }
            Some(answer) => return self.answered(answer),
            None => {}
        }
        #[cfg(not(unix))]
        let _ = short;
        self.wait().map(ReceivedReply::Whole)
    }

    /// Reads the connection on this thread until the reply has come. Returns `None` if another thread reads it.
    #[cfg(unix)]
    #[inline]
    fn read_on_this_thread(&self, short: &mut ShortReply) -> Option<ReadReply> {
        let pending = self.pending.as_ref()?;
        match &self.connection.driver {
            Driver::Own => None,
            Driver::Callers(leadership) => {
                leadership.read_reply(pending, short, self.connection.polling())
            }
        }
    }

    /// Ends after the thread has read the reply itself: the pending reply is unused and can be reused.
    #[cfg(unix)]
    #[inline]
    fn end_untouched(mut self) {
        self.id = None;
        if let Some(pending) = self.pending.take() {
            PendingReply::put_back_untouched(pending);
        }
    }

    /// Marks the request as no longer in flight.
    #[inline]
    fn answered<T>(
        &mut self,
        answer: Result<T, Box<AttemptError>>,
    ) -> Result<T, Box<AttemptError>> {
        self.id = None;
        answer.map_err(|failure| Box::new(narrow(&self.connection, *failure, self.at.clone())))
    }
}

impl Future for Reply {
    type Output = ReplyResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ReplyResult> {
        let pending = self.pending.as_ref().expect("present until the drop");
        match pending.poll(context.waker()) {
            Poll::Ready(answer) => Poll::Ready(self.answered(answer)),
            Poll::Pending => {
                let connection = &self.connection;
                connection
                    .driver
                    .wait_for_reply(connection, context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for Reply {
    #[inline]
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.connection.give_up(id);
        }
        if let Some(pending) = self.pending.take() {
            PendingReply::put_back(pending);
        }
    }
}

/// A reply that was read by the thread that waits for it.
pub(crate) enum ReceivedReply {
    /// The operation returned, without results.
    Nothing,
    /// The short reply is in the [`ShortReply`] of the thread.
    Short,
    Whole(IncomingReply),
}

/// The result of a request whose reply was read by the waiting thread itself.
pub(super) type ReadReply = Result<ReceivedReply, Box<AttemptError>>;

/// A copy of a short reply with results. A copy costs less than sharing the memory of the read buffer.
pub(crate) struct ShortReply {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl ShortReply {
    /// Longest message in bytes.
    pub(super) const LEN_MAX: usize = 64;

    /// Makes an empty one.
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; Self::LEN_MAX],
            len: 0,
        }
    }

    /// Copies the message in the first `len` of these bytes.
    #[inline]
    pub(super) fn fill(&mut self, bytes: &[u8; Self::LEN_MAX], len: usize) {
        (self.bytes, self.len) = (*bytes, len);
    }

    /// Returns the message.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
