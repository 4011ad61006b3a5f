//! Requests sent over a connection, compressed first if the proxy says so.

use std::sync::atomic::AtomicBool;

use floe_wire::compression::Compressor;
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::IncomingReply;

use crate::connection::{Reply, SendUntil, WriteMessages, WriteRequest, oneway};
use crate::error::AttemptError;
use crate::proxy::{Proxy, RoutedConnection};

impl Proxy {
    /// Compresses a twoway request if that is wanted, sends it on a connection, and waits for its reply. `is_sent`
    /// becomes true when the request is in the send queue.
    pub(super) async fn request_on(
        &self,
        routed: RoutedConnection,
        write: &WriteRequest<'_>,
        is_sent: &AtomicBool,
    ) -> Result<IncomingReply, AttemptError> {
        let compressor = self.compressor(&routed);
        let connection = routed.connection;
        let Some(compressor) = compressor else {
            return Reply::request(connection, None, write, is_sent).await;
        };
        // The request is encoded and compressed before the lock is taken, so that other senders do not wait for that.
        let id = connection.reserve_id()?;
        let message = encode_compressed(&compressor, |buffer| write(buffer, id))?;
        let append = |buffer: &mut Buffer, _| {
            connection
                .compression()
                .append(&compressor, buffer, &message);
            Ok(())
        };
        Reply::request(connection.clone(), Some(id), &append, is_sent).await
    }

    /// Sends messages without replies, as [`Proxy::request_on`] does.
    pub(super) async fn post_on(
        &self,
        routed: RoutedConnection,
        until: SendUntil,
        write: &WriteMessages<'_>,
        is_sent: &AtomicBool,
    ) -> Result<(), AttemptError> {
        let compressor = self.compressor(&routed);
        let connection = routed.connection;
        let Some(compressor) = compressor else {
            return oneway::send(&connection, until, write, is_sent).await;
        };
        let messages = encode_compressed(&compressor, write)?;
        let append = |buffer: &mut Buffer| {
            connection
                .compression()
                .append(&compressor, buffer, &messages);
            Ok(())
        };
        oneway::send(&connection, until, &append, is_sent).await
    }
}

/// Encodes messages.
pub(super) fn encode(
    write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<Vec<u8>, AttemptError> {
    let mut messages = Buffer::joined();
    write(&mut messages).map_err(|error| AttemptError::not_sent(error.into()))?;
    Ok(messages.into_vec())
}

/// Encodes messages and compresses them.
fn encode_compressed(
    compressor: &Compressor,
    write: impl FnOnce(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<Vec<u8>, AttemptError> {
    let mut messages = encode(write)?;
    compressor.compress(&mut messages, 0);
    Ok(messages)
}
