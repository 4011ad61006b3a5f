//! zstd of a batch as columns, where that is smaller than zstd of the batch itself.
//!
//! ```text
//! | layout: 0 as it is, 1 as columns | zstd frame |
//! ```

use super::columns::{self, KINDS_IN_BYTE, RUNS_LEN_MAX};
use super::decompressor::PlainBody;
use super::zstd;
use crate::message::{Compression, CompressionError, HEADER_LEN, request_lens};

/// The frame has the body.
const AS_IT_IS: u8 = 0;
/// The frame has the form of the body that `columns.rs` describes.
const AS_COLUMNS: u8 = 1;

/// Compresses the body of a message.
pub(super) fn pack(message: &[u8]) -> Option<Vec<u8>> {
    let body = message.get(HEADER_LEN..)?;
    let plain = with_layout(AS_IT_IS, body)?;
    // A batch begins with the count of its requests.
    let lens = request_lens(message).map(|lens| [4].into_iter().chain(lens));
    let form = lens.and_then(|lens| columns::columns(body, lens));
    match form.and_then(|form| with_layout(AS_COLUMNS, &form)) {
        Some(columns) if columns.len() < plain.len() => Some(columns),
        _ => Some(plain),
    }
}

fn with_layout(layout: u8, content: &[u8]) -> Option<Vec<u8>> {
    let frame = zstd::pack(content)?;
    Some([&[layout][..], &frame].concat())
}

pub(super) fn unpack(packed: &[u8], target: &mut PlainBody<'_>) -> Result<(), CompressionError> {
    let corrupt = CompressionError::Corrupt(Compression::ZstdBatch);
    match packed.split_first() {
        Some((&AS_IT_IS, frame)) => zstd::unpack(frame, target, Compression::ZstdBatch),
        Some((&AS_COLUMNS, frame)) => {
            let body_len = target.remaining();
            let form_len_max = body_len + body_len / KINDS_IN_BYTE + RUNS_LEN_MAX;
            let mut form = Vec::new();
            let mut unpacked = PlainBody::new(&mut form, form_len_max);
            match zstd::unpack(frame, &mut unpacked, Compression::ZstdBatch) {
                Err(CompressionError::LongerThanClaimed { .. }) => {
                    return Err(CompressionError::LongerThanClaimed { claimed: body_len });
                }
                unpacked => unpacked?,
            }
            target.push(&columns::body(&form, body_len).ok_or(corrupt)?)
        }
        _ => Err(corrupt),
    }
}
