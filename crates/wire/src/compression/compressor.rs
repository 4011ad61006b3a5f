//! Compresses outgoing messages.

use std::sync::Arc;

use super::stream_limit::StreamLimit;
use crate::message::{Compression, HEADER_LEN};

/// By default, messages of fewer bytes are not compressed, as in Ice.
pub const LEN_MIN_DEFAULT: usize = 100;

/// The start of the compressed body.
pub(super) const BODY: usize = HEADER_LEN + 4;
const STATUS: usize = 9;

/// Compresses messages, each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressor {
    /// The compression.
    pub compression: Compression,
    /// The effort of bzip2: 1 to 9, its block size in units of 100 kB. The others have fixed settings, suited to
    /// messages of some kilobytes.
    pub level: u32,
    /// Messages below this many bytes, header included, are not compressed.
    pub len_min: usize,
}

impl Compressor {
    /// The settings of Ice: level 1, messages of 100 bytes and more.
    pub const fn new(compression: Compression) -> Self {
        Self {
            compression,
            level: 1,
            len_min: LEN_MIN_DEFAULT,
        }
    }

    /// Compresses the whole messages in `buffer` from `start` on. A message that is too short, or would not become
    /// smaller, is only marked so that its reply may be compressed. The same holds for all messages with
    /// [`Compression::ZstdStream`], which [`StreamCompressor`] compresses in the order of sending.
    ///
    /// Without the feature of the compression, messages stay unchanged.
    pub fn compress(&self, buffer: &mut Vec<u8>, start: usize) {
        if !self.compression.is_built() {
            return;
        }
        each_message(buffer, start, |message, buffer| {
            let packed = match message.len() >= self.len_min {
                true => self.pack(message),
                false => None,
            };
            append(buffer, message, self.compression, packed.as_deref());
        });
    }

    /// Compresses the body of a message.
    fn pack(&self, message: &[u8]) -> Option<Vec<u8>> {
        let body = message.get(HEADER_LEN..)?;
        match self.compression {
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => super::bzip2::pack(body, self.level),
            #[cfg(feature = "zstd")]
            Compression::Zstd => super::zstd::pack(body),
            #[cfg(feature = "zstd")]
            Compression::ZstdBatch => super::zstd_batch::pack(message),
            #[cfg(feature = "brotli")]
            Compression::Brotli => super::brotli::pack(body),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    }
}

/// Compresses the messages of one direction of a connection, each against those before it.
#[derive(Debug, Default)]
pub struct StreamCompressor {
    #[cfg_attr(not(feature = "zstd"), allow(dead_code))]
    limit: Option<Arc<StreamLimit>>,
    #[cfg(feature = "zstd")]
    stream: Option<super::stream::StreamEncoder>,
}

impl StreamCompressor {
    /// Begins no stream beyond this limit. Each message is then compressed by itself, as [`Compression::Zstd`].
    pub fn with_limit(limit: Arc<StreamLimit>) -> Self {
        Self {
            limit: Some(limit),
            #[cfg(feature = "zstd")]
            stream: None,
        }
    }

    /// Compresses the whole messages in `buffer` from `start` on that are marked with the byte of
    /// [`Compression::ZstdStream`], have a body, and have at least `len_min` bytes. All of them must be sent, in the order of these
    /// calls.
    pub fn compress(&mut self, buffer: &mut Vec<u8>, start: usize, len_min: usize) {
        each_message(buffer, start, |message, buffer| {
            let is_marked = message.get(STATUS) == Some(&Compression::ZstdStream.accepted());
            let packed = match is_marked && message.len() >= len_min.max(HEADER_LEN + 1) {
                true => self.pack(&message[HEADER_LEN..]),
                false => None,
            };
            match packed {
                // This is sent even if it became longer, because later messages are coded against it.
                Some(PackedBody::InStream(packed)) => {
                    append_packed(buffer, message, Compression::ZstdStream, &packed);
                }
                Some(PackedBody::Alone(packed)) if BODY + packed.len() < message.len() => {
                    append_packed(buffer, message, Compression::Zstd, &packed);
                }
                _ => buffer.extend_from_slice(message),
            }
        });
    }

    #[cfg(feature = "zstd")]
    fn pack(&mut self, body: &[u8]) -> Option<PackedBody> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let permit = self.limit.as_ref().map(StreamLimit::take);
                if matches!(permit, Some(None)) {
                    return super::zstd::pack(body).map(PackedBody::Alone);
                }
                none.insert(super::stream::StreamEncoder::new(permit.flatten())?)
            }
        };
        stream.pack(body).map(PackedBody::InStream)
    }

    #[cfg(not(feature = "zstd"))]
    fn pack(&mut self, _body: &[u8]) -> Option<PackedBody> {
        None
    }
}

/// The body of a message, compressed.
#[cfg_attr(not(feature = "zstd"), allow(dead_code))]
enum PackedBody {
    /// Against those before it.
    InStream(Vec<u8>),
    /// By itself.
    Alone(Vec<u8>),
}

/// Gives each message from `start` on to `append`, which appends it to the buffer again.
fn each_message(buffer: &mut Vec<u8>, start: usize, mut append: impl FnMut(&[u8], &mut Vec<u8>)) {
    let messages = buffer.split_off(start);
    let mut rest = &messages[..];
    while !rest.is_empty() {
        let (message, more) = rest.split_at(message_len(rest));
        append(message, buffer);
        rest = more;
    }
}

/// The length of the first message, at most that of all.
fn message_len(messages: &[u8]) -> usize {
    let size = messages
        .get(10..HEADER_LEN)
        .and_then(|it| it.try_into().ok());
    let size = size.map_or(0, i32::from_le_bytes);
    match usize::try_from(size) {
        Ok(size) if size >= HEADER_LEN => size.min(messages.len()),
        _ => messages.len(),
    }
}

fn append(buffer: &mut Vec<u8>, message: &[u8], compression: Compression, packed: Option<&[u8]>) {
    match packed {
        Some(packed) if BODY + packed.len() < message.len() => {
            append_packed(buffer, message, compression, packed);
        }
        _ => {
            let start = buffer.len();
            buffer.extend_from_slice(message);
            if let Some(status) = buffer.get_mut(start + STATUS) {
                *status = compression.accepted();
            }
        }
    }
}

fn append_packed(buffer: &mut Vec<u8>, message: &[u8], compression: Compression, packed: &[u8]) {
    let start = buffer.len();
    let size = |len: usize| i32::try_from(len).unwrap_or(i32::MAX).to_le_bytes();
    buffer.extend_from_slice(&message[..HEADER_LEN]);
    buffer[start + STATUS] = compression.compressed();
    buffer[start + 10..start + HEADER_LEN].copy_from_slice(&size(BODY + packed.len()));
    buffer.extend_from_slice(&size(message.len()));
    buffer.extend_from_slice(packed);
}
