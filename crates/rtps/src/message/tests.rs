//! Messages: what is written is read again in both byte orders, and what is damaged is refused at its place.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::codec::{ByteOrder, DecodeErrorKind};
use crate::guid::{EntityId, GuidPrefix, VendorId};
use crate::sequence_number::SequenceNumber;
use crate::timestamp::Timestamp;

fn numbers() -> impl Strategy<Value = SequenceNumber> {
    (1..SequenceNumber::MAX.0).prop_map(SequenceNumber)
}

fn entities() -> impl Strategy<Value = EntityId> {
    any::<[u8; 4]>().prop_map(EntityId)
}

fn sets() -> impl Strategy<Value = SequenceNumberSet> {
    (numbers(), btree_set(0..SET_LEN_MAX, 0..20)).prop_map(|(base, ahead)| {
        let numbers = ahead
            .into_iter()
            .map(|ahead| SequenceNumber(base.0 + i64::from(ahead)));
        SequenceNumberSet::of(base, numbers)
    })
}

fn inline_qos() -> impl Strategy<Value = InlineQos> {
    (any::<Option<[u8; 16]>>(), any::<bool>(), any::<bool>()).prop_map(
        |(key_hash, is_disposed, is_unregistered)| InlineQos {
            key_hash,
            is_disposed,
            is_unregistered,
        },
    )
}

/// Submessages without a payload.
fn controls() -> impl Strategy<Value = Submessage<'static>> {
    let ends = || (entities(), entities());
    prop_oneof![
        Just(Submessage::Pad),
        Just(Submessage::InfoTimestamp(None)),
        any::<(u32, u32)>().prop_map(|(seconds, fraction)| {
            Submessage::InfoTimestamp(Some(Timestamp { seconds, fraction }))
        }),
        any::<[u8; 12]>().prop_map(|prefix| Submessage::InfoDestination(GuidPrefix(prefix))),
        any::<[u8; 12]>().prop_map(|prefix| {
            Submessage::InfoSource(ProtocolVersion::OURS, VendorId([1, 2]), GuidPrefix(prefix))
        }),
        (ends(), numbers(), 0..1000_i64, any::<(i32, bool, bool)>()).prop_map(
            |((reader, writer), first, more, (count, is_final, is_liveliness))| {
                Submessage::Heartbeat(Heartbeat {
                    reader,
                    writer,
                    first,
                    last: SequenceNumber((first.0 - 1 + more).min(SequenceNumber::MAX.0)),
                    count,
                    is_final,
                    is_liveliness,
                })
            }
        ),
        (ends(), sets(), any::<(i32, bool)>()).prop_map(
            |((reader, writer), missing, (count, is_final))| {
                Submessage::AckNack(AckNack {
                    reader,
                    writer,
                    missing,
                    count,
                    is_final,
                })
            }
        ),
        (ends(), sets(), 0..1000_i64).prop_map(|((reader, writer), others, before)| {
            Submessage::Gap(Gap {
                reader,
                writer,
                first: SequenceNumber((others.base().0 - before).max(1)),
                others,
            })
        }),
        (ends(), numbers(), 1..u32::MAX, any::<i32>()).prop_map(
            |((reader, writer), number, last_fragment, count)| {
                Submessage::HeartbeatFrag(HeartbeatFrag {
                    reader,
                    writer,
                    number,
                    last_fragment,
                    count,
                })
            }
        ),
        (
            ends(),
            numbers(),
            1..1_000_000_u32,
            btree_set(0..SET_LEN_MAX, 0..20),
            any::<i32>()
        )
            .prop_map(|((reader, writer), number, base, ahead, count)| {
                Submessage::NackFrag(NackFrag {
                    reader,
                    writer,
                    number,
                    missing: FragmentNumberSet::of(
                        base,
                        ahead.into_iter().map(|ahead| base + ahead),
                    ),
                    count,
                })
            }),
    ]
}

fn order() -> impl Strategy<Value = ByteOrder> {
    prop_oneof![Just(ByteOrder::Big), Just(ByteOrder::Little)]
}

proptest! {
    #[test]
    fn submessages_come_back_in_both_orders(submessages in vec(controls(), 1..6), order in order()) {
        let mut bytes = Vec::new();
        submessages.iter().for_each(|submessage| submessage.encode(&mut bytes, order));
        let read: Result<Vec<_>, _> = Submessages::new(&bytes).collect();
        prop_assert_eq!(read, Ok(submessages));
    }

    #[test]
    fn samples_come_back_in_both_orders(
        reader in entities(), writer in entities(), number in numbers(), inline_qos in inline_qos(),
        words in vec(any::<[u8; 4]>(), 0..50), order in order(),
    ) {
        let payload = words.concat();
        let kind = if payload.is_empty() { PayloadKind::Nothing } else { PayloadKind::Value };
        let data = Data { reader, writer, number, inline_qos, kind, payload: &payload };
        let mut bytes = Vec::new();
        Submessage::Data(data.clone()).encode(&mut bytes, order);
        let read: Vec<_> = Submessages::new(&bytes).collect();
        prop_assert_eq!(read, vec![Ok(Submessage::Data(data))]);
    }

    #[test]
    fn fragments_come_back_and_padding_does_not(
        reader in entities(), writer in entities(), number in numbers(), inline_qos in inline_qos(),
        sample_len in 1_usize..5000, fragment_len in 1_u16..1000, at in any::<prop::sample::Index>(),
        is_key in any::<bool>(), order in order(),
    ) {
        let whole = vec![7; sample_len];
        let fragments: Vec<_> = whole.chunks(usize::from(fragment_len)).collect();
        let index = at.index(fragments.len());
        let data = DataFrag {
            reader, writer, number, inline_qos, is_key, fragment_len, count: 1,
            first: index as u32 + 1,
            sample_len: sample_len as u32,
            payload: fragments[index],
        };
        let mut bytes = Vec::new();
        Submessage::DataFrag(data.clone()).encode(&mut bytes, order);
        let read: Vec<_> = Submessages::new(&bytes).collect();
        prop_assert_eq!(read, vec![Ok(Submessage::DataFrag(data))]);
    }

    #[test]
    fn any_bytes_end(bytes in vec(any::<u8>(), 0..300)) {
        let count = Submessages::new(&bytes).count();
        prop_assert!(count <= bytes.len().div_ceil(SUBMESSAGE_HEADER_LEN));
    }
}

fn one(bytes: &[u8]) -> Result<Submessage<'_>, DecodeErrorKind> {
    let first = Submessages::new(bytes).next().expect("there is one");
    first.map_err(|error| error.kind)
}

#[test]
fn sets_above_256_numbers_are_refused() {
    let mut bytes = vec![6, 1, 0, 0];
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend(257_u32.to_le_bytes());
    bytes.extend([0; 40]);
    let too_long = DecodeErrorKind::TooLong {
        limit: 256,
        got: 257,
    };
    assert_eq!(one(&bytes), Err(too_long));
}

#[test]
fn numbers_that_would_overflow_are_refused() {
    let mut heartbeat = vec![7, 1, 28, 0];
    heartbeat.extend([0; 8]);
    heartbeat.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    heartbeat.extend([0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff]);
    heartbeat.extend([0; 4]);
    assert!(matches!(
        one(&heartbeat),
        Err(DecodeErrorKind::InvalidValue(_))
    ));
}

#[test]
fn a_heartbeat_that_ends_before_it_begins_is_refused() {
    let mut bytes = vec![7, 0, 0, 28];
    bytes.extend([0; 8]);
    bytes.extend(5_i64.to_be_bytes());
    bytes.extend(3_i64.to_be_bytes());
    bytes.extend([0; 4]);
    assert_eq!(one(&bytes), Err(DecodeErrorKind::InvalidValue(3)));
}

#[test]
fn fragments_outside_of_their_sample_are_refused() {
    let encode = |first, count, fragment_len, sample_len, payload: &[u8]| {
        let mut bytes = Vec::new();
        let data = DataFrag {
            reader: EntityId::UNKNOWN,
            writer: EntityId([0, 0, 1, 2]),
            number: SequenceNumber(1),
            first,
            count,
            fragment_len,
            sample_len,
            inline_qos: InlineQos::default(),
            is_key: false,
            payload,
        };
        Submessage::DataFrag(data).encode(&mut bytes, ByteOrder::Little);
        one(&bytes).map(|_| ())
    };
    assert_eq!(encode(1, 1, 8, 8, &[0; 8]), Ok(()));
    let cases = [
        encode(0, 1, 8, 8, &[0; 8]),
        encode(1, 0, 8, 8, &[0; 8]),
        encode(1, 1, 0, 8, &[0; 8]),
        encode(2, 1, 8, 8, &[0; 8]),
        encode(1, 2, 8, 8, &[0; 16]),
        encode(u32::MAX, u16::MAX, u16::MAX, u32::MAX, &[0; 8]),
    ];
    for refused in cases {
        assert!(
            matches!(refused, Err(DecodeErrorKind::InvalidValue(_))),
            "{refused:?}"
        );
    }
    let short = encode(1, 1, 8, 8, &[0; 4]);
    assert!(
        matches!(short, Err(DecodeErrorKind::EndOfData { needed: 8, .. })),
        "{short:?}"
    );
}

#[test]
fn an_unknown_submessage_is_skipped_and_what_follows_is_read() {
    let bytes = [0x77, 1, 4, 0, 1, 2, 3, 4, 1, 1, 0, 0];
    let read: Result<Vec<_>, _> = Submessages::new(&bytes).collect();
    assert_eq!(read, Ok(vec![Submessage::Unknown(0x77), Submessage::Pad]));
}

#[test]
fn a_parameter_that_must_be_understood_and_is_not_is_refused() {
    let list = |id: u16| {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend([4, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        let mut from = crate::codec::Decoder::new(&bytes, ByteOrder::Little);
        ParameterList::take(&mut from).map(|list| list.iter().count())
    };
    assert_eq!(list(0x3fff), Ok(1));
    assert_eq!(list(0x8001), Ok(1), "of a vendor");
    assert!(matches!(
        list(0x7fff).map_err(|error| error.kind),
        Err(DecodeErrorKind::NotSupported(_))
    ));
}

#[test]
fn another_protocol_and_another_version_are_refused() {
    let split = |bytes: &[u8]| Header::split(bytes).map(|_| ()).map_err(|error| error.kind);
    assert_eq!(
        split(b"RTPX\x02\x02aaaaaaaaaaaaaa"),
        Err(DecodeErrorKind::NotRtps)
    );
    let version = DecodeErrorKind::UnsupportedVersion(3, 0);
    assert_eq!(split(b"RTPS\x03\x00aaaaaaaaaaaaaa"), Err(version));
    assert_eq!(split(b"RTPS\x02\x05aaaaaaaaaaaaaa"), Ok(()));
    assert!(matches!(
        split(b"RTPS\x02\x05aaaaaaaaaaaaa"),
        Err(DecodeErrorKind::EndOfData { .. })
    ));
}
