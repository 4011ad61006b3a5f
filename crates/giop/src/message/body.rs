//! The arguments of a request, or the results of a reply.

use bytes::Bytes;

use super::Message;
use crate::cdr::{CodeSets, DecodeError, Decoder, EncodeError, Encoder, Format, Version};

/// Encoded arguments or results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The bytes.
    pub bytes: Bytes,
    /// The offset of the first byte in its message.
    pub offset: usize,
    /// How they are to be read.
    pub format: Format,
}

impl Body {
    /// A decoder over the bytes.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::at(&self.bytes, self.offset, self.format)
    }

    /// Sets the code sets of the connection, which the message does not say.
    pub(crate) fn set_code_sets(&mut self, code_sets: CodeSets) {
        self.format.code_sets = code_sets;
    }

    /// Takes all that the decoder has left of a message. From 1.2 on the body of a Request or a Reply is aligned to 8,
    /// if there is one.
    pub(super) fn decode(
        message: &Message,
        mut decoder: Decoder<'_>,
        is_aligned: bool,
    ) -> Result<Self, DecodeError> {
        let format = decoder.format();
        if is_aligned && format.version == Version::V1_2 && decoder.remaining() > 0 {
            decoder.align(8, "body")?;
        }
        let offset = decoder.offset();
        Ok(Self {
            bytes: message.bytes.slice(offset..),
            offset,
            format,
        })
    }

    /// Appends a body. Nothing is appended if `write` appends nothing.
    pub(super) fn encode(
        encoder: &mut Encoder,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let end = encoder.len();
        if encoder.format().version == Version::V1_2 {
            encoder.align(8);
        }
        let start = encoder.len();
        write(encoder)?;
        if encoder.len() == start {
            encoder.truncate(end);
        }
        Ok(())
    }
}
