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
//! [`Compression`] itself is a part of a message's header, and lives with it.
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

pub use crate::message::{Compression, CompressionError};
pub use compressor::{Compressor, LEN_MIN_DEFAULT, StreamCompressor};
pub use decompressor::Decompressor;
pub use offer::{OFFER_TYPE_CODE, offer, offered};
