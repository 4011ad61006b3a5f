//! Compressed messages: bzip2 as Ice has it, and what only Floe peers understand.
//!
//! ```text
//! 0        14                  18
//! | header | size before: i32 | compressed body |
//! ```
//!
//! The header's size is that of the compressed message; the size before includes the header.
//!
//! - `compressor.rs`: messages that leave
//! - `decompressor.rs`: messages that arrive, within bounds
//! - `bzip2.rs`, `zstd.rs`, `brotli.rs`: each message by itself
//! - `stream.rs`: each message coded against those before it
//! - `offer.rs`: what an adapter says in its proxies that it understands
//!
//! Source: `tests/vectors/compressed.json`; `docs/adr/0014-compression-between-floe-peers.md`.

#[cfg(feature = "brotli")]
mod brotli;
#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg_attr(
    not(any(feature = "bzip2", feature = "zstd", feature = "brotli")),
    allow(dead_code, unused_variables)
)]
mod compressor;
#[cfg_attr(
    not(any(feature = "bzip2", feature = "zstd", feature = "brotli")),
    allow(dead_code, unused_variables)
)]
mod decompressor;
mod offer;
#[cfg(feature = "zstd")]
mod stream;
#[cfg(all(test, feature = "bzip2", feature = "zstd", feature = "brotli"))]
mod tests;
#[cfg(feature = "zstd")]
mod zstd;

pub use compressor::{Compressor, LEN_MIN_DEFAULT, StreamCompressor};
pub use decompressor::{CompressionError, Decompressor};
pub use offer::{OFFER_TYPE_CODE, offer, offered};

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

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
