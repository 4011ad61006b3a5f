//! Compression on a connection: what the peer takes, and the stream, which depends on the order of the messages sent.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use floe_wire::compression::{Compression, Compressor, StreamCompressor, StreamLimit};
use floe_wire::encoding::Buffer;
use floe_wire::message::IncomingRequest;

use crate::settings::Settings;

/// The stream of compressed messages that this side sends, once there is one.
#[derive(Debug)]
pub(crate) struct StreamCompression {
    /// Locked only under the lock of the connection, by a thread that appends to the send queue.
    stream: Mutex<StreamCompressor>,
    /// True if the peer accepts replies in the stream. It is a hint that needs no lock.
    is_wanted: AtomicBool,
    /// The byte of the compression that the peer last asked for in replies; 0 if it has asked for none.
    asked: AtomicU8,
    level: u32,
    len_min: usize,
}

impl StreamCompression {
    pub(super) fn new(settings: &Settings, limit: Arc<StreamLimit>) -> Self {
        Self {
            stream: Mutex::new(StreamCompressor::with_limit(limit)),
            is_wanted: AtomicBool::new(false),
            asked: AtomicU8::new(0),
            level: settings.compression_level,
            len_min: settings.compress_len_min,
        }
    }

    /// Appends messages that `compressor` has prepared to `buffer`, the end of the send queue. With a stream they are
    /// compressed only now, in the order in which they leave.
    pub(crate) fn append(&self, compressor: &Compressor, buffer: &mut Buffer, messages: &[u8]) {
        let buffer = buffer.bytes_mut();
        let start = buffer.len();
        buffer.extend_from_slice(messages);
        if compressor.compression == Compression::ZstdStream {
            self.stream().compress(buffer, start, compressor.len_min);
        }
    }

    /// Compresses the reply to a request if its caller accepts that, and `may_use` says that this side may.
    pub(super) fn compress_reply(
        &self,
        may_use: impl FnOnce(Compression) -> bool,
        request: &IncomingRequest,
        reply: &mut Buffer,
    ) {
        let Some(compression) = request.reply_compression().filter(|it| may_use(*it)) else {
            return;
        };
        self.asked.store(compression.accepted(), Ordering::Relaxed);
        let compressor = Compressor {
            compression,
            level: self.level,
            len_min: self.len_min,
        };
        compressor.compress(reply.join(), 0);
        if compression == Compression::ZstdStream {
            self.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Compresses the replies that belong to the stream, just before they are appended to the send queue.
    pub(super) fn compress_replies(&self, replies: &mut Buffer) {
        if self.is_wanted() {
            self.stream().compress(replies.join(), 0, self.len_min);
        }
    }

    /// The compression that the peer last asked for in the replies to its requests.
    pub(crate) fn asked(&self) -> Option<Compression> {
        Compression::of_reply(self.asked.load(Ordering::Relaxed))
    }

    /// Returns true if messages are compressed as one stream, in the order in which they leave.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    fn stream(&self) -> MutexGuard<'_, StreamCompressor> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
