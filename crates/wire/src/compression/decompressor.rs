//! Messages that arrive: bounded by what they claim, and that by the limit of a message.

use std::fmt;

use bytes::Bytes;

use super::Compression;
use super::compressor::BODY;
use crate::message::{HEADER_LEN, Message, ProtocolError};

/// What is wrong with a compressed message. The connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// This build lacks the compression.
    NotBuilt(Compression),
    /// It has no place for the size before compression.
    Truncated,
    /// The size before compression, which it claims, is below that of a header.
    SizeTooSmall(i32),
    /// It claims to have been longer than a message may be.
    SizeTooLarge {
        /// The size that it claims, in bytes, header included.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// What it holds is longer than it claims: a bomb, or garbage.
    LongerThanClaimed {
        /// The bytes that it claims, header excluded.
        claimed: usize,
    },
    /// What it holds is shorter than it claims.
    ShorterThanClaimed {
        /// The bytes that it claims, header excluded.
        claimed: usize,
        /// The bytes that it holds.
        len: usize,
    },
    /// It was given to the connection as it came, without a [`Decompressor`].
    StillCompressed,
    /// It holds no such compressed data.
    Corrupt(Compression),
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt(compression) => write!(
                f,
                "this build has no {compression}: build floe with that feature, or turn compression off at the peer"
            ),
            Self::Truncated => {
                f.write_str("expected the size before compression, the message ends before it")
            }
            Self::SizeTooSmall(size) => {
                write!(
                    f,
                    "expected a size before compression above 14 bytes, it claims {size}"
                )
            }
            Self::SizeTooLarge { size, limit } => write!(
                f,
                "expected a size before compression of at most {limit} bytes, it claims {size}: \
                 raise the message size limit on this side if the message is legitimate"
            ),
            Self::LongerThanClaimed { claimed } => {
                write!(f, "it claims a body of {claimed} bytes and holds more")
            }
            Self::ShorterThanClaimed { claimed, len } => {
                write!(f, "it claims a body of {claimed} bytes and holds {len}")
            }
            Self::StillCompressed => f.write_str("it was not decompressed when it was read"),
            Self::Corrupt(compression) => write!(f, "its body is no whole {compression} data"),
        }
    }
}

impl std::error::Error for CompressionError {}

/// Decompresses the messages of one direction of a connection, in the order of their arrival.
#[derive(Debug, Default)]
pub struct Decompressor {
    #[cfg(feature = "zstd")]
    stream: Option<super::stream::Decoder>,
}

impl Decompressor {
    /// The message as it was before it was compressed; its header then says that the reply may be.
    /// One that is not compressed stays as it is. `size_max` is the limit of a message in bytes.
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
        let claimed = claimed_size(message, size_max)?;
        let mut plain = Vec::with_capacity(claimed.min(message.len().saturating_mul(GROWTH)));
        plain.extend_from_slice(&message[..HEADER_LEN]);
        plain[9] = compression.accepted();
        let size = i32::try_from(claimed).unwrap_or(i32::MAX);
        plain[10..HEADER_LEN].copy_from_slice(&size.to_le_bytes());
        self.unpack(&message[BODY..], compression, claimed, &mut plain)?;
        Ok(plain.into())
    }

    /// Appends the body to `plain`, which then has the length that was claimed.
    fn unpack(
        &mut self,
        packed: &[u8],
        compression: Compression,
        claimed: usize,
        plain: &mut Vec<u8>,
    ) -> Result<(), CompressionError> {
        let target = &mut Target { plain, claimed };
        match compression {
            #[cfg(feature = "bzip2")]
            Compression::Bzip2 => super::bzip2::unpack(packed, target),
            #[cfg(feature = "zstd")]
            Compression::Zstd => super::zstd::unpack(packed, target),
            #[cfg(feature = "brotli")]
            Compression::Brotli => super::brotli::unpack(packed, target),
            #[cfg(feature = "zstd")]
            Compression::ZstdStream => {
                if self.stream.is_none() {
                    self.stream = super::stream::Decoder::new();
                }
                let corrupt = CompressionError::Corrupt(compression);
                self.stream.as_mut().ok_or(corrupt)?.unpack(packed, target)
            }
            #[allow(unreachable_patterns)]
            missing => Err(CompressionError::NotBuilt(missing)),
        }?;
        target.finish()
    }
}

/// A message in the making, which never gets longer than it was claimed to be.
pub(super) struct Target<'a> {
    plain: &'a mut Vec<u8>,
    claimed: usize,
}

/// Bytes that are decompressed at a time.
pub(super) const PIECE: usize = 8 * 1024;
/// How much longer than the compressed one a message is expected to be; room for more is made when
/// it really comes.
const GROWTH: usize = 8;

impl Target<'_> {
    /// Appends some bytes of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), CompressionError> {
        if bytes.len() > self.claimed - self.plain.len() {
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
