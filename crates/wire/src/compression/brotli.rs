//! brotli: one whole stream in each message.

use brotli::enc::BrotliEncoderParams;
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

use super::decompressor::{PIECE, PlainBody};
use crate::message::{Compression, CompressionError};

/// For messages up to [`SHORT_LEN`]: the best that there is. It takes about 2 ms a kilobyte, and saves an eighth of the
/// bytes. A line of 500 kbit/s needs as long for them.
const SHORT_QUALITY: i32 = 11;
/// The largest length, in bytes, for which the best quality is worth its time.
const SHORT_LEN: usize = 16 * 1024;
/// For longer messages: the lowest quality at which the library looks beyond the nearest repetition.
const LONG_QUALITY: i32 = 5;
/// How far back a message may refer: 1 MiB, the default limit of a message.
const WINDOW_LOG: i32 = 20;

/// Compresses the body as one brotli stream.
pub(super) fn pack(body: &[u8]) -> Option<Vec<u8>> {
    let params = BrotliEncoderParams {
        quality: match body.len() {
            ..=SHORT_LEN => SHORT_QUALITY,
            _ => LONG_QUALITY,
        },
        lgwin: WINDOW_LOG,
        size_hint: body.len(),
        ..BrotliEncoderParams::default()
    };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &body[..], &mut packed, &params).ok()?;
    Some(packed)
}

pub(super) fn unpack(packed: &[u8], target: &mut PlainBody<'_>) -> Result<(), CompressionError> {
    const CORRUPT: CompressionError = CompressionError::Corrupt(Compression::Brotli);
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new(alloc(), alloc(), alloc());
    let (mut unread, mut read, mut total) = (packed.len(), 0, 0);
    let mut piece = [0; PIECE];
    loop {
        let (mut room, mut count) = (PIECE, 0);
        let result = BrotliDecompressStream(
            &mut unread,
            &mut read,
            packed,
            &mut room,
            &mut count,
            &mut piece,
            &mut total,
            &mut state,
        );
        target.push(&piece[..count])?;
        match result {
            BrotliResult::ResultSuccess if unread == 0 => return Ok(()),
            BrotliResult::NeedsMoreOutput => {}
            _ => return Err(CORRUPT),
        }
    }
}
