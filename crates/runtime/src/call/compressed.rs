//! Sending over a connection: compressed before that, if the proxy says so.

use floe_wire::compression::Compressor;
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, RequestId};

use crate::connection::{Reply, SendUntil};
use crate::error::AttemptError;
use crate::proxy::{Proxy, RoutedConnection};

impl Proxy {
    /// Sends a twoway request on a connection, compressed if that is wanted, and waits for its reply.
    /// `handed_over` is called when the request gets into the connection's output.
    pub(super) async fn request_on(
        &self,
        found: RoutedConnection,
        write: &impl Fn(&mut Buffer, RequestId) -> Result<(), EncodeError>,
        handed_over: &impl Fn(),
    ) -> Result<IncomingReply, AttemptError> {
        let compressor = self.compressor(&found);
        let connection = found.connection;
        let Some(compressor) = compressor else {
            let write = |buffer: &mut Buffer, id| {
                handed_over();
                write(buffer, id)
            };
            return Reply::request(connection, None, write).await;
        };
        // It is written and compressed before the lock is taken, so that no other sender has to wait for it.
        let id = connection.reserve_id()?;
        let message = written(&compressor, |buffer| write(buffer, id))?;
        let append = |buffer: &mut Buffer, _| {
            handed_over();
            connection
                .compression()
                .append(&compressor, buffer, &message);
            Ok(())
        };
        Reply::request(connection.clone(), Some(id), append).await
    }

    /// Sends messages that get no reply, as [`Proxy::request_on`] does.
    pub(super) async fn post_on(
        &self,
        found: RoutedConnection,
        until: SendUntil,
        write: &impl Fn(&mut Buffer) -> Result<(), EncodeError>,
        handed_over: &impl Fn(),
    ) -> Result<(), AttemptError> {
        let compressor = self.compressor(&found);
        let connection = found.connection;
        let Some(compressor) = compressor else {
            let write = |buffer: &mut Buffer| {
                handed_over();
                write(buffer)
            };
            return connection.send(until, write).await;
        };
        let messages = written(&compressor, write)?;
        let append = |buffer: &mut Buffer| {
            handed_over();
            connection
                .compression()
                .append(&compressor, buffer, &messages);
            Ok(())
        };
        connection.send(until, append).await
    }
}

/// Messages, written and compressed.
fn written(
    compressor: &Compressor,
    write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
) -> Result<Vec<u8>, AttemptError> {
    let mut messages = Buffer::joined();
    write(&mut messages).map_err(|error| AttemptError {
        error: error.into(),
        perhaps_dispatched: false,
    })?;
    let mut messages = messages.into_vec();
    compressor.compress(&mut messages, 0);
    Ok(messages)
}
