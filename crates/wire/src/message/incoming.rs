//! Finds whole messages in the input of a connection.

use bytes::{Bytes, BytesMut};

use super::{Compression, HEADER_LEN, Header, ProtocolError};

/// A whole message. Its header is checked, its body is not.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// All its bytes, header included.
    pub bytes: Bytes,
}

impl Message {
    /// Takes the first message off the front of `input`, without copying it. Returns `None` if the message is
    /// incomplete.
    ///
    /// The header is checked as soon as it is complete, so that a bad or oversized message is refused before its body
    /// arrives.
    ///
    /// A compressed message is returned unchanged: see [`Message::is_compressed`].
    ///
    /// # Errors
    /// [`ProtocolError`], fatal for the connection.
    pub fn split(input: &mut BytesMut, size_max: usize) -> Result<Option<Self>, ProtocolError> {
        let Some(header) = input.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Header::decode(header, size_max)?;
        if input.len() < header.size {
            return Ok(None);
        }
        Ok(Some(Self {
            header,
            bytes: input.split_to(header.size).freeze(),
        }))
    }

    /// Returns true if a [`Decompressor`](crate::compression::Decompressor) must decompress it first.
    pub fn is_compressed(&self) -> bool {
        Compression::of_message(self.header.compression).is_some()
    }

    /// How many bytes `input` must have before the next message is complete.
    pub fn needed(input: &[u8], size_max: usize) -> usize {
        input
            .first_chunk::<HEADER_LEN>()
            .and_then(|header| Header::decode(header, size_max).ok())
            .map_or(HEADER_LEN, |header| header.size)
    }
}
