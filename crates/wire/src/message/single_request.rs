//! A Request message that is the whole input.

use bytes::Bytes;

use super::batch_scan::{FRAMING_LEN, PlainRequest};
use super::fields::Fields;
use super::{HeadCache, IncomingRequest, RequestId};

/// The positions of the fields of a request that is the whole input. They are checked, and nothing is taken yet.
#[derive(Debug, Clone, Copy)]
pub struct SingleRequest {
    fields: Fields,
}

impl SingleRequest {
    /// Parses `input`, if it is exactly one Request message. Returns `None` if there is more or less, or if it is
    /// compressed, longer than `size_max` or malformed, or if its head is too long for `cache`.
    ///
    /// `cache` saves the parsing of requests like those that were read before, and holds the head of this one until it
    /// is used again.
    #[inline]
    pub fn peek(input: &[u8], size_max: usize, cache: &mut HeadCache) -> Option<Self> {
        let plain = PlainRequest::at(input, size_max)?;
        if plain.size != input.len() {
            return None;
        }
        let mut fields = cache.fields_of(input, FRAMING_LEN)?;
        (fields.id, fields.compression) = (plain.id, plain.compression);
        let is_good = fields.end() == input.len() && cache.is_of(&fields);
        is_good.then_some(Self { fields })
    }

    /// Number of the request on its connection.
    #[inline]
    pub fn id(&self) -> RequestId {
        self.fields.id
    }

    /// Length of its parameters in bytes, encapsulation header included.
    #[inline]
    pub fn parameters_len(&self) -> usize {
        self.fields.parameters.len()
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Makes `request` this one, with its message.
    #[inline]
    pub fn move_into(self, request: &mut IncomingRequest, message: Bytes) {
        let (bytes, fields) = request.parts_mut();
        *fields = self.fields;
        *bytes = message;
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::encoding::EncodingVersion;
    use crate::message::{Context, Message, OperationMode, RequestHead, RequestTarget};
    use crate::reference::Identity;

    const SIZE_MAX: usize = 1_000;

    fn request(id: i32, operation: &str, parameters: &[u8]) -> Vec<u8> {
        let header = RequestHead {
            target: &RequestTarget::new(&Identity::new("o"), "f"),
            operation,
            mode: OperationMode::Idempotent,
            context: &Context::from([("k".into(), "v".into())]),
        };
        let mut bytes = Vec::new();
        let written = header.write_with(&mut bytes, RequestId(id), |encoder| {
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(parameters));
        });
        written.unwrap();
        bytes
    }

    fn alone(message: &[u8]) -> IncomingRequest {
        let message = Message::split(&mut BytesMut::from(message), SIZE_MAX);
        IncomingRequest::parse(&message.unwrap().unwrap()).unwrap()
    }

    #[test]
    fn it_has_the_fields_of_a_request_taken_off_the_input() {
        let mut cache = HeadCache::default();
        let mut request = alone(&self::request(1, "before", b"q"));
        let long = [7; 300];
        for (id, operation, parameters) in [
            (1, "a", &b""[..]),
            (2, "a", b"longer"),
            (0, "a", b"p"),
            (3, "b", b"p"),
            (4, "a", &long),
        ] {
            let message = self::request(id, operation, parameters);
            let single = SingleRequest::peek(&message, SIZE_MAX, &mut cache).expect("it is one");
            let expected = alone(&message);
            assert_eq!(single.id(), expected.id());
            assert_eq!(single.parameters_len(), expected.parameters_len());
            single.move_into(&mut request, message.clone().into());
            assert_eq!(format!("{request:?}"), format!("{expected:?}"));
            assert_eq!(request.parameters(), expected.parameters());
            assert_eq!(request.context(), expected.context());
            assert_eq!(request.event(), expected.event());
            assert_eq!(request.target_bytes(), expected.target_bytes());

            let head = cache.request(&single).expect("it is short enough");
            assert_eq!(head.id(), expected.id());
            assert_eq!(head.target(), expected.target());
            assert_eq!(head.encoding(), expected.encoding());
            assert_eq!(head.parameters_len(), 0);
            assert_eq!(head.parameters(), b""[..]);
        }
    }

    #[test]
    fn anything_but_one_plain_request_is_refused() {
        let good = request(1, "a", b"p");
        let changed = |at: usize, byte: u8| {
            let mut changed = good.clone();
            changed[at] = byte;
            changed
        };
        let greedy = |by: i8| {
            let mut greedy = good.clone();
            let size = greedy.len() - 7;
            greedy[size] = greedy[size].wrapping_add_signed(by);
            greedy
        };
        let others = [
            Vec::new(),
            good[..good.len() - 1].to_vec(),
            [&good[..], b"I"].concat(),
            good.repeat(2),
            changed(0, b'i'),
            changed(8, 2),
            changed(9, 2),
            changed(10, 15),
            greedy(1),
            greedy(-1),
            greedy(100),
            request(1, "a", &[0; SIZE_MAX]),
            crate::message::VALIDATE_CONNECTION.to_vec(),
        ];
        let mut used = HeadCache::default();
        assert!(SingleRequest::peek(&good, SIZE_MAX, &mut used).is_some());
        for other in others {
            for cache in [&mut HeadCache::default(), &mut used] {
                let single = SingleRequest::peek(&other, SIZE_MAX, cache);
                assert!(single.is_none(), "{other:?}");
            }
        }
    }

    #[test]
    fn a_request_with_a_long_head_is_refused() {
        let long = "long".repeat(80);
        let message = request(1, &long, b"p");
        assert!(SingleRequest::peek(&message, SIZE_MAX, &mut HeadCache::default()).is_none());
    }

    #[test]
    fn its_reply_may_be_compressed_as_the_header_says() {
        let mut message = request(1, "a", b"p");
        message[9] = 1;
        let single = SingleRequest::peek(&message, SIZE_MAX, &mut HeadCache::default());
        let single = single.expect("it is plain itself");
        let mut request = alone(&message);
        single.move_into(&mut request, message.clone().into());
        assert!(alone(&message).reply_compression().is_some());
        assert_eq!(
            request.reply_compression(),
            alone(&message).reply_compression()
        );
    }
}
