//! Bytes that are no graph, or one that is meant to harm.

use std::fmt::Debug;

use floe_wire::encoding::{
    AnyClass, Class, ClassFormat, ClassInfo, ClassReader, ClassTable, Classes, ExceptionReader,
    GRAPH_DEPTH_MAX, Link, Ref, SliceId, TYPE_ID_LEN_MAX, UserException,
};
use floe_wire::reference::Reference;
use floe_wire::{
    Decode, DecodeError, DecodeErrorKind, Decoder, Encode, EncodeError, Encoder, EncodingVersion,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::classes::{decode, encode};
use crate::exceptions::EClass;
use crate::file::{Vector, load};
use crate::graphs::{FORMATS, ring};
use crate::types::{C1, Node, OptC, Tree, WithMembers};

const V1_0: EncodingVersion = EncodingVersion::V1_0;
const V1_1: EncodingVersion = EncodingVersion::V1_1;

proptest! {
    #[test]
    fn any_bytes_are_a_graph_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        try_all(&bytes);
    }

    #[test]
    fn a_damaged_graph_is_a_graph_or_an_error(
        which in any::<prop::sample::Index>(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        len in any::<prop::sample::Index>(),
    ) {
        let vectors: Vec<Vector> = load("classes").into_iter().chain(load("optionals")).collect();
        let mut bytes = which.get(&vectors).bytes.clone();
        for (at, byte) in damage {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        try_all(&bytes);
        bytes.truncate(len.index(bytes.len() + 1));
        try_all(&bytes);
    }
}

/// Reads, and uses what was read in every way that goes along its links.
fn try_all(bytes: &[u8]) {
    for encoding in [V1_0, V1_1] {
        use_it(decode::<Link<dyn AnyClass>>(bytes, encoding));
        use_it(decode::<Vec<Link<Node>>>(bytes, encoding));
        use_it(decode::<Vec<Link<Tree>>>(bytes, encoding));
        let mut decoder = Decoder::new(bytes, encoding);
        let _ = decoder.tagged::<Link<C1>>(1);
        let _ = decoder.tagged::<Vec<i32>>(2);
        let _ = decoder.tagged::<String>(300);
        let _ = decoder.finish();
        if let Ok(mut reader) = ExceptionReader::new(Decoder::new(bytes, encoding)) {
            let _ = EClass::decode_slices(&mut reader);
        }
    }
}

fn use_it<T: Debug + PartialEq>(decoded: Result<T, DecodeError>) {
    match decoded {
        Ok(value) => {
            let same = &value;
            assert_eq!(&value, same);
            assert!(!format!("{value:?}").is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn kind<T: Decode + Debug>(bytes: &[u8], encoding: EncodingVersion) -> DecodeErrorKind {
    decode::<T>(bytes, encoding).expect_err("refused").kind
}

fn chain(len: usize) -> Link<Node> {
    (0..len).fold(Link::nil(), |next, _| {
        Link::new(Node {
            name: String::new(),
            next,
        })
    })
}

#[test]
fn a_graph_may_be_as_deep_as_the_limit() {
    for format in [ClassFormat::Compact, ClassFormat::Sliced] {
        let sent = chain(GRAPH_DEPTH_MAX);
        let bytes = encode(&sent, V1_1, format);
        assert_eq!(decode(&bytes, V1_1), Ok(sent));
    }
}

#[test]
fn a_deeper_graph_is_refused_in_encoding_1_0() {
    let deepest = chain_1_0(GRAPH_DEPTH_MAX as i32);
    assert_eq!(decode(&deepest, V1_0), Ok(chain(GRAPH_DEPTH_MAX)));
    let bytes = chain_1_0(GRAPH_DEPTH_MAX as i32 + 1);
    let too_deep = DecodeErrorKind::GraphTooDeep(GRAPH_DEPTH_MAX);
    assert_eq!(kind::<Link<Node>>(&bytes, V1_0), too_deep);
}

/// A list of nodes in encoding 1.0, each in a batch of its own.
fn chain_1_0(count: i32) -> Vec<u8> {
    let mut bytes = (-1_i32).to_le_bytes().to_vec();
    for id in 1..=count {
        let (node, object): (&[u8], &[u8]) = match id {
            1 => (b"\x00\x09::V::Node", b"\x00\x0d::Ice::Object"),
            _ => (b"\x01\x01", b"\x01\x02"),
        };
        let next = if id == count { 0 } else { -(id + 1) };
        bytes.push(1);
        bytes.extend(id.to_le_bytes());
        bytes.extend(node);
        bytes.extend(b"\x09\x00\x00\x00\x00");
        bytes.extend(next.to_le_bytes());
        bytes.extend(object);
        bytes.extend(b"\x05\x00\x00\x00\x00");
    }
    bytes.push(0);
    bytes
}

/// A sequence of which each element is a node whose next is the one before: deep, though nothing is
/// nested on the wire.
fn chain_by_reference(count: i32) -> Vec<u8> {
    let mut bytes = vec![255];
    bytes.extend(count.to_le_bytes());
    bytes.extend(b"\x01\x21\x09::V::Node\x00\x00");
    for id in 2..=count {
        bytes.extend(b"\x01\x22\x01\x00\xff");
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn a_graph_that_is_deep_by_reference_is_refused() {
    let too_deep = DecodeErrorKind::GraphTooDeep(GRAPH_DEPTH_MAX);
    for count in [GRAPH_DEPTH_MAX as i32 + 1, 100_000] {
        let bytes = chain_by_reference(count);
        assert_eq!(kind::<Vec<Link<Node>>>(&bytes, V1_1), too_deep);
    }
}

/// A sequence of rings of two trees each. The outer tree of each ring leads to the inner one of the ring before it, which leads only back
/// into its ring: so no path from an element is long, but each ring keeps all rings before it alive.
fn rings_by_reference(count: i32) -> Vec<u8> {
    let reference = |id: i32| match u8::try_from(id) {
        Ok(id) if id < 255 => vec![id],
        _ => [&[255][..], &id.to_le_bytes()].concat(),
    };
    let mut bytes = reference(count);
    for ring in 0..count {
        let (outer, inner_before) = (2 + 2 * ring, 1 + 2 * ring);
        bytes.extend(match ring {
            0 => &b"\x01\x21\x09::V::Tree\x00\x00\x00\x00"[..],
            _ => b"\x01\x22\x01\x00\x00\x00\x00",
        });
        bytes.extend(b"\x01\x22\x01\x00\x00\x00\x00");
        bytes.extend(reference(outer));
        bytes.push(0);
        bytes.extend(reference(if ring == 0 { 0 } else { inner_before }));
    }
    bytes
}

/// Once they were read, and dropping them exhausted the stack.
#[test]
fn rings_that_keep_one_another_alive_count_for_the_depth() {
    let deepest = rings_by_reference(GRAPH_DEPTH_MAX as i32 - 1);
    let rings: Vec<Link<Tree>> = decode(&deepest, V1_1).expect("not too deep");
    let last = rings.last().and_then(Link::get).expect("a ring");
    assert!(last.right.id() == rings[rings.len() - 2].get().expect("a ring").left.id());
    for count in [100_000, GRAPH_DEPTH_MAX as i32] {
        let refused = decode::<Vec<Link<Tree>>>(&rings_by_reference(count), V1_1).err();
        let too_deep = DecodeErrorKind::GraphTooDeep(GRAPH_DEPTH_MAX);
        assert_eq!(refused.map(|error| error.kind), Some(too_deep));
    }
}

/// A class whose reading takes much of the stack, as that of many members does without optimization.
#[derive(Debug, Clone, PartialEq, Default)]
struct Heavy {
    next: Link<Heavy>,
}

static HEAVY: ClassTable = ClassTable::new(&[ClassInfo::of::<Heavy>()], &[]);

impl Class for Heavy {
    const TYPE_ID: &'static str = "::V::Heavy";

    fn classes() -> &'static dyn Classes {
        &HEAVY
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.next);
    }

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let members = std::hint::black_box([0_u8; 64 * 1024]);
        let next = reader.slice(Self::TYPE_ID, |decoder| decoder.get())?;
        std::hint::black_box(members);
        Ok(Self { next })
    }
}

#[test]
fn a_graph_whose_classes_would_take_all_of_the_stack_is_refused() {
    let deep = (0..GRAPH_DEPTH_MAX).fold(Link::nil(), |next, _| Link::new(Heavy { next }));
    for (encoding, format) in [
        (V1_0, ClassFormat::Compact),
        (V1_1, ClassFormat::Compact),
        (V1_1, ClassFormat::Sliced),
    ] {
        let bytes = encode(&deep, encoding, format);
        // As much as the threads of tokio have.
        let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let read = small.spawn(move || kind::<Link<Heavy>>(&bytes, encoding));
        let kind = read.expect("threads can be started").join();
        assert!(matches!(kind, Ok(DecodeErrorKind::GraphStack(_))));
    }
}

#[test]
fn a_longer_type_id_than_any_class_has_is_refused() {
    let type_id = "x".repeat(TYPE_ID_LEN_MAX + 1);
    let too_long = DecodeErrorKind::TypeIdTooLong(type_id.len());
    let bytes = |in_front: &[u8]| {
        let len = (type_id.len() as i32).to_le_bytes();
        [
            in_front,
            &[255],
            &len,
            type_id.as_bytes(),
            &4_i32.to_le_bytes(),
        ]
        .concat()
    };
    let sliced = bytes(b"\x01\x31");
    assert_eq!(kind::<Link<dyn AnyClass>>(&sliced, V1_1), too_long);
    let pending = bytes(b"\xff\xff\xff\xff\x01\x01\x00\x00\x00\x00");
    assert_eq!(kind::<Link<dyn AnyClass>>(&pending, V1_0), too_long);
}

#[test]
fn a_decoder_can_be_given_another_limit() {
    let bytes = chain_by_reference(150);
    let read = |depth_max| {
        let mut decoder = Decoder::new(&bytes, V1_1).with_graph_depth_max(depth_max);
        decoder.get::<Vec<Link<Node>>>().map(|nodes| nodes.len())
    };
    assert_eq!(read(150), Ok(150));
    let error = read(149).expect_err("one too many");
    assert_eq!(error.kind, DecodeErrorKind::GraphTooDeep(149));
}

#[test]
fn a_deeper_graph_is_not_written_in_encoding_1_0_either() {
    let sent = chain(GRAPH_DEPTH_MAX);
    let bytes = encode(&sent, V1_0, ClassFormat::Compact);
    assert_eq!(decode(&bytes, V1_0), Ok(sent));
    let error = try_encode(&chain(GRAPH_DEPTH_MAX + 1), V1_0, ClassFormat::Compact);
    assert_eq!(error, Err(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX)));
}

#[test]
fn a_cycle_makes_no_graph_of_encoding_1_0_deeper() {
    let sent = ring(["first", "second"]);
    let bytes = encode(&sent, V1_0, ClassFormat::Compact);
    let received: Link<Node> = decode(&bytes, V1_0).expect("a ring");
    let second = received.get().and_then(|first| first.next.get());
    assert_eq!(
        second.map(|second| second.name.clone()),
        Some("second".to_owned())
    );
}

#[test]
fn a_deeper_graph_is_not_written_either() {
    for format in [ClassFormat::Compact, ClassFormat::Sliced] {
        let error = try_encode(&chain(GRAPH_DEPTH_MAX + 1), V1_1, format);
        assert_eq!(error, Err(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX)));
    }
}

#[test]
fn a_wholly_unknown_instance_is_written_in_the_sliced_format_only() {
    let bytes = b"\x01\x31\x03::X\x05\x00\x00\x00\x07";
    let unknown: Link<dyn AnyClass> = decode(bytes, V1_1).expect("kept");
    assert_eq!(encode(&unknown, V1_1, ClassFormat::Sliced), bytes);
    let refused = Err(EncodeError::UnknownClass("::X".to_owned()));
    assert_eq!(try_encode(&unknown, V1_1, ClassFormat::Compact), refused);
    assert_eq!(try_encode(&unknown, V1_0, ClassFormat::Sliced), refused);
}

#[test]
fn encapsulations_inside_one_another_share_no_instances() {
    let node = chain(1);
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, V1_1);
    encoder.put(&node);
    encoder.encapsulation(V1_1, |inner| inner.put(&node));
    encoder.put(&node);
    encoder.finish().expect("encodable");

    let mut decoder = Decoder::new(&bytes, V1_1);
    let first: Link<Node> = decoder.get().expect("an instance");
    let mut inner = decoder.open_encapsulation().expect("an encapsulation");
    let copy: Link<Node> = inner.get().expect("an instance");
    inner.finish().expect("nothing more");
    let again: Link<Node> = decoder.get().expect("the first instance");
    let [first, copy, again] = [first, copy, again].map(|link| link.get().expect("not nil"));
    assert!(again.ptr_eq(&first) && !copy.ptr_eq(&first));
    assert_eq!(copy, first);
}

fn try_encode<T: Encode>(
    value: &T,
    encoding: EncodingVersion,
    format: ClassFormat,
) -> Result<(), EncodeError> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, encoding);
    encoder.set_class_format(format);
    encoder.put(value);
    encoder.finish_classes();
    encoder.finish()
}

#[test]
fn a_million_nested_instances_do_not_exhaust_the_stack() {
    let mut bytes = b"\x01\x21\x09::V::Node\x00".to_vec();
    bytes.extend(b"\x01\x22\x01\x00".repeat(1_000_000));
    let too_deep = DecodeErrorKind::GraphTooDeep(GRAPH_DEPTH_MAX);
    assert_eq!(kind::<Link<Node>>(&bytes, V1_1), too_deep);
    // Indirection tables must not allow it either, whatever sizes they claim.
    let mut bytes = b"\x01\x39\x09::V::Node\x06\x00\x00\x00\x00\x01\x01".to_vec();
    bytes.extend(b"\x01\x3a\x01\x06\x00\x00\x00\x00\x01\x01".repeat(100_000));
    assert_eq!(kind::<Link<Node>>(&bytes, V1_1), too_deep);
}

#[test]
fn a_long_type_id_is_kept_once_however_many_slices_have_it() {
    let name = format!("::{}", "x".repeat(TYPE_ID_LEN_MAX - 2));
    let mut bytes = vec![100, 1, 0x31, 255];
    bytes.extend((name.len() as i32).to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend([4, 0, 0, 0]);
    bytes.extend(b"\x01\x32\x01\x04\x00\x00\x00".repeat(99));
    let all: Vec<Link<dyn AnyClass>> = decode(&bytes, V1_1).expect("unknown instances");
    let ids: Vec<_> = all
        .iter()
        .map(
            |link| match link.get().expect("not nil").unknown_slices()[0].id() {
                SliceId::Name(name) => name.as_ptr(),
                SliceId::Compact(id) => panic!("compact id {id}"),
            },
        )
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
}

#[test]
fn an_instance_of_another_class_is_refused() {
    let bytes = encode(&chain(1), V1_1, ClassFormat::Compact);
    let unexpected = DecodeErrorKind::UnexpectedClass("::V::Node".to_owned());
    assert_eq!(kind::<Link<C1>>(&bytes, V1_1), unexpected);
    let bytes = encode(&chain(1), V1_0, ClassFormat::Compact);
    assert_eq!(kind::<Link<C1>>(&bytes, V1_0), unexpected);
}

#[test]
fn a_reference_to_an_instance_that_never_comes_is_refused() {
    let unknown = DecodeErrorKind::UnknownInstance;
    assert_eq!(kind::<Link<Node>>(&[2], V1_1), unknown(2));
    let bytes = [0xFE, 0xFF, 0xFF, 0xFF, 0];
    assert_eq!(kind::<Link<Node>>(&bytes, V1_0), unknown(2));
}

#[test]
fn slices_that_break_the_rules_are_refused() {
    let refused = |slice: &[u8]| {
        let bytes = [b"\x01".as_slice(), slice].concat();
        kind::<Link<Tree>>(&bytes, V1_1)
    };
    let invalid = DecodeErrorKind::InvalidValue;
    // A size below 4; below 5 with tagged members; a first slice without a type id.
    assert_eq!(refused(b"\x31\x09::V::Tree\x03\x00\x00\x00"), invalid(3));
    assert_eq!(refused(b"\x35\x09::V::Tree\x04\x00\x00\x00"), invalid(4));
    assert_eq!(refused(b"\x20\x00\x00\x00\x00"), invalid(0x20));
    // A table without a size; an empty one; nil in it; an index beyond it; one that nothing uses.
    assert_eq!(
        refused(b"\x29\x09::V::Tree\x00\x00\x00\x00\x01"),
        invalid(0x29)
    );
    let tree = b"\x39\x09::V::Tree\x0a\x00\x00\x00\x00\x00\x00\x00";
    let with = |rest: &[u8]| refused(&[tree.as_slice(), rest].concat());
    assert_eq!(with(b"\x01\x00\x00"), invalid(0));
    assert_eq!(with(b"\x01\x00\x01\x00"), invalid(0));
    assert_eq!(with(b"\x02\x00\x01\x02"), invalid(2));
    assert_eq!(
        with(b"\x00\x00\x01\x02"),
        DecodeErrorKind::UnusedIndirectionTable
    );
    // More members than there are; a type id index that was not given; another base.
    let trailing = b"\x31\x09::V::Tree\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    assert_eq!(refused(trailing), DecodeErrorKind::TrailingBytes(1));
    assert_eq!(refused(b"\x32\x01\x04\x00\x00\x00"), invalid(1));
    let other_base = b"\x11\x07::V::C2\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x31\x09::V::Tree\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00";
    let bytes = [b"\x01".as_slice(), other_base].concat();
    let other = DecodeErrorKind::OtherBases("::V::C1".to_owned());
    assert_eq!(kind::<Link<C1>>(&bytes, V1_1), other);
}

/// A proxy with an endpoint of an unknown type once made the decoder forget the instances.
#[test]
fn an_opaque_endpoint_between_instances_makes_no_difference() {
    let proxy = "p:opaque -t 99 -e 1.0 -v AAEC";
    let instance = WithMembers {
        prx: Reference::parse(proxy).expect("a proxy"),
        ..WithMembers::default()
    };
    let shared = Ref::<WithMembers>::new(instance);
    let sent: Vec<Link<WithMembers>> = vec![Link::to(&shared), shared.into()];
    for (encoding, format) in FORMATS {
        let bytes = encode(&sent, encoding, format);
        let received: Vec<Link<WithMembers>> = decode(&bytes, encoding).expect("a graph");
        let received: Vec<_> = received.iter().filter_map(Link::get).collect();
        assert!(received[0].ptr_eq(&received[1]));
        assert!(received[0].prx.is_some());
    }
}

#[test]
fn instances_of_encoding_1_0_that_break_the_rules_are_refused() {
    let object = b"\x00\x0d::Ice::Object\x05\x00\x00\x00\x00";
    let refused = |table: &[&[u8]]| {
        let bytes = [b"\xff\xff\xff\xff".as_slice(), &table.concat()].concat();
        kind::<Link<OptC>>(&bytes, V1_0)
    };
    // No positive id; the same id twice; facets; no class but Object, which nothing can make.
    let invalid = DecodeErrorKind::InvalidValue;
    assert_eq!(
        refused(&[b"\x01\x00\x00\x00\x00", object, b"\x00"]),
        invalid(0)
    );
    let one = [b"\x01\x00\x00\x00".as_slice(), object].concat();
    assert_eq!(refused(&[b"\x02", &one, &one, b"\x00"]), invalid(1));
    let facets = b"\x00\x0d::Ice::Object\x05\x00\x00\x00\x01";
    assert_eq!(
        refused(&[b"\x01\x01\x00\x00\x00", facets, b"\x00"]),
        invalid(1)
    );
    let unknown = DecodeErrorKind::UnknownClass("::Ice::Object".to_owned());
    assert_eq!(refused(&[b"\x01", &one, b"\x00"]), unknown);
}
