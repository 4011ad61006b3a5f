//! Sending: batches of one or more messages are appended to the send queue, and requests wait for their replies.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use floe_wire::connection::{Connection as Machine, NotAppended, RequestIds};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, RequestId};

use super::ConnectionCore;
use super::flush_policy::FlushPolicy;
use super::pending_reply::{Answer, PendingReply};
#[cfg(unix)]
use super::received::ReadHere;
use super::received::{Received, Short};
use super::reply_sink::{Recipient, ReplySink};
use super::shared::{Shared, Whole};
use super::wait::{Wait, wait_depth};
use crate::error::{AttemptError, LocalError};

/// When messages without a reply count as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendUntil {
    /// They are in the send queue of a connection.
    Queued,
    /// The transport has them.
    Written,
}

/// A batch that was appended to the send queue, and where.
struct Appended<T> {
    value: T,
    start: u64,
    end: u64,
    /// Whether the transport was given as much as it takes.
    is_tried: bool,
}

impl ConnectionCore {
    /// Appends a batch to the send queue if there is room for it, and writes the queue as `flush` says; `None`, and
    /// nothing is sent, if there is no room. Everything that leaves but replies goes this way.
    ///
    /// `append` writes whole messages, and is given the position at which they start. If it fails, the queue is as it was.
    #[inline]
    fn try_append<T>(
        self: &Arc<Self>,
        flush: FlushPolicy,
        append: impl FnOnce(
            &mut Machine<Recipient>,
            &mut Buffer,
            u64,
        ) -> Result<T, NotAppended<EncodeError>>,
    ) -> Result<Option<Appended<T>>, AttemptError> {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if output.len() > self.settings.output_limit && machine.is_active() {
            return Ok(None);
        }
        let start = output.end();
        let mut whole = Whole::of(output.pending());
        match append(machine, whole.buffer(), start) {
            Ok(value) => {
                whole.keep();
                let end = output.end();
                let is_tried = self.flush_by(shared, flush);
                Ok(Some(Appended {
                    value,
                    start,
                    end,
                    is_tried,
                }))
            }
            Err(NotAppended::TooMany) => Ok(None),
            Err(error) => {
                drop(whole);
                drop(shared);
                Err(self.refused(error))
            }
        }
    }

    #[cold]
    fn refused(&self, error: NotAppended<EncodeError>) -> AttemptError {
        match error {
            NotAppended::Unwritten(error) => AttemptError {
                error: error.into(),
                perhaps_dispatched: false,
            },
            NotAppended::NotActive | NotAppended::TooMany => self.failure(false),
        }
    }

    /// Waits until the send queue is below its limit.
    async fn wait_for_room(&self) {
        let limit = self.settings.output_limit;
        self.wait_for_output(|shared| shared.output.len() <= limit)
            .await;
    }

    /// Appends twoway requests if there is room for them. `write` appends the request with this id and this place in the
    /// batch, and `recipient` gets its reply, if that is given the place and the position at which the batch starts.
    #[inline]
    fn try_append_requests(
        self: &Arc<Self>,
        ids: RequestIds,
        flush: FlushPolicy,
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
        recipient: impl Fn(usize, u64) -> Recipient,
    ) -> Result<Option<Appended<RequestId>>, AttemptError> {
        self.try_append(flush, |machine, buffer, start| {
            let write = |id, at| write(buffer, id, at);
            machine.append_requests(ids, write, |at| recipient(at, start))
        })
    }

    /// Sends twoway requests in one write if there is room for them; `None`, and nothing is sent, if there is none.
    ///
    /// The sink gets the replies, that to the first request with the number `first`; it may get some before this
    /// returns. The ids of the requests follow each other, from the one which is returned.
    pub(crate) fn try_send_to_sink<S: ReplySink>(
        self: &Arc<Self>,
        count: usize,
        (sink, first): (&Arc<S>, u64),
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
    ) -> Result<Option<RequestId>, AttemptError> {
        self.check_reader(wait_depth())?;
        // All start where the batch starts, for the transport is given all of it.
        let recipient = |at, start| Recipient::Sink {
            sink: sink.clone(),
            number: first + at as u64,
            start,
        };
        let ids = RequestIds::Next(count);
        let sent = self.try_append_requests(ids, FlushPolicy::Now, write, recipient)?;
        Ok(sent.map(|sent| sent.value))
    }

    /// Sends messages that get no reply if there is room for them; false, and nothing is sent, if there is none.
    #[inline]
    pub(crate) fn try_send(
        self: &Arc<Self>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<bool, AttemptError> {
        match self.try_append(FlushPolicy::Oneway, append_messages(&write))? {
            Some(sent) => self.check_tried(&sent).map(|()| true),
            None => Ok(false),
        }
    }

    /// Sends messages that get no reply, as soon as there is room for them.
    pub(crate) async fn send(
        self: &Arc<Self>,
        until: SendUntil,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<(), AttemptError> {
        let flush = match until {
            SendUntil::Queued => FlushPolicy::Oneway,
            SendUntil::Written => FlushPolicy::Now,
        };
        let sent = loop {
            match self.try_append(flush, append_messages(&write))? {
                Some(sent) => break sent,
                None => self.wait_for_room().await,
            }
        };
        if until == SendUntil::Queued {
            return self.check_tried(&sent);
        }
        self.wait_for_output(|shared| shared.output.written() >= sent.end)
            .await;
        let error = self.lock().error.clone();
        self.check_written(&sent, error.unwrap_or(LocalError::Shutdown))
    }

    /// Sends a twoway request if there is room for it; `None`, and nothing is sent, if there is none. The reply will be
    /// waited for within this many waits of the thread.
    #[inline]
    pub(crate) fn try_request(
        self: Arc<Self>,
        wait_depth: usize,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Option<Reply>, AttemptError> {
        self.check_reader(wait_depth)?;
        let mut reply = Reply::new(self);
        let is_sent = reply.try_send(RequestIds::Next(1), &write)?;
        Ok(is_sent.then_some(reply))
    }

    /// Sends a twoway request as soon as there is room for it, and waits for its reply. Dropping the future gives the
    /// request up.
    ///
    /// `write` appends the message, with the id that is `reserved` or with a new one.
    pub(crate) async fn request(
        self: Arc<Self>,
        reserved: Option<RequestId>,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<IncomingReply, AttemptError> {
        let ids = reserved.map_or(RequestIds::Next(1), RequestIds::Reserved);
        let mut reply = Reply::new(self);
        loop {
            reply.connection.check_reader(wait_depth())?;
            if reply.try_send(ids, &write)? {
                return reply.await.map_err(|failure| *failure);
            }
            reply.connection.wait_for_room().await;
        }
    }

    /// Whether the transport took messages that it was just given: it may have refused them.
    fn check_tried(&self, sent: &Appended<()>) -> Result<(), AttemptError> {
        if !sent.is_tried {
            return Ok(());
        }
        // Not in the head of the `match`: the lock would be held to its end, and is taken again there.
        let error = self.lock().error.clone();
        match error {
            Some(error) => self.check_written(sent, error),
            None => Ok(()),
        }
    }

    /// Whether messages reached the transport, or may have, after the connection failed.
    fn check_written(&self, sent: &Appended<()>, error: LocalError) -> Result<(), AttemptError> {
        if self.lock().output.written() >= sent.end {
            return Ok(());
        }
        let failure = AttemptError {
            error,
            perhaps_dispatched: true,
        };
        Err(self.narrow(failure, sent.start))
    }

    /// [`AttemptError::narrow`] by the part of the send queue that was taken.
    fn narrow(&self, mut failure: AttemptError, start: u64) -> AttemptError {
        failure.narrow(start, self.lock().output.taken());
        failure
    }

    /// Gives up a request whose reply is due.
    #[cold]
    pub(crate) fn give_up(self: &Arc<Self>, id: RequestId) {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        let given_up = machine.cancel(id, output.bytes());
        drop(shared);
        // It may hold the last reference to a sink, which must not be dropped under the lock.
        drop(given_up);
        self.flush();
    }
}

/// Appends messages to the send queue of a connection that takes them.
fn append_messages(
    write: &impl Fn(&mut Buffer) -> Result<(), EncodeError>,
) -> impl FnOnce(&mut Machine<Recipient>, &mut Buffer, u64) -> Result<(), NotAppended<EncodeError>>
{
    move |machine, buffer, _| {
        if !machine.is_active() {
            return Err(NotAppended::NotActive);
        }
        write(buffer).map_err(NotAppended::Unwritten)
    }
}

/// The reply to a twoway request, as a future. Dropped early, it gives the request up.
pub(crate) struct Reply {
    connection: Arc<ConnectionCore>,
    /// There until this is dropped.
    pending: Option<Arc<PendingReply>>,
    /// The request, while its reply is due.
    id: Option<RequestId>,
    /// Where the request starts in the send queue.
    start: u64,
}

impl Reply {
    /// The reply to a request that is not yet sent.
    fn new(connection: Arc<ConnectionCore>) -> Self {
        Self {
            connection,
            pending: Some(PendingReply::take()),
            id: None,
            start: 0,
        }
    }

    /// Appends the request to the send queue; false if there is no room for it.
    #[inline]
    fn try_send(
        &mut self,
        ids: RequestIds,
        write: &impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<bool, AttemptError> {
        let Some(pending) = &self.pending else {
            return Ok(false);
        };
        let sent = self.connection.try_append_requests(
            ids,
            FlushPolicy::WithOthers,
            |buffer, id, _| write(buffer, id),
            |_, _| Recipient::Caller(pending.clone()),
        )?;
        if let Some(sent) = &sent {
            (self.id, self.start) = (Some(sent.value), sent.start);
        }
        Ok(sent.is_some())
    }

    /// Waits for the reply on this thread, which waits for nothing else. A short reply is put into `short`.
    #[inline]
    pub(crate) fn wait_here(mut self, short: &mut Short) -> Result<Received, Box<AttemptError>> {
        #[cfg(unix)]
        match self.read_here(short) {
            Some(Ok(Received::Short)) => {
                self.end_untouched();
                return Ok(Received::Short);
            }
            Some(answer) => return self.answered(answer),
            None => {}
        }
        #[cfg(not(unix))]
        let _ = short;
        self.wait().map(Received::Whole)
    }

    /// Reads the connection on this thread until the reply is there; `None` if another thread reads it.
    #[cfg(unix)]
    #[inline]
    fn read_here(&self, short: &mut Short) -> Option<ReadHere> {
        let pending = self.pending.as_ref()?;
        self.connection.read_reply(pending, short)
    }

    /// The reply was not given to the pending reply, which can be used again.
    #[cfg(unix)]
    #[inline]
    fn end_untouched(mut self) {
        self.id = None;
        if let Some(pending) = self.pending.take() {
            PendingReply::put_back_untouched(pending);
        }
    }

    /// The reply is due no longer.
    #[inline]
    fn answered<T>(
        &mut self,
        answer: Result<T, Box<AttemptError>>,
    ) -> Result<T, Box<AttemptError>> {
        self.id = None;
        answer.map_err(|failure| Box::new(self.connection.narrow(*failure, self.start)))
    }
}

impl Future for Reply {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let pending = self.pending.as_ref().expect("it is there until the drop");
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
