//! zstd: one whole frame in each message.

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::decompressor::{PIECE, PlainBody};
use crate::message::{Compression, CompressionError};

/// The library's own default.
const LEVEL: i32 = 3;
/// How far back a frame may refer: 8 MiB, the most that this level uses.
const WINDOW_LOG_MAX: u32 = 23;

/// Compresses the body as one frame.
pub(super) fn pack(body: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::compress(body, LEVEL).ok()
}

/// Decompresses the only frame of a body with this compression.
pub(super) fn unpack(
    packed: &[u8],
    target: &mut PlainBody<'_>,
    compression: Compression,
) -> Result<(), CompressionError> {
    let corrupt = |_| CompressionError::Corrupt(compression);
    let mut decoder = Decoder::new().map_err(corrupt)?;
    let window = DParameter::WindowLogMax(WINDOW_LOG_MAX);
    decoder.set_parameter(window).map_err(corrupt)?;
    let is_whole = run(&mut decoder, packed, target, compression)?;
    match is_whole {
        true => Ok(()),
        false => Err(CompressionError::Corrupt(compression)),
    }
}

/// Decodes all of `packed`. Returns whether a frame ended with it.
pub(super) fn run(
    decoder: &mut Decoder<'_>,
    packed: &[u8],
    target: &mut PlainBody<'_>,
    compression: Compression,
) -> Result<bool, CompressionError> {
    let mut input = InBuffer::around(packed);
    let mut piece = [0; PIECE];
    loop {
        let mut output = OutBuffer::around(&mut piece[..]);
        let step = decoder.run(&mut input, &mut output);
        let hint = step.map_err(|_| CompressionError::Corrupt(compression))?;
        let count = output.pos();
        target.push(&piece[..count])?;
        let is_all_read = input.pos() == packed.len();
        // If a piece is not full, there is no more output.
        if is_all_read && count < PIECE {
            return Ok(hint == 0);
        }
        if hint == 0 {
            // The frame has ended, and nothing may follow it.
            return match is_all_read {
                true => Ok(true),
                false => Err(CompressionError::Corrupt(compression)),
            };
        }
    }
}
