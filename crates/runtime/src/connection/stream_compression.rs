//! Compression on a connection: what depends on the order of the messages that leave it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use floe_wire::compression::{Compression, Compressor, StreamCompressor};
use floe_wire::connection::NotActive;
use floe_wire::encoding::Buffer;
use floe_wire::message::{IncomingRequest, RequestId};
use floe_wire::reference::Endpoint;

use super::ConnectionCore;
use crate::error::AttemptError;

/// The stream of compressed messages that leave a connection, once there is one.
#[derive(Debug, Default)]
pub(super) struct StreamCompression {
    /// Locked only under the lock of the connection, by a thread that appends to the send queue.
    stream: Mutex<StreamCompressor>,
    /// Whether the peer takes replies in the stream; a hint that needs no lock.
    is_wanted: AtomicBool,
}

impl ConnectionCore {
    /// The endpoint of an outgoing connection.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// The id for a request that is written before it gets into the output.
    pub(crate) fn reserve_id(&self) -> Result<RequestId, AttemptError> {
        let id = self.lock().machine.reserve_id();
        id.map_err(|NotActive| self.failure(false))
    }

    /// Appends messages that `compressor` has compressed to the output, of which `buffer` is the
    /// end. With a stream they are compressed only now: what leaves first must be in it first.
    pub(crate) fn append(&self, compressor: &Compressor, buffer: &mut Buffer, messages: &[u8]) {
        let buffer = buffer.bytes_mut();
        let start = buffer.len();
        buffer.extend_from_slice(messages);
        if compressor.compression == Compression::ZstdStream {
            self.stream().compress(buffer, start, compressor.len_min);
        }
    }

    /// Compresses the reply to a request if its caller takes that.
    pub(crate) fn compress_reply(&self, request: &IncomingRequest, reply: &mut Buffer) {
        let Some(compression) = request.reply_compression() else {
            return;
        };
        let compressor = Compressor {
            compression,
            level: self.settings.compression_level,
            len_min: self.settings.compress_len_min,
        };
        compressor.compress(reply.join(), 0);
        if compression == Compression::ZstdStream {
            self.compressing.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Compresses those of the replies that are to be in the stream, just before they get into the
    /// output.
    pub(super) fn compress_stream(&self, replies: &mut Buffer) {
        if self.has_compressed_stream() {
            let len_min = self.settings.compress_len_min;
            self.stream().compress(replies.join(), 0, len_min);
        }
    }

    /// Whether messages are compressed as one stream, in the order in which they leave.
    pub(super) fn has_compressed_stream(&self) -> bool {
        self.compressing.is_wanted.load(Ordering::Relaxed)
    }

    fn stream(&self) -> MutexGuard<'_, StreamCompressor> {
        let stream = self.compressing.stream.lock();
        stream.unwrap_or_else(PoisonError::into_inner)
    }
}
