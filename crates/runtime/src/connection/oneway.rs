//! Sends messages without replies: oneway requests, and batches of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use floe_wire::connection::FlushPolicy;
use floe_wire::encoding::{Buffer, EncodeError};

use super::ConnectionCore;
use super::appended::Appended;
use crate::error::AttemptError;

/// Appends messages without replies. It is not generic for the reason that [`WriteRequest`](super::WriteRequest) gives.
pub(crate) type WriteMessages<'a> =
    dyn Fn(&mut Buffer) -> Result<(), EncodeError> + Send + Sync + 'a;

/// The moment at which messages without replies count as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendUntil {
    /// When they are in the send queue of a connection.
    Queued,
    /// When the transport has taken them.
    Written,
}

/// Sends messages without replies if there is room for them. Returns false, with nothing sent, if there is none.
#[inline]
pub(crate) fn try_send(
    connection: &Arc<ConnectionCore>,
    write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<bool, AttemptError> {
    match Appended::try_messages(connection, FlushPolicy::Oneway, write)? {
        Some(sent) => sent.check_tried(connection).map(|()| true),
        None => Ok(false),
    }
}

/// Sends messages without replies as soon as there is room for them. `is_sent` becomes true when they are in the send
/// queue.
pub(crate) async fn send(
    connection: &Arc<ConnectionCore>,
    until: SendUntil,
    write: &WriteMessages<'_>,
    is_sent: &AtomicBool,
) -> Result<(), AttemptError> {
    let flush = match until {
        SendUntil::Queued => FlushPolicy::Oneway,
        SendUntil::Written => FlushPolicy::Now,
    };
    let sent = loop {
        match Appended::try_messages(connection, flush, write)? {
            Some(sent) => break sent,
            None => connection.output.wait_for_room().await,
        }
    };
    is_sent.store(true, Ordering::Relaxed);
    match until {
        SendUntil::Queued => sent.check_tried(connection),
        SendUntil::Written => sent.written(connection).await,
    }
}
