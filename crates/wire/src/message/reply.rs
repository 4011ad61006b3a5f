//! Replies.

use bytes::{Buf, Bytes};

use super::header::{
    TYPE_POSITION, begin_message, end_encapsulated, end_message, header, take_off,
};
use super::{Compression, HEADER_LEN, Header, Message, MessageType, RequestId, SystemException};
use crate::encoding::{
    DecodeError, Decoder, ENCAPSULATION_HEADER_LEN, EncodeError, Encoder, EncodingVersion,
    ExceptionFormat, ExceptionWriter, Sink,
};

const STATUS_OK: u8 = 0;
const STATUS_USER_EXCEPTION: u8 = 1;
const STATUS_OBJECT_NOT_EXIST: u8 = 2;

/// How an invocation ended at the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The operation returned. Contains the encapsulation with its results.
    Returned(Bytes),
    /// The servant threw an exception declared in Slice. Contains the encapsulation with it.
    UserException(Bytes),
    /// The peer's runtime answered in place of the servant.
    System(SystemException),
}

/// A reply as it arrived.
#[derive(Debug, Clone)]
pub struct IncomingReply {
    id: RequestId,
    bytes: Bytes,
}

impl IncomingReply {
    /// Parses the id of a Reply message.
    ///
    /// # Errors
    /// [`DecodeError`], fatal for the connection.
    pub fn parse(message: &Message) -> Result<Self, DecodeError> {
        Self::from_message(message.clone())
    }

    /// Parses a message that is not needed afterwards.
    pub(crate) fn from_message(message: Message) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(&message.bytes, EncodingVersion::V1_0);
        decoder.bytes(HEADER_LEN, "header")?;
        let id = RequestId(decoder.int("request id")?);
        let bytes = message.bytes;
        Ok(Self { id, bytes })
    }

    /// The id and length of the Reply message at the front of `input`. Returns `None` if that is another message, or
    /// compressed, incomplete, longer than `size_max`, or malformed.
    #[inline]
    pub(crate) fn peek(input: &[u8], size_max: usize) -> Option<(RequestId, usize)> {
        // Requests seldom come together with replies, so this single check usually decides.
        if input.get(TYPE_POSITION) != Some(&(MessageType::Reply as u8)) {
            return None;
        }
        let header = Header::decode(input.first_chunk()?, size_max).ok()?;
        let [i0, i1, i2, i3, _status] = *input.get(HEADER_LEN..header.size)?.first_chunk()?;
        let is_plain = Compression::of_message(header.compression).is_none();
        is_plain.then_some((RequestId(i32::from_le_bytes([i0, i1, i2, i3])), header.size))
    }

    /// The id of the Reply message, if it is the whole input.
    #[inline]
    pub fn peek_single(input: &[u8], size_max: usize) -> Option<RequestId> {
        if input.len() <= size_max
            && let Some(start) = input.first_chunk::<SINGLE_LEN>()
            && start[..SIZE_POSITION] == RETURNED_NOTHING[..SIZE_POSITION]
        {
            // Nearly all of them begin like this.
            let [.., s0, s1, s2, s3, i0, i1, i2, i3, _status] = *start;
            let size = i32::from_le_bytes([s0, s1, s2, s3]);
            let is_single = usize::try_from(size) == Ok(input.len());
            return is_single.then_some(RequestId(i32::from_le_bytes([i0, i1, i2, i3])));
        }
        let (id, len) = Self::peek(input, size_max)?;
        (len == input.len()).then_some(id)
    }

    /// The reply in a message that was peeked at.
    #[inline]
    pub fn new(id: RequestId, bytes: Bytes) -> Self {
        Self { id, bytes }
    }

    /// A reply without results in this encoding. It holds none of the input; see [`all_returned_nothing`].
    #[inline]
    pub fn of_nothing(id: RequestId, encoding: EncodingVersion) -> Self {
        static NOTHING: [[u8; NOTHING_LEN]; 2] = [
            nothing_in(EncodingVersion::V1_0),
            nothing_in(EncodingVersion::V1_1),
        ];
        let message = &NOTHING[usize::from(encoding == EncodingVersion::V1_1)];
        Self::new(id, Bytes::from_static(message))
    }

    /// Returns true if the operation returned without results. Results in an unknown encoding count as results.
    #[inline]
    pub fn returned_nothing(&self) -> bool {
        returned_nothing(&self.bytes)
    }

    /// Returns true if the servant has answered: the operation returned, or threw a user exception. The data may still
    /// be malformed.
    pub fn is_of_servant(&self) -> bool {
        let status = self.bytes.get(HEADER_LEN + 4);
        matches!(status, Some(&(STATUS_OK | STATUS_USER_EXCEPTION)))
    }

    /// Returns true if the object does not exist at the peer.
    pub fn is_of_missing_object(&self) -> bool {
        self.bytes.get(HEADER_LEN + 4) == Some(&STATUS_OBJECT_NOT_EXIST)
    }

    /// The id of the request.
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// The result of the invocation. Bytes after its data are ignored.
    ///
    /// # Errors
    /// [`DecodeError`] if there is no status, or if the data does not match it. The invocation fails; the connection stays open.
    pub fn outcome(&self) -> Result<Outcome, DecodeError> {
        self.clone().into_outcome()
    }

    /// Takes the outcome out of a reply that is not needed afterwards.
    ///
    /// # Errors
    /// As [`IncomingReply::outcome`].
    pub fn into_outcome(mut self) -> Result<Outcome, DecodeError> {
        let mut decoder = Decoder::new(&self.bytes, EncodingVersion::V1_0);
        decoder.bytes(HEADER_LEN + 4, "reply")?;
        let status = decoder.byte("reply status")?;
        if status != STATUS_OK && status != STATUS_USER_EXCEPTION {
            let exception = SystemException::decode_body(status, &mut decoder)?;
            return Ok(Outcome::System(exception));
        }
        decoder.encapsulation()?;
        let end = decoder.position();
        self.bytes.truncate(end);
        self.bytes.advance(HEADER_LEN + 5);
        Ok(match status {
            STATUS_OK => Outcome::Returned(self.bytes),
            _ => Outcome::UserException(self.bytes),
        })
    }
}

/// The encapsulation with the results in a whole Reply message. Returns `None` if the operation did not return, or if
/// the results do not end where the message does.
#[inline]
pub fn returned(message: &[u8]) -> Option<&[u8]> {
    let [status, results @ ..] = message.get(HEADER_LEN + 4..)? else {
        return None;
    };
    let size = i32::from_le_bytes(*results.first_chunk()?);
    let is_whole = *status == STATUS_OK && usize::try_from(size) == Ok(results.len());
    is_whole.then_some(results)
}

/// Returns true if a whole Reply message says that the operation returned without results. Results in an unknown
/// encoding count as results.
#[inline]
pub fn returned_nothing(message: &[u8]) -> bool {
    <&[u8; NOTHING_LEN]>::try_from(message).is_ok_and(holds_nothing)
}

/// The ids of the requests that `input` answers, if it consists of whole Reply messages without results in one
/// encoding, of at most `size_max` bytes each.
#[inline]
pub fn all_returned_nothing(
    input: &[u8],
    size_max: usize,
) -> Option<impl ExactSizeIterator<Item = (RequestId, EncodingVersion)>> {
    let (replies, []) = input.as_chunks::<NOTHING_LEN>() else {
        return None;
    };
    let is_plain = |reply: &[u8; NOTHING_LEN]| {
        reply[..HEADER_LEN] == RETURNED_NOTHING[..HEADER_LEN] && holds_nothing(reply)
    };
    let are_plain = !replies.is_empty() && NOTHING_LEN <= size_max && replies.iter().all(is_plain);
    are_plain.then(|| {
        replies.iter().map(|reply| {
            let [.., i0, i1, i2, i3, _status, _, _, _, _, major, minor] = *reply;
            let id = RequestId(i32::from_le_bytes([i0, i1, i2, i3]));
            (id, EncodingVersion::new(major, minor))
        })
    })
}

/// Returns true if a message of the right length is a reply without results. Compares everything after the header.
#[inline]
fn holds_nothing(message: &[u8; NOTHING_LEN]) -> bool {
    let [.., status, s0, s1, s2, s3, major, minor] = *message;
    status == STATUS_OK
        && i32::from_le_bytes([s0, s1, s2, s3]) == ENCAPSULATION_HEADER_LEN as i32
        && EncodingVersion::new(major, minor).is_supported()
}

/// Returns true if `message` is a whole Reply message with a user exception.
pub fn is_user_exception(message: &[u8]) -> bool {
    message.get(HEADER_LEN + 4) == Some(&STATUS_USER_EXCEPTION)
}

/// Appends a Reply message with results. On error the buffer is unchanged.
///
/// # Errors
/// [`EncodeError`] if a result cannot be encoded.
pub fn write_returned(
    buffer: &mut impl Sink,
    id: RequestId,
    encoding: EncodingVersion,
    results: impl FnOnce(&mut Encoder<'_>),
) -> Result<(), EncodeError> {
    let mut head = nothing_in(encoding);
    head[HEADER_LEN..HEADER_LEN + 4].copy_from_slice(&id.0.to_le_bytes());
    let (bytes, _) = buffer.split();
    let start = bytes.len();
    bytes.extend_from_slice(&head);
    let mut encoder = Encoder::new(buffer, encoding);
    results(&mut encoder);
    let written = encoder.finish();
    let written = written.and_then(|()| end_encapsulated(buffer, start, NOTHING_LEN));
    if written.is_err() {
        take_off(buffer, start);
    }
    written
}

/// The beginning of a reply: header, request id, status.
const SINGLE_LEN: usize = HEADER_LEN + 5;
/// The position of the size.
const SIZE_POSITION: usize = HEADER_LEN - 4;

/// Length of a reply without results: header, request id, status, and an empty encapsulation.
const NOTHING_LEN: usize = HEADER_LEN + 5 + ENCAPSULATION_HEADER_LEN;

/// A reply without results; request id and encoding are still to be filled in.
const RETURNED_NOTHING: [u8; NOTHING_LEN] = {
    let mut message = [0; NOTHING_LEN];
    let header = header(MessageType::Reply, NOTHING_LEN as i32);
    let mut at = 0;
    while at < HEADER_LEN {
        message[at] = header[at];
        at += 1;
    }
    message[HEADER_LEN + 4] = STATUS_OK;
    message[HEADER_LEN + 5] = ENCAPSULATION_HEADER_LEN as u8;
    message
};

/// Returns the reply without results in this encoding.
#[inline]
const fn nothing_in(encoding: EncodingVersion) -> [u8; NOTHING_LEN] {
    let mut message = RETURNED_NOTHING;
    message[NOTHING_LEN - 2] = encoding.major;
    message[NOTHING_LEN - 1] = encoding.minor;
    message
}

/// Appends a Reply message with a user exception. On error the buffer is unchanged.
///
/// # Errors
/// [`EncodeError`] if a member cannot be encoded.
pub fn write_user_exception(
    buffer: &mut impl Sink,
    id: RequestId,
    encoding: EncodingVersion,
    format: ExceptionFormat,
    slices: impl FnOnce(&mut ExceptionWriter<'_, '_>),
) -> Result<(), EncodeError> {
    write(buffer, id, STATUS_USER_EXCEPTION, |encoder| {
        encoder.encapsulation(encoding, |encoder| {
            slices(&mut ExceptionWriter::new(encoder, format))
        });
    })
}

/// Appends a Reply message with data that is encoded already.
///
/// # Errors
/// [`EncodeError`] if a text is too long for its size.
pub fn write_outcome(
    buffer: &mut impl Sink,
    id: RequestId,
    outcome: &Outcome,
) -> Result<(), EncodeError> {
    match outcome {
        Outcome::Returned(bytes) => {
            write(buffer, id, STATUS_OK, |encoder| encoder.shared_bytes(bytes))
        }
        Outcome::UserException(bytes) => write(buffer, id, STATUS_USER_EXCEPTION, |encoder| {
            encoder.shared_bytes(bytes)
        }),
        Outcome::System(exception) => write(buffer, id, exception.status(), |encoder| {
            exception.encode_body(encoder)
        }),
    }
}

fn write(
    buffer: &mut impl Sink,
    id: RequestId,
    status: u8,
    data: impl FnOnce(&mut Encoder<'_>),
) -> Result<(), EncodeError> {
    let start = begin_message(buffer, MessageType::Reply);
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
    encoder.int(id.0);
    encoder.byte(status);
    data(&mut encoder);
    let written = encoder.finish().and_then(|()| end_message(buffer, start));
    if written.is_err() {
        take_off(buffer, start);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut message = Vec::new();
        write(&mut message);
        message
    }

    #[test]
    fn everything_after_the_status_is_results() {
        let encoding = EncodingVersion::V1_1;
        let whole = reply(|message| {
            write_returned(message, RequestId(7), encoding, |encoder| {
                encoder.put(&5i32)
            })
            .unwrap();
        });
        let results = [10, 0, 0, 0, 1, 1, 5, 0, 0, 0];
        assert_eq!(returned(&whole), Some(&results[..]));
        assert!(!returned_nothing(&whole));
        assert_eq!(returned(&whole[..whole.len() - 1]), None);
        assert_eq!(returned(&[&whole[..], &[0]].concat()), None);
        assert_eq!(returned(&whole[..HEADER_LEN + 4]), None);
        let mut failed = whole;
        failed[HEADER_LEN + 4] = STATUS_USER_EXCEPTION;
        assert_eq!(returned(&failed), None);
        let nothing = reply(|message| {
            write_returned(message, RequestId(7), encoding, |_| ()).unwrap();
        });
        assert!(returned_nothing(&nothing));
        assert_eq!(returned(&nothing), Some(&[6, 0, 0, 0, 1, 1][..]));
    }

    #[test]
    fn only_replies_without_results_are_recognized_as_such() {
        let nothing = |id, encoding| {
            reply(|message| write_returned(message, RequestId(id), encoding, |_| ()).unwrap())
        };
        let (old, new) = (EncodingVersion::V1_0, EncodingVersion::V1_1);
        let two = [nothing(7, new), nothing(-2, old)].concat();
        let found = |input: &[u8]| all_returned_nothing(input, 25).map(Iterator::collect::<Vec<_>>);
        assert_eq!(
            found(&two),
            Some(vec![(RequestId(7), new), (RequestId(-2), old)])
        );
        assert!(all_returned_nothing(&two, 24).is_none(), "too long");
        assert_eq!(found(&[]), None);
        assert_eq!(found(&two[..two.len() - 1]), None);
        assert_eq!(found(&[&two[..], &[0]].concat()), None);
        // Each byte matters, except those of the request ids.
        for at in (0..two.len()).filter(|at| !(14..18).contains(&(at % 25))) {
            let mut other = two.clone();
            other[at] ^= 0x80;
            assert_eq!(found(&other), None, "byte {at}");
        }
        let exception = reply(|message| {
            let write = write_outcome(message, RequestId(7), &Outcome::System(unknown()));
            write.unwrap();
        });
        assert_eq!(found(&exception), None);
    }

    #[test]
    fn a_reply_without_results_equals_a_received_one() {
        for encoding in [EncodingVersion::V1_0, EncodingVersion::V1_1] {
            let message = reply(|message| {
                write_returned(message, RequestId(0), encoding, |_| ()).unwrap();
            });
            let made = IncomingReply::of_nothing(RequestId(9), encoding);
            assert_eq!(made.id(), RequestId(9));
            assert_eq!(made.bytes, message);
            assert!(made.returned_nothing());
        }
    }

    fn unknown() -> SystemException {
        SystemException::UnknownException(String::new())
    }
}
