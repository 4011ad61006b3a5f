//! Messages survive compression, and invalid ones are refused within their limits.

use bytes::BytesMut;
use proptest::prelude::*;

use super::*;
use crate::encoding::EncodingVersion;
use crate::message::{
    BatchWriter, Context, HEADER_LEN, Message, MessageType, OperationMode, ProtocolError,
    RequestHead, RequestTarget,
};
use crate::reference::{Endpoint, Identity};

const LIMIT: usize = 1024 * 1024;

/// The compressions that compress each message by itself.
const ONE_BY_ONE: [Compression; 4] = [
    Compression::Bzip2,
    Compression::Zstd,
    Compression::Brotli,
    Compression::ZstdBatch,
];

/// A Request message with any body.
fn message(body: &[u8]) -> Vec<u8> {
    let size = (HEADER_LEN + body.len()) as u32;
    let header = [b"IceP\x01\x00\x01\x00\x00\x00", &size.to_le_bytes()[..]].concat();
    [&header[..], body].concat()
}

fn split(bytes: &[u8]) -> Message {
    let split = Message::split(&mut BytesMut::from(bytes), LIMIT * 2);
    split.expect("a good header").expect("a whole message")
}

fn decompress(bytes: &[u8]) -> Result<Message, CompressionError> {
    match Decompressor::default().decompress(split(bytes), LIMIT) {
        Ok(message) => Ok(message),
        Err(ProtocolError::Compression { message, error }) => {
            assert_eq!(message, MessageType::Request);
            Err(error)
        }
        Err(other) => panic!("{other}"),
    }
}

fn compressed(body: &[u8], compression: Compression) -> Vec<u8> {
    let mut bytes = message(body);
    Compressor::new(compression).compress(&mut bytes, 0);
    if compression == Compression::ZstdStream {
        StreamCompressor::default().compress(&mut bytes, 0, LEN_MIN_DEFAULT);
    }
    assert_eq!(bytes[9], compression.compressed(), "{compression}");
    bytes
}

fn claim(mut bytes: Vec<u8>, size: i32) -> Vec<u8> {
    bytes[14..18].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn long_messages_get_smaller_and_come_back() {
    for compression in Compression::ALL {
        let body = b"to be, or not to be ".repeat(20_000);
        let packed = compressed(&body, compression);
        assert!(
            packed.len() < body.len() / 20,
            "{compression}: {}",
            packed.len()
        );
        let plain = decompress(&packed).expect("our own bytes");
        assert_eq!(plain.bytes[HEADER_LEN..], body[..], "{compression}");
        assert_eq!(plain.header.compression, compression.accepted());
        assert_eq!(split(&plain.bytes).header, plain.header, "{compression}");
    }
}

#[test]
fn short_and_incompressible_messages_only_accept_a_compressed_reply() {
    let random: Vec<u8> = (0..200_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for compression in ONE_BY_ONE {
        for body in [&b"a".repeat(85)[..], &random] {
            let mut bytes = message(body);
            Compressor::new(compression).compress(&mut bytes, 0);
            assert_eq!(bytes[9], compression.accepted(), "{compression}");
            assert_eq!(bytes[10..], message(body)[10..], "{compression}");
        }
    }
}

#[test]
fn each_message_of_a_buffer_is_compressed_and_earlier_bytes_stay() {
    let bodies = [b"a".repeat(300), b"b".to_vec(), b"c".repeat(300)];
    let mut buffer = b"before".to_vec();
    bodies.iter().for_each(|body| buffer.extend(message(body)));
    Compressor::new(Compression::Bzip2).compress(&mut buffer, 6);
    assert!(buffer.starts_with(b"before"));
    let mut input = BytesMut::from(&buffer[6..]);
    for (body, status) in bodies.iter().zip([2, 1, 2]) {
        let message = Message::split(&mut input, LIMIT).unwrap().unwrap();
        assert_eq!(message.header.compression, status);
        let plain = Decompressor::default().decompress(message, LIMIT).unwrap();
        assert_eq!(plain.bytes[HEADER_LEN..], body[..]);
    }
    assert!(input.is_empty());
}

#[test]
fn a_size_above_the_limit_is_refused_before_anything_else() {
    for compression in Compression::ALL {
        for size in [LIMIT as i32 + 1, i32::MAX] {
            let bytes = claim(compressed(&[0; 500], compression), size);
            let (size, limit) = (size as usize, LIMIT);
            assert_eq!(
                decompress(&bytes).unwrap_err(),
                CompressionError::SizeTooLarge { size, limit }
            );
        }
        for size in [14, 0, -1, i32::MIN] {
            let bytes = claim(compressed(&[0; 500], compression), size);
            assert_eq!(
                decompress(&bytes).unwrap_err(),
                CompressionError::SizeTooSmall(size)
            );
        }
    }
}

#[test]
fn a_message_that_inflates_too_much_is_refused_before_it_is_inflated() {
    for compression in ONE_BY_ONE {
        let bomb = compressed(&vec![0; 1_000_000], compression);
        let mut strict = Decompressor::with_ratio_max(100);
        let error = strict.decompress(split(&bomb), 2_000_000).unwrap_err();
        let ProtocolError::Compression { error, .. } = error else {
            panic!("expected an error of compression, got {error}");
        };
        let expected = CompressionError::InflatesTooMuch {
            claimed: 1_000_014,
            len: bomb.len(),
            ratio_max: 100,
        };
        assert_eq!(error, expected, "{compression}");
        let text = error.to_string();
        assert!(text.contains("at most 100 times"), "{text}");
        let mut lenient = Decompressor::with_ratio_max(100_000);
        assert!(lenient.decompress(split(&bomb), 2_000_000).is_ok());
        // Short messages may be as repetitive as they like.
        let short = compressed(&vec![0; 60_000], compression);
        assert!(strict.decompress(split(&short), 2_000_000).is_ok());
    }
}

#[test]
fn a_message_must_have_exactly_its_claimed_length() {
    for compression in Compression::ALL {
        let bomb = claim(compressed(&vec![0; 10_000_000], compression), 1014);
        assert_eq!(
            decompress(&bomb).unwrap_err(),
            CompressionError::LongerThanClaimed { claimed: 1000 },
            "{compression}"
        );
        let short = claim(compressed(&[0; 999], compression), 1014);
        assert_eq!(
            decompress(&short).unwrap_err(),
            CompressionError::ShorterThanClaimed {
                claimed: 1000,
                len: 999
            },
            "{compression}"
        );
    }
}

#[test]
fn data_that_is_cut_off_is_refused_and_so_is_more_after_the_data_of_floe() {
    for compression in ONE_BY_ONE {
        let whole = compressed(&b"more of the same ".repeat(50), compression);
        for len in 14..whole.len() {
            let mut cut = whole[..len].to_vec();
            cut[10..14].copy_from_slice(&(len as u32).to_le_bytes());
            assert!(
                decompress(&cut).is_err(),
                "{compression}: {len} of {}",
                whole.len()
            );
        }
        let mut longer = [&whole[..], b"x"].concat();
        longer[10..14].copy_from_slice(&(whole.len() as u32 + 1).to_le_bytes());
        if compression != Compression::Bzip2 {
            assert_eq!(
                decompress(&longer).unwrap_err(),
                CompressionError::Corrupt(compression)
            );
        }
    }
}

#[test]
fn bytes_after_a_bzip2_stream_are_ignored() {
    let body = b"to be, or not to be ".repeat(20);
    let mut packed = compressed(&body, Compression::Bzip2);
    packed.extend(b"abc");
    let size = packed.len() as i32;
    packed[10..14].copy_from_slice(&size.to_le_bytes());
    let plain = decompress(&packed).expect("the stream is whole");
    assert_eq!(plain.bytes[HEADER_LEN..], body[..]);
}

#[test]
fn in_a_stream_a_repeated_message_takes_almost_no_bytes() {
    let (mut sending, mut receiving) = (StreamCompressor::default(), Decompressor::default());
    // This message has no repetition in itself.
    let body: Vec<u8> = (0..4000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8)
        .collect();
    for round in 0..50 {
        let mut bytes = message(&body);
        Compressor::new(Compression::ZstdStream).compress(&mut bytes, 0);
        assert_eq!(bytes[9], 74);
        sending.compress(&mut bytes, 0, LEN_MIN_DEFAULT);
        assert_eq!(bytes[9], 75);
        assert!(round == 0 || bytes.len() < 60, "{} bytes", bytes.len());
        let plain = receiving
            .decompress(split(&bytes), LIMIT)
            .expect("in order");
        assert_eq!(plain.bytes[HEADER_LEN..], body[..]);
    }
}

#[test]
fn in_a_stream_unmarked_and_short_messages_stay_as_they_are() {
    let mut sending = StreamCompressor::default();
    let mut marked = message(&[7; 80]);
    marked[9] = 74;
    for bytes in [message(&[7; 500]), marked] {
        let mut sent = bytes.clone();
        sending.compress(&mut sent, 0, LEN_MIN_DEFAULT);
        assert_eq!(sent, bytes);
    }
}

#[test]
fn a_stream_without_its_beginning_is_refused() {
    let mut sending = StreamCompressor::default();
    let mut second = Vec::new();
    for _ in 0..2 {
        second = message(&[7; 500]);
        second[9] = 74;
        sending.compress(&mut second, 0, LEN_MIN_DEFAULT);
    }
    let corrupt = CompressionError::Corrupt(Compression::ZstdStream);
    assert_eq!(decompress(&second).unwrap_err(), corrupt);
}

#[test]
fn a_stream_that_is_not_offered_is_refused_before_it_takes_memory() {
    let mut sending = StreamCompressor::default();
    let mut first = message(&[7; 500]);
    first[9] = 74;
    sending.compress(&mut first, 0, LEN_MIN_DEFAULT);
    let mut decompressor = Decompressor::default().without_stream();
    let refused = decompressor.decompress(split(&first), 10_000).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("this side does not offer it"), "{text}");
    assert!(format!("{decompressor:?}").contains("stream: None"));
}

#[test]
fn a_window_above_the_limit_is_refused() {
    // A frame with a window of 128 MiB: a descriptor without a size, and window byte 17 << 3.
    let frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 17 << 3, 0x01, 0x00, 0x00];
    for compression in [Compression::Zstd, Compression::ZstdStream] {
        let mut bytes = message(&[&1000_i32.to_le_bytes()[..], &frame].concat());
        bytes[9] = compression.compressed();
        assert_eq!(
            decompress(&bytes).unwrap_err(),
            CompressionError::Corrupt(compression)
        );
    }
}

/// A batch of requests, each with an operation and parameters.
fn batch(requests: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> Vec<u8> {
    let mut batch = BatchWriter::default();
    for (operation, parameters) in requests {
        let request = RequestHead {
            target: &RequestTarget::new(&Identity::with_category("listener", "a2c4e6g8"), ""),
            operation,
            mode: OperationMode::Normal,
            context: &Context::new(),
        };
        let pushed = batch.push(&request, usize::MAX, |encoder| {
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(&parameters));
        });
        assert!(pushed.is_ok(), "it fits");
    }
    batch.finish().expect("some requests")
}

/// A batch, compressed and decompressed again. Returns its compressed length.
fn there_and_back(batch: &[u8], compression: Compression) -> usize {
    let mut bytes = batch.to_vec();
    Compressor::new(compression).compress(&mut bytes, 0);
    let len = bytes.len();
    let plain = Decompressor::default().decompress(split(&bytes), LIMIT);
    let plain = plain.expect("our own bytes");
    assert_eq!(plain.bytes[HEADER_LEN..], batch[HEADER_LEN..]);
    len
}

#[test]
fn of_alike_requests_in_a_batch_only_the_differences_take_bytes() {
    let counted = batch((0..1000_i64).map(|number| ("tick", number.to_le_bytes().into())));
    let [batched, plain] =
        [Compression::ZstdBatch, Compression::Zstd].map(|it| there_and_back(&counted, it));
    assert!(batched < 250 && batched * 5 < plain, "{batched} of {plain}");
    // Requests of several kinds, mixed.
    let mixed = batch((0..900_i64).map(|number| match number % 3 {
        0 => ("tick", number.to_le_bytes().into()),
        1 => ("moved", (number as f64 / 8.0).to_le_bytes().repeat(3)),
        _ => ("stopped", Vec::new()),
    }));
    let [batched, plain] =
        [Compression::ZstdBatch, Compression::Zstd].map(|it| there_and_back(&mixed, it));
    assert!(batched * 2 < plain, "{batched} of {plain}");
}

#[test]
fn a_batch_that_columns_would_make_longer_stays_as_it_is() {
    let texts = (0..40_usize).map(|at| ("said", b"to be, or not to be ".repeat(1 + at * 7 % 11)));
    let texts = batch(texts);
    let [batched, plain] =
        [Compression::ZstdBatch, Compression::Zstd].map(|it| there_and_back(&texts, it));
    assert!(batched <= plain + 1, "{batched} of {plain}");
}

#[test]
fn a_recorded_batch_is_still_read() {
    let expected = batch((0..100_i64).map(|number| ("tick", number.to_le_bytes().into())));
    let recorded: Vec<u8> = (0..RECORDED_BATCH.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&RECORDED_BATCH[at..at + 2], 16).expect("hex"))
        .collect();
    let plain = Decompressor::default().decompress(split(&recorded), LIMIT);
    assert_eq!(
        plain.expect("a recorded message").bytes[HEADER_LEN..],
        expected[HEADER_LEN..]
    );
}

/// 100 requests `tick`, as [`Compression::ZstdBatch`] has them.
const RECORDED_BATCH: &str = concat!(
    "4963655001000100014d59000000b20f00000128b52ffd203de9010002040128640064000000aaaaaaaaaaaaaaaaabaa086c",
    "697374656e657208613263346536673800047469636b00000e0000000101000100000000000000",
);

#[test]
fn columns_that_are_no_batch_are_refused() {
    let corrupt = CompressionError::Corrupt(Compression::ZstdBatch);
    let form = |form: &[u8]| [&[1][..], &super::zstd::pack(form).expect("a frame")].concat();
    let sized = |size: i32, packed: &[u8]| {
        let mut bytes = message(&[&size.to_le_bytes()[..], packed].concat());
        bytes[9] = Compression::ZstdBatch.compressed();
        bytes
    };
    let whole = sized(24, &form(&[1, 5, 2, 0b10_10_10_10, 0, 1, 2, 3, 4, 5, 6]));
    assert_eq!(
        decompress(&whole).expect("columns").bytes[14..],
        [1, 2, 3, 4, 5, 1, 2, 3, 4, 6]
    );
    // Another layout, pieces beyond the claim, and a form that is far longer than a body of this length can make it.
    assert_eq!(decompress(&sized(24, &[2])).unwrap_err(), corrupt);
    assert_eq!(decompress(&sized(24, &[])).unwrap_err(), corrupt);
    let beyond = form(&[1, 5, 3, 0b10_10_10_10, 0b10, 1, 2, 3, 4, 5]);
    assert_eq!(decompress(&sized(24, &beyond)).unwrap_err(), corrupt);
    let bomb = sized(24, &form(&vec![0; 10_000_000]));
    let claimed = 10;
    assert_eq!(
        decompress(&bomb).unwrap_err(),
        CompressionError::LongerThanClaimed { claimed }
    );
}

#[test]
fn an_offer_holds_for_its_own_endpoints_only() {
    let own = [Endpoint::tcp("here", 1), Endpoint::tcp("here", 2)];
    let all = [Compression::Bzip2, Compression::Zstd];
    let offer = offer(&all, &own).expect("something to offer");
    let proxy = [own[0].clone(), Endpoint::tcp("there", 1), offer];
    assert!(offered(Compression::Zstd, &proxy, &own[0]));
    assert!(offered(Compression::Zstd, &proxy, &own[1]));
    assert!(!offered(Compression::Zstd, &proxy, &proxy[1]));
    assert!(!offered(Compression::Brotli, &proxy, &own[0]));
    assert!(!offered(Compression::Zstd, &own, &own[0]));
}

#[test]
fn an_offer_holds_for_an_endpoint_with_another_compression_flag() {
    let asking: Endpoint = "unix -f /s -z".parse().expect("an endpoint");
    let plain: Endpoint = "unix -f /s".parse().expect("an endpoint");
    let elsewhere: Endpoint = "unix -f /t".parse().expect("an endpoint");
    let offer = offer(&[Compression::Zstd], &[asking]).expect("something to offer");
    let proxy = [offer];
    assert!(offered(Compression::Zstd, &proxy, &plain));
    assert!(!offered(Compression::Zstd, &proxy, &elsewhere));
}

#[test]
fn an_offer_survives_as_text_and_is_ignored_if_garbled() {
    let own = [Endpoint::tcp("here", 1)];
    let offer = offer(&[Compression::ZstdStream], &own).expect("something to offer");
    let text = offer.to_string();
    assert!(text.starts_with("opaque -t 18029 -e 1.1 -v "), "{text}");
    let mut parsed: Endpoint = text.parse().expect("our own text");
    assert!(offered(Compression::ZstdStream, &[parsed.clone()], &own[0]));
    let Endpoint::Opaque(opaque) = &mut parsed else {
        panic!("{parsed}")
    };
    opaque.bytes.truncate(5);
    assert!(!offered(Compression::ZstdStream, &[parsed], &own[0]));
}

#[test]
fn bzip2_alone_needs_no_offer() {
    assert_eq!(
        offer(&[Compression::Bzip2], &[Endpoint::tcp("here", 1)]),
        None
    );
}

#[test]
fn a_message_without_a_body_is_sent_as_it_is() {
    for compression in Compression::ALL {
        let mut bytes = message(&[]);
        let compressor = Compressor {
            len_min: 0,
            ..Compressor::new(compression)
        };
        compressor.compress(&mut bytes, 0);
        StreamCompressor::default().compress(&mut bytes, 0, 0);
        assert_eq!(bytes.len(), HEADER_LEN, "{compression:?}");
        let plain = Decompressor::default().decompress(split(&bytes), LIMIT);
        assert_eq!(plain.unwrap().bytes.len(), HEADER_LEN);
    }
}

proptest! {
    #[test]
    fn every_batch_comes_back_from_columns(
        requests in prop::collection::vec(
            (prop::sample::select(vec!["a", "tick", "moved"]), prop::collection::vec(0_u8..4, 0..9)),
            1..120,
        ),
    ) {
        let batch = batch(requests);
        let (mut bytes, lens) = (batch.clone(), crate::message::request_lens(&batch));
        prop_assert!(lens.is_some());
        Compressor { len_min: 0, ..Compressor::new(Compression::ZstdBatch) }.compress(&mut bytes, 0);
        let plain = Decompressor::default().decompress(split(&bytes), LIMIT).unwrap();
        prop_assert_eq!(&plain.bytes[HEADER_LEN..], &batch[HEADER_LEN..]);
    }

    #[test]
    fn whatever_is_compressed_comes_back(
        bodies in prop::collection::vec(prop::collection::vec(0_u8..4, 0..3000), 1..8),
        level in 0_u32..12,
        len_min in 0_usize..200,
    ) {
        for compression in Compression::ALL {
            let mut buffer: Vec<u8> = bodies.iter().flat_map(|body| message(body)).collect();
            Compressor { compression, level, len_min }.compress(&mut buffer, 0);
            StreamCompressor::default().compress(&mut buffer, 0, len_min);
            let (mut input, mut receiving) = (BytesMut::from(&buffer[..]), Decompressor::default());
            for body in &bodies {
                let packed = Message::split(&mut input, LIMIT).unwrap().unwrap();
                let plain = receiving.decompress(packed, LIMIT).unwrap();
                prop_assert_eq!(&plain.bytes[HEADER_LEN..], &body[..]);
                prop_assert_eq!(plain.header.compression, compression.accepted());
            }
            prop_assert!(input.is_empty());
        }
    }

    #[test]
    fn hostile_bytes_never_give_more_than_they_claim(
        body in prop::collection::vec(any::<u8>(), 0..300),
        flips in prop::collection::vec((0_usize..200, any::<u8>()), 1..4),
        claimed in 0_i32..3000,
    ) {
        for compression in Compression::ALL {
            let mut raw = message(&body);
            raw[9] = compression.compressed();
            let mut flipped = claim(compressed(&b"some text ".repeat(40), compression), claimed);
            for (at, byte) in &flips {
                let at = 14 + at % (flipped.len() - 14);
                flipped[at] = *byte;
            }
            for bytes in [raw, flipped] {
                if let Ok(plain) = decompress(&bytes) {
                    let claimed = i32::from_le_bytes(bytes[14..18].try_into().unwrap());
                    prop_assert_eq!(plain.bytes.len(), claimed as usize);
                }
            }
        }
    }
}
