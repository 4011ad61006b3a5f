//! Hostile bytes cannot make reading values take more memory than the documented bound.
//!
//! A binary of its own with one test, so that nothing else allocates meanwhile.

use std::alloc::System;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};

use floe_wire::encoding::{Collected, VALUE_MEMORY_PER_BYTE};
use floe_wire::{Decode, DecodeError, Decoder, EncodingVersion, View};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Elements in an input.
const COUNT: usize = 20_000;

/// Four levels of sequences.
type Deep<T> = Vec<Vec<Vec<Vec<T>>>>;

/// Four levels of linked lists.
type Linked<T> = LinkedList<LinkedList<LinkedList<LinkedList<T>>>>;
type Queues<T> = Collected<VecDeque<Collected<VecDeque<Collected<VecDeque<T>>>>>>;

/// A value of which the memory is many times its least length on the wire.
#[derive(Default, Clone)]
struct Wide([String; 10]);

impl Decode for Wide {
    const MIN_WIRE_LEN: usize = 10;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut wide = Self::default();
        for text in &mut wide.0 {
            *text = decoder.get()?;
        }
        Ok(wide)
    }
}

#[test]
fn memory_for_hostile_values_is_bounded_by_their_bytes() {
    let zeros = sequence(&[0], COUNT);
    // Each level says that all that follows are its elements.
    let promises = [sequence(&[], COUNT).repeat(16), vec![0; COUNT + 16 * 5]].concat();
    let entries = sequence(&[1, 0, 0], COUNT);
    let numbered = sequence(&[1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], COUNT);

    let most = [
        taken::<Vec<String>>("empty strings", &zeros),
        taken::<Vec<Vec<String>>>("empty sequences", &zeros),
        taken::<Vec<BTreeMap<String, String>>>("empty dictionaries", &zeros),
        taken::<Vec<BTreeMap<String, String>>>("sorted", &entries),
        taken::<Vec<HashMap<String, String>>>("unsorted", &entries),
        taken::<Vec<BTreeMap<u8, Wide>>>("wide values", &numbered),
        taken::<Vec<Wide>>("wide", &sequence(&[0; 10], COUNT)),
        taken::<Vec<Wide>>("cut", &zeros),
        taken::<Deep<Deep<Deep<Deep<String>>>>>("promises at each level", &promises),
        taken::<Linked<Linked<Linked<Linked<String>>>>>("promises in lists", &promises),
        taken::<Queues<Queues<Queues<Queues<String>>>>>("promises in queues", &promises),
        viewed::<Vec<&str>>("borrowed strings", &zeros),
        viewed::<Vec<Vec<&[u8]>>>("borrowed bytes", &zeros),
        viewed::<Vec<BTreeMap<&str, &str>>>("borrowed entries", &entries),
        viewed::<Deep<Deep<Deep<Deep<&str>>>>>("borrowed promises", &promises),
    ];
    // The test would show nothing if these bytes were refused immediately.
    let most = most.into_iter().max().unwrap_or_default();
    assert!(most > VALUE_MEMORY_PER_BYTE / 2, "{most}");
}

/// A sequence of `count` elements with these bytes.
fn sequence(element: &[u8], count: usize) -> Vec<u8> {
    let mut bytes = vec![255];
    bytes.extend((count as i32).to_le_bytes());
    bytes.extend(element.repeat(count));
    bytes
}

fn taken<T: Decode>(name: &str, bytes: &[u8]) -> usize {
    bounded(name, bytes, |decoder| decoder.get::<T>().ok())
}

fn viewed<'a, V: View<'a>>(name: &str, bytes: &'a [u8]) -> usize {
    bounded(name, bytes, |decoder| decoder.view::<V>().ok())
}

/// Memory that reading takes, for a byte of the input, all that is freed meanwhile included.
fn bounded<'a, T>(
    name: &str,
    bytes: &'a [u8],
    read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
) -> usize {
    let region = Region::new(ALLOCATOR);
    let value = read(&mut Decoder::new(bytes, EncodingVersion::V1_1));
    let taken = region.change().bytes_allocated;
    drop(value);
    let bound = bytes.len() * VALUE_MEMORY_PER_BYTE;
    assert!(
        taken <= bound,
        "{name}: {taken} of {bound} for {} bytes",
        bytes.len()
    );
    taken / bytes.len()
}
