//! Replies.

use bytes::Bytes;

use super::header::encode_message;
use super::{AddressingMode, Body, Message, MessageType, RequestId, ServiceContext};
use crate::cdr::{DecodeError, DecodeErrorKind, EncodeError, Encoder, Format, Version};
use crate::reference::Ior;
use crate::system_exception::SystemException;

/// The kinds of reply; their numbers are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReplyStatus {
    NoException,
    UserException,
    SystemException,
    LocationForward,
    /// From GIOP 1.2 on.
    LocationForwardPerm,
    /// From GIOP 1.2 on.
    NeedsAddressingMode,
}

impl ReplyStatus {
    const ALL: [Self; 6] = [
        Self::NoException,
        Self::UserException,
        Self::SystemException,
        Self::LocationForward,
        Self::LocationForwardPerm,
        Self::NeedsAddressingMode,
    ];
}

/// A reply that came.
///
/// ```text
/// 1.0, 1.1  | contexts | id | status | results |
/// 1.2       | id | status | contexts | gap to 8 | results |
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The number of its request.
    pub id: RequestId,
    /// Its kind.
    pub status: ReplyStatus,
    /// Service contexts.
    pub contexts: Vec<ServiceContext>,
    /// Results, an exception or a reference, as its kind says.
    pub body: Body,
}

/// The meaning of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The results: the return value, then `out` and `inout` parameters.
    Results(Body),
    /// An exception of the contract.
    UserException {
        /// Its repository id.
        id: String,
        /// The repository id and the members, as a value of its TypeCode is encoded.
        body: Body,
    },
    /// An exception that every operation may raise.
    SystemException(SystemException),
    /// Send the request to this object instead. If `is_permanent`, forget the old reference.
    Forward {
        /// The object.
        reference: Ior,
        /// True if this will stay so.
        is_permanent: bool,
    },
    /// Send the request again with a target of this kind.
    NeedsAddressingMode(AddressingMode),
}

impl Reply {
    /// Reads a reply.
    ///
    /// # Errors
    /// [`DecodeError`]. The connection cannot go on, because the id may be wrong.
    pub fn decode(message: &Message) -> Result<Self, DecodeError> {
        let mut decoder = message.decoder();
        let is_1_2 = message.header.version == Version::V1_2;
        let mut contexts = Vec::new();
        if !is_1_2 {
            contexts = ServiceContext::decode_list(&mut decoder)?;
        }
        let id = RequestId(decoder.ulong("id of a reply")?);
        let here = decoder.clone();
        let number = decoder.ulong("status of a reply")?;
        let known = if is_1_2 {
            &ReplyStatus::ALL[..]
        } else {
            &ReplyStatus::ALL[..4]
        };
        let status = usize::try_from(number).ok().and_then(|at| known.get(at));
        let status = *status.ok_or_else(|| {
            let kind = DecodeErrorKind::InvalidValue(number.into());
            here.error("status of a reply", kind)
        })?;
        if is_1_2 {
            contexts = ServiceContext::decode_list(&mut decoder)?;
        }
        let body = Body::decode(message, decoder, true)?;
        Ok(Self {
            id,
            status,
            contexts,
            body,
        })
    }

    /// Reads what the reply means.
    ///
    /// # Errors
    /// [`DecodeError`]: the client raises MARSHAL.
    pub fn outcome(self) -> Result<Outcome, DecodeError> {
        let mut decoder = self.body.decoder();
        Ok(match self.status {
            ReplyStatus::NoException => Outcome::Results(self.body),
            ReplyStatus::UserException => Outcome::UserException {
                id: decoder.name("repository id of a user exception")?,
                body: self.body,
            },
            ReplyStatus::SystemException => {
                Outcome::SystemException(SystemException::decode(&mut decoder)?)
            }
            ReplyStatus::LocationForward | ReplyStatus::LocationForwardPerm => Outcome::Forward {
                reference: Ior::decode(&mut decoder)?,
                is_permanent: self.status == ReplyStatus::LocationForwardPerm,
            },
            ReplyStatus::NeedsAddressingMode => {
                Outcome::NeedsAddressingMode(AddressingMode::decode(&mut decoder)?)
            }
        })
    }
}

/// All of a reply but its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyHead {
    /// The number of its request.
    pub id: RequestId,
    /// Its kind.
    pub status: ReplyStatus,
    /// Service contexts.
    pub contexts: Vec<ServiceContext>,
}

impl ReplyHead {
    /// The bytes of a reply, of which `write` appends the results. `format` has the version of the request.
    ///
    /// # Errors
    /// [`EncodeError`]; those of `write`.
    pub fn encode(
        &self,
        format: Format,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<Bytes, EncodeError> {
        let is_1_2 = format.version == Version::V1_2;
        if !is_1_2 && self.status as u32 > ReplyStatus::LocationForward as u32 {
            return Err(EncodeError::NotInVersion("this status of a reply"));
        }
        encode_message(MessageType::Reply, format, |encoder| {
            if !is_1_2 {
                ServiceContext::encode_list(&self.contexts, encoder)?;
            }
            encoder.ulong(self.id.0);
            encoder.ulong(self.status as u32);
            if is_1_2 {
                ServiceContext::encode_list(&self.contexts, encoder)?;
            }
            Body::encode(encoder, write)
        })
    }
}
