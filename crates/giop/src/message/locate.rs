//! Asking where an object is.

use bytes::Bytes;

use super::header::encode_message;
use super::{AddressingMode, Body, Message, MessageType, RequestId, Target};
use crate::cdr::{DecodeError, DecodeErrorKind, EncodeError, Format, Version};
use crate::reference::Ior;
use crate::system_exception::SystemException;

/// A question for an object.
///
/// ```text
/// | id | target |
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocateRequest {
    /// Its number.
    pub id: RequestId,
    /// The object.
    pub target: Target,
}

impl LocateRequest {
    /// Reads the question.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(message: &Message) -> Result<Self, DecodeError> {
        let mut decoder = message.decoder();
        Ok(Self {
            id: RequestId(decoder.ulong("id of a LocateRequest")?),
            target: Target::decode(&mut decoder)?,
        })
    }

    /// The bytes of the question.
    ///
    /// # Errors
    /// [`EncodeError`].
    pub fn encode(&self, format: Format) -> Result<Bytes, EncodeError> {
        encode_message(MessageType::LocateRequest, format, |encoder| {
            encoder.ulong(self.id.0);
            self.target.encode(encoder)
        })
    }
}

/// The answer to a LocateRequest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocateStatus {
    /// There is no such object.
    UnknownObject,
    /// It is here: requests may be sent.
    ObjectHere,
    /// Send requests to this object instead.
    Forward {
        /// The object.
        reference: Ior,
        /// True if this will stay so; from GIOP 1.2 on.
        is_permanent: bool,
    },
    /// The server failed; from GIOP 1.2 on.
    SystemException(SystemException),
    /// Ask again with a target of this kind; from GIOP 1.2 on.
    NeedsAddressingMode(AddressingMode),
}

/// An answer that came.
///
/// ```text
/// | id | status | reference, exception or mode, without a gap |
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocateReply {
    /// The number of its LocateRequest.
    pub id: RequestId,
    number: u32,
    body: Body,
}

impl LocateReply {
    /// Reads the id and the status.
    ///
    /// # Errors
    /// [`DecodeError`]. The connection cannot go on.
    pub fn decode(message: &Message) -> Result<Self, DecodeError> {
        let mut decoder = message.decoder();
        let id = RequestId(decoder.ulong("id of a LocateReply")?);
        let here = decoder.clone();
        let number = decoder.ulong("status of a LocateReply")?;
        let max = if message.header.version == Version::V1_2 {
            5
        } else {
            2
        };
        if number > max {
            let kind = DecodeErrorKind::InvalidValue(number.into());
            return Err(here.error("status of a LocateReply", kind));
        }
        let body = Body::decode(message, decoder, false)?;
        Ok(Self { id, number, body })
    }

    /// Reads what the answer means.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn status(&self) -> Result<LocateStatus, DecodeError> {
        let mut decoder = self.body.decoder();
        Ok(match self.number {
            0 => LocateStatus::UnknownObject,
            1 => LocateStatus::ObjectHere,
            2 | 3 => LocateStatus::Forward {
                reference: Ior::decode(&mut decoder)?,
                is_permanent: self.number == 3,
            },
            4 => LocateStatus::SystemException(SystemException::decode(&mut decoder)?),
            _ => LocateStatus::NeedsAddressingMode(AddressingMode::decode(&mut decoder)?),
        })
    }
}

/// The bytes of an answer.
///
/// # Errors
/// [`EncodeError`].
pub fn encode_locate_reply(
    id: RequestId,
    status: &LocateStatus,
    format: Format,
) -> Result<Bytes, EncodeError> {
    let number = match status {
        LocateStatus::UnknownObject => 0,
        LocateStatus::ObjectHere => 1,
        LocateStatus::Forward {
            is_permanent: false,
            ..
        } => 2,
        LocateStatus::Forward { .. } => 3,
        LocateStatus::SystemException(_) => 4,
        LocateStatus::NeedsAddressingMode(_) => 5,
    };
    if number > 2 && format.version < Version::V1_2 {
        return Err(EncodeError::NotInVersion("this status of a LocateReply"));
    }
    encode_message(MessageType::LocateReply, format, |encoder| {
        encoder.ulong(id.0);
        encoder.ulong(number);
        match status {
            LocateStatus::UnknownObject | LocateStatus::ObjectHere => Ok(()),
            LocateStatus::Forward { reference, .. } => reference.encode(encoder),
            LocateStatus::SystemException(exception) => exception.encode(encoder),
            LocateStatus::NeedsAddressingMode(mode) => {
                mode.encode(encoder);
                Ok(())
            }
        }
    })
}
