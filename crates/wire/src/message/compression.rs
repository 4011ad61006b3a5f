//! What a message's header says of compression, and how a compressed message can be wrong.
//!
//! [`crate::compression`] compresses and decompresses.

use std::fmt;

/// A way to compress messages.
///
/// A message says in its header which one it is compressed with, or would take its reply in:
///
/// | | takes it | compressed |
/// |---|---|---|
/// | bzip2 | 1 | 2 |
/// | zstd | 70 | 71 |
/// | brotli | 72 | 73 |
/// | zstd stream | 74 | 75 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Compression {
    /// What every Ice peer understands.
    #[default]
    Bzip2,
    /// Much smaller than bzip2 where a long message repeats itself. Between Floe peers.
    Zstd,
    /// A little smaller than zstd. Between Floe peers.
    Brotli,
    /// Each message is coded against those before it on the connection: by far the smallest for
    /// many similar messages, for some 4 MiB of memory in all at either end. Between Floe peers.
    ZstdStream,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bzip2, Self::Zstd, Self::Brotli, Self::ZstdStream];

    /// The compression byte of a message that is not compressed, whose reply may be.
    pub const fn accepted(self) -> u8 {
        match self {
            Self::Bzip2 => 1,
            Self::Zstd => 70,
            Self::Brotli => 72,
            Self::ZstdStream => 74,
        }
    }

    /// The compression byte of a message that is compressed.
    pub const fn compressed(self) -> u8 {
        self.accepted() + 1
    }

    /// What a reply to a message with this compression byte may be compressed with.
    pub fn of_reply(status: u8) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.accepted() == status || it.compressed() == status)
    }

    /// What a message with this compression byte is compressed with; `None` if it is not.
    pub fn of_message(status: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.compressed() == status)
    }

    /// Whether this build has it: the feature of its name is on.
    pub const fn is_built(self) -> bool {
        match self {
            Self::Bzip2 => cfg!(feature = "bzip2"),
            Self::Zstd | Self::ZstdStream => cfg!(feature = "zstd"),
            Self::Brotli => cfg!(feature = "brotli"),
        }
    }

    /// Its name: `bzip2`, `zstd`, `brotli` or `zstd-stream`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bzip2 => "bzip2",
            Self::Zstd => "zstd",
            Self::Brotli => "brotli",
            Self::ZstdStream => "zstd-stream",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

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
    /// It was given to the connection as it came, without a [`Decompressor`](crate::compression::Decompressor).
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
