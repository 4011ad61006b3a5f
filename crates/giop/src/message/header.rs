//! The header of each message, and whole messages off a stream.

use std::fmt;

use bytes::{Bytes, BytesMut};

use super::ProtocolError;
use crate::cdr::{Decoder, EncodeError, Encoder, Endian, Format, Version};

/// The number of bytes of a header.
pub const HEADER_LEN: usize = 12;

/// The limit on the length of a message that a program has if it sets none: events are small, and a peer that announces
/// more should not make a server wait for it.
pub const MESSAGE_LEN_MAX_DEFAULT: usize = 16 << 20;

const MAGIC: [u8; 4] = *b"GIOP";

/// The kinds of message; their numbers are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MessageType {
    Request,
    Reply,
    CancelRequest,
    LocateRequest,
    LocateReply,
    CloseConnection,
    MessageError,
    Fragment,
}

impl MessageType {
    const ALL: [Self; 8] = [
        Self::Request,
        Self::Reply,
        Self::CancelRequest,
        Self::LocateRequest,
        Self::LocateReply,
        Self::CloseConnection,
        Self::MessageError,
        Self::Fragment,
    ];
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?} message")
    }
}

/// The header of a message: 12 bytes.
///
/// ```text
/// 0       4       5       6       7      8        12
/// | magic | major | minor | flags | type | length |
/// ```
///
/// Bit 0 of the flags is the byte order, of the length too. Bit 1 says from 1.1 on that fragments follow. The length
/// does not count the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The version of GIOP.
    pub version: Version,
    /// The byte order of the message.
    pub endian: Endian,
    /// True if fragments of this message follow.
    pub has_more: bool,
    /// The kind of message.
    pub message_type: MessageType,
    /// The number of bytes that follow the header.
    pub body_len: u32,
}

impl Header {
    /// Reads the header at the start of a stream. `None` if it is not complete, and what there is may be one.
    ///
    /// # Errors
    /// [`ProtocolError`] if it is none.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, ProtocolError> {
        let seen = &bytes[..bytes.len().min(4)];
        if !MAGIC.starts_with(seen) {
            let mut magic = [0; 4];
            magic[..seen.len()].copy_from_slice(seen);
            return Err(ProtocolError::BadMagic(magic));
        }
        let Some(&[_, _, _, _, major, minor, flags, kind, a, b, c, d]) =
            bytes.first_chunk::<HEADER_LEN>()
        else {
            return Ok(None);
        };
        let version =
            Version::new(major, minor).ok_or(ProtocolError::UnsupportedVersion { major, minor })?;
        let message_type = MessageType::ALL.get(usize::from(kind));
        let message_type = *message_type.ok_or(ProtocolError::UnknownType(kind))?;
        if message_type == MessageType::Fragment && version == Version::V1_0 {
            return Err(ProtocolError::UnknownType(kind));
        }
        let endian = Endian::from_flag(flags & 1 == 1);
        let body_len = match endian {
            Endian::Big => u32::from_be_bytes([a, b, c, d]),
            Endian::Little => u32::from_le_bytes([a, b, c, d]),
        };
        Ok(Some(Self {
            version,
            endian,
            has_more: version > Version::V1_0 && flags & 2 == 2,
            message_type,
            body_len,
        }))
    }

    /// The bytes of the header.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, d] = match self.endian {
            Endian::Big => self.body_len.to_be_bytes(),
            Endian::Little => self.body_len.to_le_bytes(),
        };
        let flags = u8::from(self.endian.flag()) | u8::from(self.has_more) << 1;
        let [m0, m1, m2, m3] = MAGIC;
        let kind = self.message_type as u8;
        [
            m0,
            m1,
            m2,
            m3,
            1,
            self.version.minor(),
            flags,
            kind,
            a,
            b,
            c,
            d,
        ]
    }
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// Its bytes, with the header.
    pub bytes: Bytes,
}

impl Message {
    /// Takes a whole message off the start of a stream. `None` if it is not complete.
    ///
    /// # Errors
    /// [`ProtocolError`] if the stream goes on with something else, or with a message longer than `len_max`. This is
    /// found as soon as its header has come.
    pub fn split(stream: &mut BytesMut, len_max: usize) -> Result<Option<Self>, ProtocolError> {
        let Some(header) = Header::decode(stream)? else {
            return Ok(None);
        };
        let len = HEADER_LEN as u64 + u64::from(header.body_len);
        if len > len_max as u64 {
            return Err(ProtocolError::TooLong { len, max: len_max });
        }
        // It is not above `len_max`, which is a usize.
        let len = len as usize;
        Ok((stream.len() >= len).then(|| Self {
            header,
            bytes: stream.split_to(len).freeze(),
        }))
    }

    /// A decoder over what follows the header, with the code sets of a connection that has negotiated none.
    pub(crate) fn decoder(&self) -> Decoder<'_> {
        let format = Format::plain(self.header.version, self.header.endian);
        Decoder::at(&self.bytes[HEADER_LEN..], HEADER_LEN, format)
    }
}

/// The bytes of a message, of which `write` appends what follows the header.
pub(super) fn encode_message(
    message_type: MessageType,
    format: Format,
    write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
) -> Result<Bytes, EncodeError> {
    let header = Header {
        version: format.version,
        endian: format.endian,
        has_more: false,
        message_type,
        body_len: 0,
    };
    let mut encoder = Encoder::new(format);
    encoder.octets(&header.to_bytes());
    write(&mut encoder)?;
    let len = encoder.len() - HEADER_LEN;
    let what = "message";
    let body_len = u32::try_from(len).map_err(|_| EncodeError::TooLong { what, len })?;
    encoder.patch_ulong(HEADER_LEN - 4, body_len);
    Ok(encoder.into_bytes().into())
}
