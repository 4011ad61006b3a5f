//! bzip2, as Ice uses it: one whole stream in each message.

use bzip2::{Action, Compress, Compression as Level, Decompress, Status};

use super::decompressor::{PIECE, PlainBody};
use crate::message::{Compression, CompressionError};

/// Compresses the body as one bzip2 stream. `level` is clamped to 1 to 9.
pub(super) fn pack(body: &[u8], level: u32) -> Option<Vec<u8>> {
    let mut stream = Compress::new(Level::new(level.clamp(1, 9)), 0);
    // A result that is not smaller is not used, so this is enough room.
    let mut packed = Vec::with_capacity(body.len());
    match stream.compress_vec(body, &mut packed, Action::Finish) {
        Ok(Status::StreamEnd) => Some(packed),
        _ => None,
    }
}

pub(super) fn unpack(packed: &[u8], target: &mut PlainBody<'_>) -> Result<(), CompressionError> {
    const CORRUPT: CompressionError = CompressionError::Corrupt(Compression::Bzip2);
    let mut stream = Decompress::new(false);
    let mut piece = [0; PIECE];
    loop {
        let (read, made) = (stream.total_in(), stream.total_out());
        let rest = &packed[read as usize..];
        let status = stream.decompress(rest, &mut piece).map_err(|_| CORRUPT)?;
        let count = (stream.total_out() - made) as usize;
        target.push(&piece[..count])?;
        match status {
            // Bytes after the stream are ignored, as in any message. Source: observed, Ice 3.7.8.
            Status::StreamEnd => return Ok(()),
            _ if count == 0 && stream.total_in() == read => return Err(CORRUPT),
            _ => {}
        }
    }
}
