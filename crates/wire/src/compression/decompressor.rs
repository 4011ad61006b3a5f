//! Decompresses incoming messages. The size that a message claims limits its memory, and the limit of a message limits
//! that size.

use std::sync::Arc;

use bytes::Bytes;

use super::compressor::BODY;
use super::stream_limit::StreamLimit;
use crate::message::{Compression, CompressionError, HEADER_LEN, Message, ProtocolError};

/// Decompresses the messages of one direction of a connection, in the order of their arrival.
///
/// A message of up to [`INFLATION_LEN_MIN`] bytes may be compressed as well as it gets. A longer one may be
/// [`INFLATION_RATIO_MAX_DEFAULT`] times as long as it arrived, or as often as [`Decompressor::with_ratio_max`] says. Only
/// [`Compression::ZstdStream`] has no such limit, because a message that repeats an earlier one takes a few bytes.
#[derive(Debug)]
pub struct Decompressor {
    ratio_max: usize,
    takes_stream: bool,
    #[cfg_attr(not(feature = "zstd"), allow(dead_code))]
    stream_limit: Option<Arc<StreamLimit>>,
    #[cfg(feature = "zstd")]
    stream: Option<super::stream::StreamDecoder>,
}

/// Messages up to this length have no limit of their inflation ratio.
pub const INFLATION_LEN_MIN: usize = 64 * 1024;
/// How many times as long as it arrived a compressed message may be, by default.
pub const INFLATION_RATIO_MAX_DEFAULT: usize = 25_000;

impl Default for Decompressor {
    fn default() -> Self {
        Self::with_ratio_max(INFLATION_RATIO_MAX_DEFAULT)
    }
}

impl Decompressor {
    /// Makes one whose messages may be this many times as long as they arrived.
    pub fn with_ratio_max(ratio_max: usize) -> Self {
        Self {
            ratio_max,
            takes_stream: true,
            stream_limit: None,
            #[cfg(feature = "zstd")]
            stream: None,
        }
    }

    /// Refuses [`Compression::ZstdStream`]: a stream holds over 1 MiB for as long as its connection is open.
    pub fn without_stream(self) -> Self {
        Self {
            takes_stream: false,
            ..self
        }
    }

    /// Refuses to begin a stream of [`Compression::ZstdStream`] beyond this limit.
    pub fn with_stream_limit(self, limit: Arc<StreamLimit>) -> Self {
        Self {
            stream_limit: Some(limit),
            ..self
        }
    }

    /// Decompresses a message. Its header then says that the reply may be compressed. An uncompressed message is
    /// returned unchanged. `size_max` is the limit of a message in bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Compression`], fatal for the connection.
    pub fn decompress(
        &mut self,
        message: Message,
        size_max: usize,
    ) -> Result<Message, ProtocolError> {
        let Some(compression) = Compression::of_message(message.header.compression) else {
            return Ok(message);
        };
        let plain = self.plain(&message.bytes, compression, size_max);
        let bytes = plain.map_err(|error| ProtocolError::Compression {
            message: message.header.message_type,
            error,
        })?;
        let mut header = message.header;
        header.compression = compression.accepted();
        header.size = bytes.len();
        Ok(Message { header, bytes })
    }

    fn plain(
        &mut self,
        message: &[u8],
        compression: Compression,
        size_max: usize,
    ) -> Result<Bytes, CompressionError> {
        if compression == Compression::ZstdStream && !self.takes_stream {
            return Err(CompressionError::NotOffered(compression));
        }
        let claimed = claimed_size(message, size_max)?;
        self.check_ratio(claimed, message.len(), compression)?;
        let mut plain = Vec::with_capacity(claimed.min(message.len().saturating_mul(GROWTH)));
        plain.extend_from_slice(&message[..HEADER_LEN]);
        plain[9] = compression.accepted();
        let size = i32::try_from(claimed).unwrap_or(i32::MAX);
        plain[10..HEADER_LEN].copy_from_slice(&size.to_le_bytes());
        self.unpack(&message[BODY..], compression, claimed, &mut plain)?;
        Ok(plain.into())
    }

    fn check_ratio(
        &self,
        claimed: usize,
        len: usize,
        compression: Compression,
    ) -> Result<(), CompressionError> {
        let is_limited = claimed > INFLATION_LEN_MIN && compression != Compression::ZstdStream;
        match is_limited && claimed > len.saturating_mul(self.ratio_max) {
            true => Err(CompressionError::InflatesTooMuch {
                claimed,
                len,
                ratio_max: self.ratio_max,
            }),
            false => Ok(()),
        }
    }

    /// Appends the body to `plain`, which then has the claimed length.
    fn unpack(
        &mut self,
        packed: &[u8],
        compression: Compression,
        claimed: usize,
        plain: &mut Vec<u8>,
    ) -> Result<(), CompressionError> {
        let target = &mut PlainBody::new(plain, claimed);
        match compression {
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => super::bzip2::unpack(packed, target),
            #[cfg(feature = "zstd")]
            Compression::Zstd => super::zstd::unpack(packed, target, compression),
            #[cfg(feature = "zstd")]
            Compression::ZstdBatch => super::zstd_batch::unpack(packed, target),
            #[cfg(feature = "brotli")]
            Compression::Brotli => super::brotli::unpack(packed, target),
            #[cfg(feature = "zstd")]
            Compression::ZstdStream => {
                let stream = match &mut self.stream {
                    Some(stream) => stream,
                    none => {
                        let limit = self.stream_limit.as_ref();
                        let permit = limit.map(|limit| {
                            let max = limit.max();
                            limit.take().ok_or(CompressionError::TooManyStreams { max })
                        });
                        let stream = super::stream::StreamDecoder::new(permit.transpose()?);
                        none.insert(stream.ok_or(CompressionError::Corrupt(compression))?)
                    }
                };
                stream.unpack(packed, target)
            }
            #[allow(unreachable_patterns)]
            missing => Err(CompressionError::NotBuilt(missing)),
        }?;
        target.finish()
    }
}

/// A message that is being decompressed. It never exceeds its claimed length.
pub(super) struct PlainBody<'a> {
    plain: &'a mut Vec<u8>,
    claimed: usize,
}

/// The number of bytes that are decompressed at a time.
pub(super) const PIECE: usize = 8 * 1024;
/// How much longer than its compressed form a message is expected to be. More memory is allocated when the bytes come.
const GROWTH: usize = 8;

impl<'a> PlainBody<'a> {
    /// Continues with `plain`, up to a length of `claimed`.
    pub(super) fn new(plain: &'a mut Vec<u8>, claimed: usize) -> Self {
        Self { plain, claimed }
    }

    /// How many bytes it lacks.
    pub(super) fn remaining(&self) -> usize {
        self.claimed - self.plain.len()
    }

    /// Appends bytes of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CompressionError> {
        if bytes.len() > self.remaining() {
            let claimed = self.claimed - HEADER_LEN;
            return Err(CompressionError::LongerThanClaimed { claimed });
        }
        self.plain.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&self) -> Result<(), CompressionError> {
        if self.plain.len() == self.claimed {
            return Ok(());
        }
        Err(CompressionError::ShorterThanClaimed {
            claimed: self.claimed - HEADER_LEN,
            len: self.plain.len() - HEADER_LEN,
        })
    }
}

fn claimed_size(message: &[u8], size_max: usize) -> Result<usize, CompressionError> {
    let size = message
        .get(HEADER_LEN..BODY)
        .and_then(|it| it.try_into().ok());
    let size = i32::from_le_bytes(size.ok_or(CompressionError::Truncated)?);
    let claimed = usize::try_from(size).ok().filter(|it| *it > HEADER_LEN);
    let claimed = claimed.ok_or(CompressionError::SizeTooSmall(size))?;
    if claimed > size_max {
        return Err(CompressionError::SizeTooLarge {
            size: claimed,
            limit: size_max,
        });
    }
    Ok(claimed)
}
