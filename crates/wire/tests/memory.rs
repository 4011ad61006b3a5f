//! Hostile bytes cannot make reading class instances take more memory than the documented bound.
//!
//! A binary of its own with one test, so that nothing else allocates meanwhile.

use std::alloc::System;

use floe_wire::encoding::{
    AnyClass, CLASS_MEMORY_PER_BYTE, Class, ClassInfo, ClassReader, ClassTable, Classes, Link,
};
use floe_wire::{DecodeError, Decoder, Encoder, EncodingVersion};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that the tables of ids take at least, for input of any length.
const BASE_LEN: usize = 16 * 1024;

#[test]
fn memory_for_hostile_instances_is_bounded_by_their_bytes() {
    let mut most = 0;
    for (name, encoding, bytes) in hostile() {
        let region = Region::new(ALLOCATOR);
        let decoded = decode(&bytes, encoding);
        let taken = region.change().bytes_allocated;
        drop(decoded);
        let bound = bytes.len() * CLASS_MEMORY_PER_BYTE + BASE_LEN;
        assert!(
            taken <= bound,
            "{name}: {taken} of {bound} for {} bytes",
            bytes.len()
        );
        most = most.max(taken / bytes.len());
    }
    // The test would show nothing if these bytes were refused immediately.
    assert!(most > 32, "{most} bytes for a byte of input at most");
}

fn decode(bytes: &[u8], encoding: EncodingVersion) -> Result<Vec<Link<dyn AnyClass>>, DecodeError> {
    let mut decoder = Decoder::new(bytes, encoding).with_classes(&CLASSES);
    let links = decoder.get()?;
    decoder.finish_classes()?;
    decoder.finish()?;
    Ok(links)
}

static CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<Named>()], &[]);

/// `class Names { sequence<Named> others; }`, and `class Named extends Names { optional(1) string name; }`.
#[derive(Debug, PartialEq, Default)]
struct Named {
    base: Names,
    name: Option<String>,
}

#[derive(Debug, PartialEq, Default)]
struct Names {
    others: Vec<Link<Named>>,
}

impl Class for Named {
    const TYPE_ID: &'static str = "::N::Named";

    fn classes() -> &'static dyn Classes {
        &CLASSES
    }

    fn encode_members(&self, _: &mut Encoder<'_>) {}

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let name = reader.slice(Self::TYPE_ID, |decoder| decoder.tagged(1))?;
        let others = reader.slice("::N::Names", |decoder| decoder.get())?;
        let base = Names { others };
        Ok(Self { base, name })
    }
}

/// Inputs of which few bytes become a lot: many references, many small instances, many small slices,
/// long type ids by index, and counts that promise more than follows.
fn hostile() -> Vec<(&'static str, EncodingVersion, Vec<u8>)> {
    const COUNT: usize = 50_000;
    let sequence = |count: usize, elements: &[u8], repeated: &[u8]| {
        let mut bytes = vec![255];
        bytes.extend((count as i32).to_le_bytes());
        bytes.extend(elements);
        let repeats = count.saturating_sub(usize::from(!elements.is_empty()));
        bytes.extend(repeated.repeat(repeats.min(COUNT)));
        bytes
    };
    let first = b"\x01\x31\x03::C\x04\x00\x00\x00";
    let long = [
        b"\x01\x31\xfe".as_slice(),
        &[b'x'; 254],
        b"\x04\x00\x00\x00",
    ]
    .concat();
    let slices = b"\x13\x01\x04\x00\x00\x00".repeat(COUNT);
    let table = [
        b"\x01\x39\x03::C\x05\x00\x00\x00\x01\xff".as_slice(),
        &(COUNT as i32).to_le_bytes(),
        &b"\x02".repeat(COUNT),
    ]
    .concat();
    // Each table says that all that follows are its entries.
    let count = (COUNT as i32).to_le_bytes();
    let nested = [b"\x01\x3a\x01\x05\x00\x00\x00\x01\xff".as_slice(), &count].concat();
    let promised = [
        b"\x01\x39\x03::C\x05\x00\x00\x00\x01\xff".as_slice(),
        &count,
        &nested.repeat(98),
        &[0; COUNT],
    ]
    .concat();
    // Each sequence says so, after the reader has looked in vain for the tagged name.
    let others = [b"\xff\x20\xff".as_slice(), &count].concat();
    let named = [
        b"\x01\x01\x05\x0a::N::Named".as_slice(),
        &others,
        &[b"\x01\x06\x01".as_slice(), &others].concat().repeat(98),
        &[0; COUNT],
    ]
    .concat();
    let object = b"\x00\x0d::Ice::Object\x05\x00\x00\x00\x00";
    let mut found = vec![0, 255];
    found.extend((COUNT as i32).to_le_bytes());
    for id in 1..=COUNT as i32 {
        found.extend(id.to_le_bytes());
        found.extend(match id {
            1 => object.as_slice(),
            _ => b"\x01\x01\x05\x00\x00\x00\x00",
        });
    }
    found.push(0);
    let wanted: Vec<u8> = (1..=COUNT as i32)
        .flat_map(|id| (-id).to_le_bytes())
        .collect();
    let (v1_0, v1_1) = (EncodingVersion::V1_0, EncodingVersion::V1_1);
    vec![
        ("nil", v1_1, sequence(COUNT, b"", b"\x00")),
        ("one shared", v1_1, sequence(COUNT, first, b"\x02")),
        (
            "small ones",
            v1_1,
            sequence(COUNT, first, b"\x01\x32\x01\x04\x00\x00\x00"),
        ),
        (
            "long ids",
            v1_1,
            sequence(COUNT, &long, b"\x01\x32\x01\x04\x00\x00\x00"),
        ),
        (
            "slices",
            v1_1,
            [b"\x01\x01".as_slice(), &slices, b"\x33\x01\x04\x00\x00\x00"].concat(),
        ),
        ("table", v1_1, [b"\x01".as_slice(), &table].concat()),
        ("named", v1_1, named),
        ("tables", v1_1, [b"\x01".as_slice(), &promised].concat()),
        ("promise", v1_1, sequence(i32::MAX as usize, b"", b"\x00")),
        ("bodies", v1_0, found),
        ("wanted", v1_0, sequence(COUNT, &wanted, b"")),
    ]
}
