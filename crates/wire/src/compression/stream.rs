//! One zstd stream for each direction of a connection. It is flushed with each message, and each message can refer to
//! earlier ones.

use std::fmt;

use zstd::stream::raw::{self, CParameter, DParameter, InBuffer, Operation, OutBuffer};

use super::decompressor::{PIECE, PlainBody};
use super::stream_limit::StreamPermit;
use crate::message::{Compression, CompressionError};

/// The library's own default.
const LEVEL: i32 = 3;
/// How far back a message may refer: 1 MiB. This limits the memory at both ends to about 3 MiB for each direction.
const WINDOW_LOG: u32 = 20;

/// The sending end.
pub(super) struct StreamEncoder {
    encoder: raw::Encoder<'static>,
    /// The stream in the limit of all of them, if there is a limit.
    _permit: Option<StreamPermit>,
}

impl StreamEncoder {
    pub(super) fn new(permit: Option<StreamPermit>) -> Option<Self> {
        let mut encoder = raw::Encoder::new(LEVEL).ok()?;
        encoder
            .set_parameter(CParameter::WindowLog(WINDOW_LOG))
            .ok()?;
        Some(Self {
            encoder,
            _permit: permit,
        })
    }

    /// Compresses a body against all earlier ones.
    pub(super) fn pack(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        let mut piece = [0; PIECE];
        let mut input = InBuffer::around(body);
        loop {
            let mut output = OutBuffer::around(&mut piece[..]);
            let unsaid = match input.pos() < body.len() {
                true => self.encoder.run(&mut input, &mut output).map(|_| 1),
                false => self.encoder.flush(&mut output),
            };
            packed.extend_from_slice(output.as_slice());
            if unsaid.ok()? == 0 {
                return Some(packed);
            }
        }
    }
}

/// The receiving end.
pub(super) struct StreamDecoder {
    decoder: raw::Decoder<'static>,
    /// The stream in the limit of all of them, if there is a limit.
    _permit: Option<StreamPermit>,
}

impl StreamDecoder {
    pub(super) fn new(permit: Option<StreamPermit>) -> Option<Self> {
        let mut decoder = raw::Decoder::new().ok()?;
        decoder
            .set_parameter(DParameter::WindowLogMax(WINDOW_LOG))
            .ok()?;
        Some(Self {
            decoder,
            _permit: permit,
        })
    }

    pub(super) fn unpack(
        &mut self,
        packed: &[u8],
        target: &mut PlainBody<'_>,
    ) -> Result<(), CompressionError> {
        let has_ended =
            super::zstd::run(&mut self.decoder, packed, target, Compression::ZstdStream)?;
        match has_ended {
            // The stream does not end before the connection.
            true => Err(CompressionError::Corrupt(Compression::ZstdStream)),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for StreamEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamEncoder")
    }
}

impl fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamDecoder")
    }
}
