//! The compression byte of a message header, and the errors of compressed messages.
//!
//! [`crate::compression`] compresses and decompresses messages.

use std::fmt;

/// A way to compress messages.
///
/// The compression byte in the header of a message says how the message is compressed, or how its reply may be
/// compressed:
///
/// | | takes it | compressed |
/// |---|---|---|
/// | bzip2 | 1 | 2 |
/// | zstd | 70 | 71 |
/// | brotli | 72 | 73 |
/// | zstd stream | 74 | 75 |
/// | zstd batch | 76 | 77 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Every Ice peer understands it.
    #[default]
    Bzip2,
    /// Much smaller than bzip2 for long repetitive messages. Only between Floe peers.
    Zstd,
    /// A little smaller than zstd. Only between Floe peers.
    Brotli,
    /// Each message is coded against earlier ones of the connection. This is by far the smallest for many similar
    /// messages, and needs about 4 MiB of memory in all at each end. Only between Floe peers.
    ZstdStream,
    /// Alike requests of a batch are coded column by column, so that only their differences take bytes. Other messages
    /// are as with zstd. Only between Floe peers.
    ZstdBatch,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Bzip2,
        Self::Zstd,
        Self::Brotli,
        Self::ZstdStream,
        Self::ZstdBatch,
    ];

    /// The compression byte of an uncompressed message whose reply may be compressed so.
    pub const fn accepted(self) -> u8 {
        match self {
            Self::Bzip2 => 1,
            Self::Zstd => 70,
            Self::Brotli => 72,
            Self::ZstdStream => 74,
            Self::ZstdBatch => 76,
        }
    }

    /// The compression byte of a message that is compressed.
    pub const fn compressed(self) -> u8 {
        self.accepted() + 1
    }

    /// How the reply to a message with this compression byte may be compressed.
    pub fn of_reply(status: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.accepted() == status || it.compressed() == status)
    }

    /// How a message with this compression byte is compressed; `None` if it is not.
    pub fn of_message(status: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.compressed() == status)
    }

    /// Returns true if this build has it: the feature with its name is on.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Bzip2 => cfg!(feature = "bzip2"),
            Self::Zstd | Self::ZstdStream | Self::ZstdBatch => cfg!(feature = "zstd"),
            Self::Brotli => cfg!(feature = "brotli"),
        }
    }

    /// Its name: `bzip2`, `zstd`, `brotli`, `zstd-stream` or `zstd-batch`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bzip2 => "bzip2",
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::ZstdStream => "zstd-stream",
            Self::ZstdBatch => "zstd-batch",
        }
    }

    /// The compression with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why a compressed message cannot be decompressed. The connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// This build lacks the compression.
    NotBuilt(Compression),
    /// The peer began a stream, which takes memory for as long as the connection is open, and this side offers none.
    NotOffered(Compression),
    /// The peer began a stream, and all streams that this side allows are taken.
    TooManyStreams {
        /// How many there may be.
        max: usize,
    },
    /// The message ends before its uncompressed size.
    Truncated,
    /// The uncompressed size that it claims is smaller than a header.
    SizeTooSmall(i32),
    /// The uncompressed size that it claims exceeds the limit.
    SizeTooLarge {
        /// The size that it claims, in bytes, header included.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It claims to be too many times as long as it arrived.
    InflatesTooMuch {
        /// The size that it claims, in bytes, header included.
        claimed: usize,
        /// The bytes that arrived, header included.
        len: usize,
        /// How many times as long it may be.
        ratio_max: usize,
    },
    /// The content is longer than claimed: a decompression bomb, or garbage.
    LongerThanClaimed {
        /// The bytes that it claims, header excluded.
        claimed: usize,
    },
    /// The content is shorter than claimed.
    ShorterThanClaimed {
        /// The bytes that it claims, header excluded.
        claimed: usize,
        /// The actual bytes.
        len: usize,
    },
    /// The message was given to the connection without a [`Decompressor`](crate::compression::Decompressor).
    StillCompressed,
    /// The body is not valid compressed data.
    Corrupt(Compression),
}

impl fmt::Display for CompressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt(compression) => write!(
                f,
                "this build has no {compression}: build floe with that feature, or turn compression off at the peer"
            ),
            Self::NotOffered(compression) => write!(
                f,
                "expected no {compression}, because this side does not offer it: offer it in the settings of this side \
                 if the peer is legitimate"
            ),
            Self::TooManyStreams { max } => write!(
                f,
                "expected at most {max} compressed streams on all connections together, the peer begins one more: each \
                 holds memory while its connection is open; raise the limit on this side if they are legitimate \
                 (connections.compressed-streams in the floe.toml of `floe serve`, or Settings::compression_streams_max), or \
                 let the peer use zstd"
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
                 if the message is legitimate, raise the limit on this side \
                 (connections.message-bytes in the floe.toml of `floe serve`, Settings::message_size_max, or \
                 Ice.MessageSizeMax)"
            ),
            Self::InflatesTooMuch {
                claimed,
                len,
                ratio_max,
            } => write!(
                f,
                "expected at most {ratio_max} times the {len} bytes that arrived, it claims {claimed}: \
                 raise the inflation ratio limit on this side if the message is legitimate"
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
