//! A batch of messages in the send queue: how it gets there, and whether it may have reached the peer.

use std::ops::Range;
use std::sync::Arc;

use floe_wire::connection::{FlushPolicy, NotAppended, RequestIds, StateMachine};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::RequestId;

use super::ConnectionCore;
use super::reply_recipient::ReplyRecipient;
use super::send_half::ConnectionState;
use crate::error::{AttemptError, LocalError};

/// A batch that was appended to the send queue.
pub(super) struct Appended<T> {
    pub(super) value: T,
    /// Its position in the send queue.
    pub(super) at: Range<u64>,
    /// True unless a task or a thread writes the queue later. If so, the transport may have refused the batch already.
    is_tried: bool,
}

impl<T> Appended<T> {
    /// Appends a batch to the send queue if there is room for it, and writes the queue as the flush policy says.
    /// Returns `None`, with nothing sent, if there is no room. All requests are sent by this function. Replies and
    /// messages without a body, such as heartbeats, are not.
    ///
    /// `append` encodes whole messages; its last argument is the position at which they start. If it fails, the queue is
    /// restored.
    #[inline]
    fn try_new(
        connection: &Arc<ConnectionCore>,
        flush: FlushPolicy,
        append: impl FnOnce(
            &mut StateMachine<ReplyRecipient>,
            &mut Buffer,
            u64,
        ) -> Result<T, NotAppended<EncodeError>>,
    ) -> Result<Option<Self>, AttemptError> {
        let mut shared = connection.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        if queue.waiting_len() > connection.settings.output_limit && machine.is_active() {
            return Ok(None);
        }
        let start = queue.end();
        match queue.append(|buffer, start| append(machine, buffer, start)) {
            Ok(value) => {
                let at = start..queue.end();
                let is_tried = connection.output.flush_by(connection, shared, flush);
                Ok(Some(Self {
                    value,
                    at,
                    is_tried,
                }))
            }
            Err(NotAppended::TooMany) => Ok(None),
            Err(error) => {
                drop(shared);
                Err(refused(connection, error))
            }
        }
    }
}

impl Appended<RequestId> {
    /// Appends twoway requests if there is room for them. `write` appends the request with the given id and index in
    /// the batch. `recipient` makes the recipient of its reply from that index, in ascending order, and the position at which
    /// the batch starts. The value is the id of the first request; those of the others follow it.
    #[inline]
    pub(super) fn try_requests(
        connection: &Arc<ConnectionCore>,
        ids: RequestIds,
        flush: FlushPolicy,
        write: impl Fn(&mut Buffer, RequestId, usize) -> Result<(), EncodeError>,
        mut recipient: impl FnMut(usize, u64) -> ReplyRecipient,
    ) -> Result<Option<Self>, AttemptError> {
        Self::try_new(connection, flush, |machine, buffer, start| {
            let write = |id, at| write(buffer, id, at);
            machine.append_requests(ids, write, |at| recipient(at, start))
        })
    }
}

impl Appended<()> {
    /// Appends messages without replies if there is room for them.
    #[inline]
    pub(super) fn try_messages(
        connection: &Arc<ConnectionCore>,
        flush: FlushPolicy,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
    ) -> Result<Option<Self>, AttemptError> {
        Self::try_new(connection, flush, |machine, buffer, _| {
            machine.append_messages(|| write(buffer))
        })
    }

    /// Checks that the transport did not refuse the messages that it was just given.
    pub(super) fn check_tried(&self, connection: &ConnectionCore) -> Result<(), AttemptError> {
        match self.is_tried {
            true => self.check_written(connection, None),
            false => Ok(()),
        }
    }

    /// Waits until the transport has taken the messages.
    pub(super) async fn written(&self, connection: &ConnectionCore) -> Result<(), AttemptError> {
        connection
            .output
            .wait_until(|shared| shared.queue.written() >= self.at.end)
            .await;
        self.check_written(connection, Some(LocalError::Shutdown))
    }

    /// If the connection failed before the transport has taken the messages, decides whether they may have reached the
    /// peer. Without an error of the connection, this one counts, if there is one.
    fn check_written(
        &self,
        connection: &ConnectionCore,
        otherwise: Option<LocalError>,
    ) -> Result<(), AttemptError> {
        let shared = connection.lock();
        if shared.queue.written() >= self.at.end {
            return Ok(());
        }
        let error = shared.error.as_deref().cloned().or(otherwise);
        drop(shared);
        match error {
            Some(error) => {
                let failure = AttemptError::perhaps_sent(error);
                Err(narrow(connection, failure, self.at.clone()))
            }
            None => Ok(()),
        }
    }
}

/// Applies [`AttemptError::narrow`] with the part of the send queue that was taken for writing. `at` is the position of
/// the batch in the queue.
pub(super) fn narrow(
    connection: &ConnectionCore,
    mut failure: AttemptError,
    at: Range<u64>,
) -> AttemptError {
    failure.narrow(at.start, connection.lock().queue.taken());
    failure.name_length(at.end - at.start);
    failure
}

#[cold]
fn refused(connection: &ConnectionCore, error: NotAppended<EncodeError>) -> AttemptError {
    AttemptError::not_sent(match error {
        NotAppended::Unwritten(error) => error.into(),
        NotAppended::NotActive | NotAppended::TooMany => connection.refusal(),
    })
}
