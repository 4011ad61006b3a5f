//! Compressed messages: bzip2 as Ice uses it, and compressions between Floe peers.
//!
//! ```text
//! 0        14                18
//! | header | plain size: i32 | compressed body |
//! ```
//!
//! The size in the header is that of the compressed message. The plain size is that of the uncompressed message, header
//! included.
//!
//! - `compressor.rs`: compresses outgoing messages
//! - `decompressor.rs`: decompresses incoming messages, within limits
//! - `bzip2.rs`, `zstd.rs`, `brotli.rs`: each message by itself
//! - `zstd_batch.rs`: alike requests of a batch column by column, which `columns.rs` lays out
//! - `stream.rs`: each message coded against earlier ones; `stream_limit.rs`: how many there may be
//! - `offer.rs`: the compressions that an adapter offers in its proxies
//!
//! [`Compression`] is a part of the message header, and lives in `message/`.
//!
//! Source: `tests/vectors/compressed.json`; `docs/adr/0014-compression-between-floe-peers.md`.

#[cfg(feature = "brotli")]
mod brotli;
#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg(feature = "zstd")]
mod columns;
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
#[cfg_attr(not(feature = "zstd"), allow(dead_code))]
mod stream_limit;
#[cfg(all(test, feature = "bzip2", feature = "zstd", feature = "brotli"))]
mod tests;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(feature = "zstd")]
mod zstd_batch;

pub use crate::message::{Compression, CompressionError};
pub use compressor::{Compressor, LEN_MIN_DEFAULT, StreamCompressor};
pub use decompressor::{Decompressor, INFLATION_LEN_MIN, INFLATION_RATIO_MAX_DEFAULT};
pub use offer::{OFFER_TYPE_CODE, is_offer, offer, offered};
pub use stream_limit::StreamLimit;
