//! What leaves a connection: requests, whose replies are waited for, and messages without one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use floe_wire::connection::{Connection as Machine, NotActive};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, RequestId};

use super::burst::Haste;
use super::outlet::Whole;
use super::received::{ReadHere, Received, Short};
use super::slot::{Answer, Slot};
use super::told::{Recipient, Told};
use super::{Connection, Failure, Shared};
use crate::blocking::{Wait, wait_depth};
use crate::error::LocalError;

/// Something that was appended to the output, and where.
pub(crate) struct Appended<T> {
    pub(super) value: T,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the transport was given as much as it takes.
    pub(super) is_tried: bool,
}

/// What keeps a message from being appended to the output.
enum Refusal {
    Full,
    Failed(Failure),
}

/// Why a message was not written into the output.
enum Unwritten {
    NotActive,
    Encode(EncodeError),
}

impl Connection {
    /// Sends a twoway request and waits for its reply. Dropping the future gives the request up.
    ///
    /// `write` appends the message to the output, with the id that is `reserved` or a new one.
    pub(crate) async fn request(
        self: Arc<Self>,
        reserved: Option<RequestId>,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<IncomingReply, Failure> {
        let mut reply = Reply::new(self);
        let limit = reply.connection.settings.output_limit;
        while !reply.send_request(reserved, &write)? {
            let connection = &reply.connection;
            connection
                .wait_for_output(|shared| shared.output.len() <= limit)
                .await;
        }
        reply.await.map_err(|failure| *failure)
    }

    /// The same if there is room for the request; `None`, and nothing is sent, if there is none.
    #[inline]
    pub(crate) fn request_at_once(
        self: Arc<Self>,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Option<Reply>, Failure> {
        let mut reply = Reply::new(self);
        Ok(reply.send_request(None, &write)?.then_some(reply))
    }

    /// Sends a twoway request if there is room for it, and waits for its reply on this thread, which waits for
    /// nothing else; `None`, and nothing is sent, if there is none. A short reply is put into the place for it.
    #[inline]
    pub(crate) fn ask(
        self: Arc<Self>,
        write: impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
        short: &mut Short,
    ) -> Result<Option<Received>, Box<Failure>> {
        let mut reply = Reply::new(self);
        // It waits as if it were polled by a wait.
        reply
            .connection
            .check_reader(wait_depth() + 1)
            .map_err(Box::new)?;
        if !reply.send_checked(None, &write).map_err(Box::new)? {
            return Ok(None);
        }
        match reply.read_here(short) {
            Some(Ok(Received::Short)) => {
                reply.end_untouched();
                Ok(Some(Received::Short))
            }
            Some(answer) => reply.answered(answer).map(Some),
            None => reply.wait().map(|reply| Some(Received::Whole(reply))),
        }
    }

    /// Sends so many twoway requests in one write if there is room for them; `None`, and nothing is
    /// sent, if there is none. `write` appends the request with this number among them. The answers are
    /// told, the first with the number `first`; some may be before this returns. Their ids follow each other, from that
    /// which is given.
    pub(crate) fn requests_at_once<T: Told + 'static>(
        self: &Arc<Self>,
        count: usize,
        (told, first): (&Arc<T>, u64),
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
    ) -> Result<Option<RequestId>, Failure> {
        self.check_reader(wait_depth())?;
        let sent = self.try_append(Haste::AtOnce, &mut |machine, output, start| {
            let first_id = machine.next_ids(count).ok_or(Unwritten::NotActive)?;
            let id = |at| RequestId(first_id.0 + at as i32);
            for at in 0..count {
                write(output, id(at), at).map_err(Unwritten::Encode)?;
            }
            // Each is appended: none has to be taken back. As they are taken together to be written, they start
            // together.
            for at in 0..count {
                let recipient = Recipient::Told {
                    told: told.clone(),
                    number: first + at as u64,
                    start,
                };
                machine.expect_reply(id(at), recipient);
            }
            Ok(first_id)
        });
        match sent {
            Ok(sent) => Ok(Some(sent.value)),
            Err(Refusal::Full) => Ok(None),
            Err(Refusal::Failed(failure)) => Err(failure),
        }
    }

    /// Sends messages that get no reply: they are on their way when they are in the output.
    pub(crate) async fn send(
        self: &Arc<Self>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<(), Failure> {
        let sent = self.append_messages(Haste::Oneway, &write).await?;
        self.check_tried(&sent)
    }

    /// The same if there is room for them; false, and nothing is sent, if there is none.
    #[inline]
    pub(crate) fn send_at_once(
        self: &Arc<Self>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<bool, Failure> {
        match self.try_append(Haste::Oneway, &mut append_messages(&write)) {
            Ok(sent) => self.check_tried(&sent).map(|()| true),
            Err(Refusal::Full) => Ok(false),
            Err(Refusal::Failed(failure)) => Err(failure),
        }
    }

    /// Writes messages that were appended, and all that come before.
    pub(crate) fn send_appended(self: &Arc<Self>, mut sent: Appended<()>) -> Result<(), Failure> {
        self.flush();
        sent.is_tried = true;
        self.check_tried(&sent)
    }

    /// The transport may have refused messages at once.
    fn check_tried(&self, sent: &Appended<()>) -> Result<(), Failure> {
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

    /// Sends messages that get no reply, and waits until the transport has them.
    pub(crate) async fn send_written(
        self: &Arc<Self>,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<(), Failure> {
        let sent = self.append_messages(Haste::AtOnce, &write).await?;
        self.wait_for_output(|shared| shared.output.written() >= sent.end)
            .await;
        let error = self.lock().error.clone();
        self.check_written(&sent, error.unwrap_or(LocalError::Shutdown))
    }

    async fn append_messages(
        self: &Arc<Self>,
        haste: Haste,
        write: &impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<Appended<()>, Failure> {
        self.append_with_room(haste, append_messages(write)).await
    }

    /// Appends to the output as soon as it is below its limit, and writes it. `append` may be called
    /// several times; it is given the position at which it starts.
    async fn append_with_room<T>(
        self: &Arc<Self>,
        haste: Haste,
        mut append: impl FnMut(&mut Machine<Recipient>, &mut Buffer, u64) -> Result<T, Unwritten>,
    ) -> Result<Appended<T>, Failure> {
        let limit = self.settings.output_limit;
        loop {
            match self.try_append(haste, &mut append) {
                Ok(appended) => return Ok(appended),
                Err(Refusal::Failed(failure)) => return Err(failure),
                Err(Refusal::Full) => {
                    self.wait_for_output(|shared| shared.output.len() <= limit)
                        .await;
                }
            }
        }
    }

    #[inline]
    fn try_append<T>(
        self: &Arc<Self>,
        haste: Haste,
        append: &mut impl FnMut(&mut Machine<Recipient>, &mut Buffer, u64) -> Result<T, Unwritten>,
    ) -> Result<Appended<T>, Refusal> {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if output.len() > self.settings.output_limit && machine.is_active() {
            return Err(Refusal::Full);
        }
        let start = output.end();
        let mut whole = Whole::of(output.pending());
        match append(machine, whole.buffer(), start) {
            Ok(value) => {
                whole.keep();
                let end = output.end();
                let is_tried = self.write_in_time(shared, haste);
                Ok(Appended {
                    value,
                    start,
                    end,
                    is_tried,
                })
            }
            Err(unwritten) => {
                drop(whole);
                drop(shared);
                Err(self.refused(unwritten))
            }
        }
    }

    #[cold]
    fn refused(&self, unwritten: Unwritten) -> Refusal {
        Refusal::Failed(match unwritten {
            Unwritten::NotActive => self.failure(false),
            Unwritten::Encode(error) => Failure {
                error: error.into(),
                perhaps_dispatched: false,
            },
        })
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
        // It may be the last to know who was to be told, whose end is none of the lock's business.
        drop(given_up);
        self.flush();
    }

    /// Whether messages reached the transport, or may have, after the connection failed.
    fn check_written(&self, sent: &Appended<()>, error: LocalError) -> Result<(), Failure> {
        if self.lock().output.written() >= sent.end {
            return Ok(());
        }
        let failure = Failure {
            error,
            perhaps_dispatched: true,
        };
        Err(self.narrow(failure, sent.start))
    }

    /// [`Failure::narrow`] by what of the output was taken.
    fn narrow(&self, mut failure: Failure, start: u64) -> Failure {
        failure.narrow(start, self.lock().output.taken());
        failure
    }
}

/// Appends messages to the output of a connection that takes them.
fn append_messages(
    write: &impl Fn(&mut Buffer) -> Result<(), EncodeError>,
) -> impl FnMut(&mut Machine<Recipient>, &mut Buffer, u64) -> Result<(), Unwritten> {
    move |machine, output, _| {
        if !machine.is_active() {
            return Err(Unwritten::NotActive);
        }
        write(output).map_err(Unwritten::Encode)
    }
}

/// The reply to a request that has been sent. Dropped early, it gives the request up.
pub(crate) struct Reply {
    connection: Arc<Connection>,
    /// There until this is dropped.
    slot: Option<Arc<Slot>>,
    /// The request, while its reply is due.
    id: Option<RequestId>,
    /// Where the request starts in the output.
    start: u64,
}

impl Reply {
    /// That of a request that is not yet sent.
    fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            slot: Some(Slot::take()),
            id: None,
            start: 0,
        }
    }

    /// Appends the request to the output, and writes it in time; false if there is no room for it.
    fn send_request(
        &mut self,
        reserved: Option<RequestId>,
        write: &impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<bool, Failure> {
        self.connection.check_reader(wait_depth())?;
        self.send_checked(reserved, write)
    }

    /// The same of one whose reply will be read.
    #[inline]
    fn send_checked(
        &mut self,
        reserved: Option<RequestId>,
        write: &impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
    ) -> Result<bool, Failure> {
        let slot = &self.slot;
        let sent = self
            .connection
            .try_append(Haste::Request, &mut |machine, output, _| {
                let id = match reserved {
                    Some(id) if machine.is_active() => Ok(id),
                    _ => machine.next_id(),
                };
                let id = id.map_err(|NotActive| Unwritten::NotActive)?;
                write(output, id).map_err(Unwritten::Encode)?;
                if let Some(slot) = slot {
                    machine.expect_reply(id, Recipient::Caller(slot.clone()));
                }
                Ok(id)
            });
        match sent {
            Ok(sent) => {
                (self.id, self.start) = (Some(sent.value), sent.start);
                Ok(true)
            }
            Err(Refusal::Full) => Ok(false),
            Err(Refusal::Failed(failure)) => Err(failure),
        }
    }
}

impl Reply {
    /// Waits for the answer on this thread, which reads it; `None` if that is for others to do.
    #[cfg(unix)]
    #[inline]
    fn read_here(&self, short: &mut Short) -> Option<ReadHere> {
        let slot = self.slot.as_ref()?;
        self.connection.read_reply(slot, short)
    }

    #[cfg(not(unix))]
    fn read_here(&self, _short: &mut Short) -> Option<ReadHere> {
        None
    }

    /// The reply has come another way than through its slot.
    #[inline]
    fn end_untouched(mut self) {
        self.id = None;
        if let Some(slot) = self.slot.take() {
            Slot::put_back_untouched(slot);
        }
    }

    /// It is due no longer.
    #[inline]
    fn answered<T>(&mut self, answer: Result<T, Box<Failure>>) -> Result<T, Box<Failure>> {
        self.id = None;
        answer.map_err(|failure| Box::new(self.connection.narrow(*failure, self.start)))
    }
}

impl Future for Reply {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let slot = self.slot.as_ref().expect("it is there until the drop");
        match slot.poll(context.waker()) {
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
        if let Some(slot) = self.slot.take() {
            Slot::put_back(slot);
        }
    }
}
