//! Compression of messages before they leave.

use floe_wire::compression::{Compression, Compressor, offered};
use floe_wire::encoding::{Buffer, EncodeError};
use floe_wire::message::{IncomingReply, RequestId};

use super::Proxy;
use super::route::Found;
use crate::connection::{Reply, SendUntil};
use crate::error::AttemptError;

/// What a proxy says of compression.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compress {
    /// Whether; `None` leaves it to the endpoint.
    is_on: Option<bool>,
    /// With what, where it is offered.
    compression: Compression,
    len_min: Option<usize>,
}

impl Compress {
    pub(super) fn turned(self, is_on: bool) -> Self {
        Self {
            is_on: Some(is_on),
            ..self
        }
    }

    pub(super) fn with(self, compression: Compression) -> Self {
        Self {
            is_on: Some(true),
            compression,
            ..self
        }
    }

    pub(super) fn from(self, len_min: usize) -> Self {
        Self {
            len_min: Some(len_min),
            ..self
        }
    }
}

impl Proxy {
    /// The same with other words on compression.
    pub(super) fn with_compress(&self, change: impl FnOnce(Compress) -> Compress) -> Self {
        self.with_options(|options| options.compress = change(options.compress))
    }

    /// Sends a twoway request on a connection, compressed if that is wanted, and waits for its reply.
    /// `handed_over` is called when the request gets into the connection's output.
    pub(super) async fn request_on(
        &self,
        found: Found,
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
        found: Found,
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

    /// Whether what is sent on this connection is compressed.
    #[inline]
    pub(super) fn compresses(&self, found: &Found) -> bool {
        let Some(communicator) = self.communicator() else {
            return false;
        };
        let own = self.inner.options.compress.is_on;
        let settled = communicator.settings().compress_override.or(own);
        settled.unwrap_or(found.wants_compression)
    }

    /// How to compress what is sent on this connection; `None` if it is not to be.
    pub(super) fn compressor(&self, found: &Found) -> Option<Compressor> {
        if !self.compresses(found) {
            return None;
        }
        let settings = self.communicator()?.settings();
        let compress = self.inner.options.compress;
        let endpoint = found.connection.endpoint();
        let wanted = compress.compression;
        let is_offered = |endpoint| offered(wanted, self.reference().endpoints(), endpoint);
        let is_known =
            wanted == Compression::Bzip2 || wanted.is_built() && endpoint.is_some_and(is_offered);
        Some(Compressor {
            compression: if is_known { wanted } else { Compression::Bzip2 },
            level: settings.compression_level,
            len_min: compress.len_min.unwrap_or(settings.compress_len_min),
        })
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
