//! Failures that the peer's runtime reports.

use std::fmt;

use crate::encoding::{Decode, DecodeError, DecodeErrorKind, Decoder, Encode, Encoder, Printable};
use crate::reference::{Identity, decode_facet, encode_facet};

/// The reply of the peer's runtime, if it did not run the operation, or if the operation failed.
///
/// Source: Ice manual, "Protocol Messages". Vectors: `tests/vectors/replies.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemException {
    /// No object has this identity (status 2).
    ObjectNotExist(RequestFailed),
    /// The object has no such facet (status 3).
    FacetNotExist(RequestFailed),
    /// The object has no such operation (status 4).
    OperationNotExist(RequestFailed),
    /// The runtime of the server failed, for example to decode the parameters (status 5).
    UnknownLocalException(String),
    /// The servant threw an exception that the operation does not declare (status 6).
    UnknownUserException(String),
    /// The servant failed in another way (status 7).
    UnknownException(String),
    /// Another status. Only Ice 3.8 defines values above 7.
    Other {
        /// The status, 8 or above.
        status: u8,
        /// The message from the server.
        message: String,
    },
}

/// The target of a request that was not found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RequestFailed {
    /// The object.
    pub identity: Identity,
    /// The facet; empty for the default facet.
    pub facet: String,
    /// The operation.
    pub operation: String,
}

impl RequestFailed {
    /// Fills empty fields from `other`, so that a servant need not repeat what its request says.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        if self.identity.name.is_empty() {
            self.identity.clone_from(&other.identity);
            if self.facet.is_empty() {
                self.facet.clone_from(&other.facet);
            }
        }
        if self.operation.is_empty() {
            self.operation.clone_from(&other.operation);
        }
        self
    }
}

impl SystemException {
    /// The status byte of the reply.
    pub fn status(&self) -> u8 {
        match self {
            Self::ObjectNotExist(_) => 2,
            Self::FacetNotExist(_) => 3,
            Self::OperationNotExist(_) => 4,
            Self::UnknownLocalException(_) => 5,
            Self::UnknownUserException(_) => 6,
            Self::UnknownException(_) => 7,
            Self::Other { status, .. } => *status,
        }
    }

    /// Fills fields that a servant left empty with the target of its request.
    #[must_use]
    pub fn with_target(self, target: &RequestFailed) -> Self {
        match self {
            Self::ObjectNotExist(failed) => Self::ObjectNotExist(failed.or(target)),
            Self::FacetNotExist(failed) => Self::FacetNotExist(failed.or(target)),
            Self::OperationNotExist(failed) => Self::OperationNotExist(failed.or(target)),
            other => other,
        }
    }

    pub(super) fn encode_body(&self, encoder: &mut Encoder<'_>) {
        match self {
            Self::ObjectNotExist(failed)
            | Self::FacetNotExist(failed)
            | Self::OperationNotExist(failed) => failed.encode(encoder),
            Self::UnknownLocalException(message)
            | Self::UnknownUserException(message)
            | Self::UnknownException(message)
            | Self::Other { message, .. } => encoder.string(message),
        }
    }

    pub(super) fn decode_body(status: u8, decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(match status {
            2 => Self::ObjectNotExist(decoder.get()?),
            3 => Self::FacetNotExist(decoder.get()?),
            4 => Self::OperationNotExist(decoder.get()?),
            5 => Self::UnknownLocalException(text(decoder)?),
            6 => Self::UnknownUserException(text(decoder)?),
            7 => Self::UnknownException(text(decoder)?),
            _ => Self::Other {
                status,
                message: text(decoder)?,
            },
        })
    }
}

/// Reads a text of the peer's runtime, which a person reads. A text that is not UTF-8 says more than an error about it.
fn text(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
    let len = decoder.size("message")?;
    let bytes = decoder.bytes(len, "message")?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// A decoding failure in a servant's parameters is reported as status 5.
/// The text of an unsupported encoding begins with Ice's name for it, by which callers of Ice know it.
///
/// Source: observed, Ice 3.7.
impl From<DecodeError> for SystemException {
    fn from(error: DecodeError) -> Self {
        Self::UnknownLocalException(match &error.kind {
            DecodeErrorKind::UnsupportedEncoding(_) => {
                format!("::Ice::UnsupportedEncodingException: {error}")
            }
            _ => error.to_string(),
        })
    }
}

impl Encode for RequestFailed {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.identity.encode(encoder);
        encode_facet(&self.facet, encoder);
        encoder.string(&self.operation);
    }
}

impl Decode for RequestFailed {
    const MIN_WIRE_LEN: usize = 4;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            identity: decoder.get()?,
            facet: decode_facet(decoder)?.to_owned(),
            operation: decoder.get()?,
        })
    }
}

impl fmt::Display for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ObjectNotExist(failed) => write!(f, "object does not exist: {failed}"),
            Self::FacetNotExist(failed) => write!(f, "facet does not exist: {failed}"),
            Self::OperationNotExist(failed) => write!(f, "operation does not exist: {failed}"),
            Self::UnknownLocalException(message) => write!(f, "the server failed: {message}"),
            Self::UnknownUserException(message) => {
                write!(
                    f,
                    "the server threw an exception that the operation does not declare: {message}"
                )
            }
            Self::UnknownException(message) => write!(f, "the servant failed: {message}"),
            Self::Other { status, message } => {
                write!(f, "the server answered with status {status}: {message}")
            }
        }
    }
}

impl fmt::Display for RequestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "identity \"")?;
        if !self.identity.category.is_empty() {
            write!(f, "{}/", Printable(&self.identity.category))?;
        }
        write!(f, "{}\"", Printable(&self.identity.name))?;
        if !self.facet.is_empty() {
            write!(f, ", facet \"{}\"", Printable(&self.facet))?;
        }
        write!(f, ", operation \"{}\"", Printable(&self.operation))
    }
}

impl std::error::Error for SystemException {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::EncodingVersion;

    #[test]
    fn too_many_facets_are_reported_where_their_number_stands() {
        let bytes = [1, b'n', 0, 2, 1, b'a', 1, b'b', 0];
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_0);
        let error = decoder.get::<RequestFailed>().expect_err("two facets");
        assert_eq!(error.offset, 3);
    }

    #[test]
    fn names_of_a_peer_bring_no_control_characters_into_a_text() {
        let failed = RequestFailed {
            identity: Identity::with_category("n\n", "c\u{1b}"),
            facet: "f\r".to_owned(),
            operation: "o\u{7}".to_owned(),
        };
        let text = SystemException::ObjectNotExist(failed).to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}
