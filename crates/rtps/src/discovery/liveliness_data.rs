//! The message by which a participant says that its writers live.

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder, Encoder};
use crate::guid::GuidPrefix;
use crate::payload::Representation;
use crate::qos::LivelinessKind;

/// A sign of life.
///
/// ```text
/// 0              12     16
/// | guid prefix  | kind | octets: a sequence, empty |
/// ```
///
/// `kind` is 1 for automatic, and 2 for manual by participant. Source: DDSI-RTPS 2.5, 8.4.13 and 9.6.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LivelinessData {
    /// The participant.
    pub prefix: GuidPrefix,
    /// The writers for which it speaks; `None` if it is about something else.
    pub kind: Option<LivelinessKind>,
}

impl LivelinessData {
    /// Reads a payload.
    ///
    /// # Errors
    /// If it is no such message.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let Ok((Representation::Cdr(order), value)) = Representation::split(payload) else {
            let kind = DecodeErrorKind::NotSupported("a representation other than plain CDR");
            return Err(Decoder::new(payload, ByteOrder::Big).error("sign of life", kind));
        };
        let mut from = Decoder::new(value, order);
        Ok(Self {
            prefix: GuidPrefix(from.array("prefix of a sign of life")?),
            kind: match from.array("kind of a sign of life")? {
                [0, 0, 0, 1] => Some(LivelinessKind::Automatic),
                [0, 0, 0, 2] => Some(LivelinessKind::ManualByParticipant),
                _ => None,
            },
        })
    }

    /// The payload of a sign of automatic life.
    pub fn encode_automatic(prefix: GuidPrefix) -> Vec<u8> {
        let mut payload = vec![0, 1, 0, 0];
        let mut into = Encoder::new(&mut payload, ByteOrder::Little);
        into.bytes(&prefix.0);
        into.bytes(&[0, 0, 0, 1]);
        into.u32(0);
        payload
    }
}
