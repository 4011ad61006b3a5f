//! Messages about other messages: CancelRequest, CloseConnection, MessageError.

use bytes::Bytes;

use super::header::encode_message;
use super::{HEADER_LEN, Header, Message, MessageType, RequestId};
use crate::cdr::{DecodeError, EncodeError, Endian, Format, Version};

/// The client waits no longer for the reply to a request.
///
/// ```text
/// | id |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelRequest {
    /// The number of the request.
    pub id: RequestId,
}

impl CancelRequest {
    /// Reads the message.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(message: &Message) -> Result<Self, DecodeError> {
        let id = RequestId(message.decoder().ulong("id of a CancelRequest")?);
        Ok(Self { id })
    }

    /// The bytes of the message.
    ///
    /// # Errors
    /// None that can occur: it has a fixed length.
    pub fn encode(self, format: Format) -> Result<Bytes, EncodeError> {
        encode_message(MessageType::CancelRequest, format, |encoder| {
            encoder.ulong(self.id.0);
            Ok(())
        })
    }
}

/// The bytes of a message that says that no more requests are executed. Those without a reply were not.
pub fn encode_close_connection(version: Version, endian: Endian) -> Bytes {
    header_only(MessageType::CloseConnection, version, endian)
}

/// The bytes of a message that says that the peer broke the protocol.
pub fn encode_message_error(version: Version, endian: Endian) -> Bytes {
    header_only(MessageType::MessageError, version, endian)
}

fn header_only(message_type: MessageType, version: Version, endian: Endian) -> Bytes {
    let header = Header {
        version,
        endian,
        has_more: false,
        message_type,
        body_len: 0,
    };
    let bytes: [u8; HEADER_LEN] = header.to_bytes();
    Bytes::copy_from_slice(&bytes)
}
