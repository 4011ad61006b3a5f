//! Messages in several pieces.
//!
//! A message with the flag in its header goes on in Fragment messages, up to one without the flag. In GIOP 1.2 a fragment
//! names the message to which it belongs, and fragments of several may be mixed:
//!
//! ```text
//! 1.1  | header | contents |
//! 1.2  | header | id | contents |
//! ```
//!
//! The contents are joined as they are: in GIOP 1.2 pieces have multiples of 8 bytes, so alignment goes on.
//!
//! Source: CORBA 3.0.3, 15.4.9.

use bytes::{Bytes, BytesMut};

use super::{HEADER_LEN, Header, Message, MessageType, ProtocolError, RequestId};
use crate::cdr::{EncodeError, Version};

/// The most messages in fragments at a time on one connection. Mixing any is rare.
pub const FRAGMENTED_MESSAGES_MAX: usize = 32;

/// Joins fragments.
#[derive(Debug, Default)]
pub struct Reassembly {
    open: Vec<Unfinished>,
    /// The bytes of all of them.
    len: usize,
}

#[derive(Debug)]
struct Unfinished {
    /// None in GIOP 1.1.
    id: Option<RequestId>,
    header: Header,
    bytes: BytesMut,
}

impl Reassembly {
    /// Takes a message of the stream. Returns a whole one, if it is one or the last piece of one.
    ///
    /// All unfinished messages together may have `len_max` bytes.
    ///
    /// # Errors
    /// [`ProtocolError`].
    pub fn handle(
        &mut self,
        message: Message,
        len_max: usize,
    ) -> Result<Option<Message>, ProtocolError> {
        let header = message.header;
        match header.message_type {
            MessageType::Fragment => self.handle_fragment(&message, len_max),
            _ if !header.has_more => Ok(Some(message)),
            _ => self.begin(&message, len_max).map(|()| None),
        }
    }

    /// Forgets the pieces of a message of which no others will come.
    pub fn cancel(&mut self, id: RequestId) {
        if let Some(at) = self.open.iter().position(|open| open.id == Some(id)) {
            self.remove(at);
        }
    }

    /// The bytes that unfinished messages take.
    pub fn buffered_len(&self) -> usize {
        self.len
    }

    fn remove(&mut self, at: usize) -> Unfinished {
        let removed = self.open.swap_remove(at);
        self.len -= removed.bytes.len();
        removed
    }

    fn begin(&mut self, message: &Message, len_max: usize) -> Result<(), ProtocolError> {
        use MessageType::{LocateReply, LocateRequest, Reply, Request};
        let header = message.header;
        let may_have_fragments = match header.message_type {
            Request | Reply => true,
            LocateRequest | LocateReply => header.version == Version::V1_2,
            _ => false,
        };
        if !may_have_fragments {
            let message = header.message_type;
            let expected = "no such message in fragments";
            return Err(ProtocolError::Unexpected { message, expected });
        }
        let id = match header.version {
            Version::V1_2 => Some(id_of(message)?),
            _ => None,
        };
        if self.open.len() >= FRAGMENTED_MESSAGES_MAX {
            return Err(ProtocolError::TooManyFragmented);
        }
        if let Some(id) = id.filter(|id| self.open.iter().any(|open| open.id == Some(*id))) {
            return Err(ProtocolError::DuplicateRequest(id));
        }
        if id.is_none() && self.open.iter().any(|open| open.id.is_none()) {
            let message = header.message_type;
            let expected = "the other fragments of the message before";
            return Err(ProtocolError::Unexpected { message, expected });
        }
        self.check_len(message.bytes.len(), len_max)?;
        self.len += message.bytes.len();
        self.open.push(Unfinished {
            id,
            header,
            bytes: BytesMut::from(&message.bytes[..]),
        });
        Ok(())
    }

    fn handle_fragment(
        &mut self,
        message: &Message,
        len_max: usize,
    ) -> Result<Option<Message>, ProtocolError> {
        let header = message.header;
        let (id, start) = match header.version {
            Version::V1_2 => (Some(id_of(message)?), HEADER_LEN + 4),
            _ => (None, HEADER_LEN),
        };
        let contents = &message.bytes[start..];
        let at = self.open.iter().position(|open| open.id == id);
        let at = at.ok_or(ProtocolError::UnknownFragment(id))?;
        if header.endian != self.open[at].header.endian {
            let message = header.message_type;
            let expected = "all fragments of a message in one byte order";
            return Err(ProtocolError::Unexpected { message, expected });
        }
        // Otherwise endless fragments would never reach the limit.
        if header.has_more && contents.is_empty() {
            return Err(ProtocolError::EmptyFragment);
        }
        self.check_len(contents.len(), len_max)?;
        self.len += contents.len();
        self.open[at].bytes.extend_from_slice(contents);
        if header.has_more {
            return Ok(None);
        }
        let mut whole = self.remove(at);
        // It is below `len_max`, and each piece had its length in 32 bits; a sum above that is a limit's mistake.
        let body_len = u32::try_from(whole.bytes.len() - HEADER_LEN);
        let header = Header {
            has_more: false,
            body_len: body_len.map_err(|_| ProtocolError::TooLong {
                len: whole.bytes.len() as u64,
                max: len_max,
            })?,
            ..whole.header
        };
        whole.bytes[..HEADER_LEN].copy_from_slice(&header.to_bytes());
        Ok(Some(Message {
            header,
            bytes: whole.bytes.freeze(),
        }))
    }

    fn check_len(&self, more: usize, max: usize) -> Result<(), ProtocolError> {
        let len = self.len as u64 + more as u64;
        match len > max as u64 {
            true => Err(ProtocolError::TooLong { len, max }),
            false => Ok(()),
        }
    }
}

/// In GIOP 1.2 each message that may be in pieces begins with its id.
fn id_of(message: &Message) -> Result<RequestId, ProtocolError> {
    let id = message.decoder().ulong("id of a message in fragments");
    id.map(RequestId).map_err(|error| ProtocolError::Malformed {
        message: message.header.message_type,
        error,
    })
}

/// Divides a message of GIOP 1.2 into pieces of at most `len_max` bytes, headers and all.
///
/// `len_max` is rounded down to a multiple of 8, and up to 24.
///
/// # Errors
/// [`EncodeError::NotInVersion`] in GIOP 1.0 and 1.1: alignment in the fragments of 1.1 is disputed.
pub fn fragments(message: &Message, len_max: usize) -> Result<Vec<Bytes>, EncodeError> {
    let header = message.header;
    if header.version < Version::V1_2 {
        return Err(EncodeError::NotInVersion("fragments"));
    }
    let piece_len = (len_max / 8 * 8).max(HEADER_LEN + 12);
    if message.bytes.len() <= piece_len || message.bytes.len() < HEADER_LEN + 4 {
        return Ok(vec![message.bytes.clone()]);
    }
    let id = &message.bytes[HEADER_LEN..HEADER_LEN + 4];
    let (first, mut rest) = message.bytes.split_at(piece_len);
    let mut pieces = vec![piece(
        header,
        header.message_type,
        true,
        &[],
        &first[HEADER_LEN..],
    )];
    while !rest.is_empty() {
        let (contents, others) = rest.split_at(rest.len().min(piece_len - HEADER_LEN - 4));
        let has_more = !others.is_empty();
        pieces.push(piece(header, MessageType::Fragment, has_more, id, contents));
        rest = others;
    }
    Ok(pieces)
}

fn piece(
    header: Header,
    message_type: MessageType,
    has_more: bool,
    id: &[u8],
    contents: &[u8],
) -> Bytes {
    let header = Header {
        message_type,
        has_more,
        // A part of a message, whose length is 32 bits.
        body_len: (id.len() + contents.len()) as u32,
        ..header
    };
    [&header.to_bytes()[..], id, contents].concat().into()
}
