//! The header that every message starts with.

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder};
use crate::guid::{GuidPrefix, VendorId};

/// The length of a header in bytes.
pub const HEADER_LEN: usize = 20;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    /// 2.
    pub major: u8,
    /// 1 to 5, so far.
    pub minor: u8,
}

impl ProtocolVersion {
    /// The version that we write: all that we send is in it, and older peers take it.
    pub const OURS: Self = Self { major: 2, minor: 2 };
}

/// Says who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The version of the protocol.
    pub version: ProtocolVersion,
    /// The implementation of the sender.
    pub vendor: VendorId,
    /// The participant that sends.
    pub prefix: GuidPrefix,
}

impl Header {
    /// A header of ours.
    pub fn ours(prefix: GuidPrefix) -> Self {
        Self {
            version: ProtocolVersion::OURS,
            vendor: VendorId::UNKNOWN,
            prefix,
        }
    }

    /// Takes the header off a message; returns it with the submessages.
    ///
    /// # Errors
    /// If it is no message of RTPS 2.
    pub fn split(message: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut from = Decoder::new(message, ByteOrder::Big);
        if from.array::<4>("header")? != *MAGIC {
            return Err(
                Decoder::new(message, ByteOrder::Big).error("header", DecodeErrorKind::NotRtps)
            );
        }
        let [major, minor] = from.array("protocol version")?;
        if major != ProtocolVersion::OURS.major {
            let kind = DecodeErrorKind::UnsupportedVersion(major, minor);
            return Err(from.error("protocol version", kind));
        }
        let header = Self {
            version: ProtocolVersion { major, minor },
            vendor: VendorId(from.array("vendor id")?),
            prefix: GuidPrefix(from.array("guid prefix")?),
        };
        Ok((header, from.rest()))
    }

    /// Appends the header.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[self.version.major, self.version.minor]);
        bytes.extend_from_slice(&self.vendor.0);
        bytes.extend_from_slice(&self.prefix.0);
    }
}

const MAGIC: &[u8; 4] = b"RTPS";
