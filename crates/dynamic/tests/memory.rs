//! Hostile bytes cannot make decoding take more memory than the documented bound.
//!
//! A binary of its own with one test, so that nothing else allocates meanwhile.

use std::alloc::System;

use floe_dynamic::{Contract, IceReader, JsonWriter, MAX_DEPTH, MAX_MEMORY_PER_BYTE, Value, walk};
use floe_slice::check_source;
use floe_wire::{Decoder, EncodingVersion};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that an error may take, for input of any length.
const ERROR_LEN: usize = 16 * 1024;

/// How many types stand in one another in the deepest of [`SLICE`].
const DEPTH: usize = 4;

/// Types of which a few bytes become a lot of values.
const SLICE: &str = "
    module M
    {
        struct Small { bool a; }
        struct Nested { Small b; }
        sequence<bool> Bools;
        sequence<Bools> BoolLists;
        sequence<BoolLists> BoolTables;
        sequence<Nested> NestedList;
        sequence<string> Strings;
        sequence<byte> Bytes;
        sequence<Object*> Proxies;
        dictionary<bool, Bools> Flags;
        sequence<Flags> FlagsList;
        dictionary<byte, NestedList> Table;
        class Node;
        sequence<Node> Nodes;
        class Node { Nodes all; }
        class Node2 extends Node { optional(1) Nodes more; }
        struct Both { Nodes nodes; Strings strings; }
    }";

#[test]
fn memory_for_hostile_bytes_is_bounded_by_their_number() {
    let contract = Contract::new(check_source(SLICE.as_bytes()).model);
    let types = [
        "BoolLists",
        "BoolTables",
        "NestedList",
        "Strings",
        "Bytes",
        "Proxies",
        "FlagsList",
        "Table",
        "Node",
        "Nodes",
        "Both",
    ];
    let mut most = 0;
    for name in types {
        let r#type = contract.data_type(&format!("M::{name}")).expect("a type");
        for (encoding, bytes) in inputs() {
            let region = Region::new(ALLOCATOR);
            let mut decoder = Decoder::new(&bytes, encoding);
            let decoded: Result<Value, _> = contract.decode(r#type, &mut decoder);
            let taken = region.change().bytes_allocated;
            drop(decoded);
            // What the constant allows for types of any depth, for these.
            let per_byte = MAX_MEMORY_PER_BYTE - 3 * size_of::<Value>() * (MAX_DEPTH - DEPTH);
            let bound = bytes.len() * per_byte + ERROR_LEN;
            assert!(
                taken <= bound,
                "{name}: {taken} of {bound} for {} bytes",
                bytes.len()
            );
            let region = Region::new(ALLOCATOR);
            let mut decoder = Decoder::new(&bytes, encoding);
            let mut reader = IceReader::new(&contract, &mut decoder);
            let mut writer = JsonWriter::new(&contract);
            let walked = walk(&contract.layout_of(r#type), &mut reader, &mut writer);
            let text_len = walked.map_or(0, |()| writer.into_text().len());
            let taken = region.change().bytes_allocated;
            // The text of an instance has the names of its class and members, which are the contract's.
            let bound = bytes.len() * per_byte + 6 * text_len + ERROR_LEN;
            assert!(taken <= bound, "{name}: {taken} of {bound} for text");
            if bytes.len() > ERROR_LEN {
                most = most.max(taken / bytes.len());
            }
        }
    }
    // The test would show nothing if these bytes were refused immediately.
    assert!(
        most > size_of::<Value>(),
        "{most} bytes for a byte of input at most"
    );
}

fn inputs() -> Vec<(EncodingVersion, Vec<u8>)> {
    let mut inputs = Vec::new();
    for bytes in hostile().into_iter().chain(hostile_graphs()) {
        inputs.push((EncodingVersion::V1_0, bytes.clone()));
        inputs.push((EncodingVersion::V1_1, bytes));
    }
    inputs
}

/// Instances inside one another of which each promises as many again as bytes are left, references
/// to one instance over and over, and instances that are as short as can be.
fn hostile_graphs() -> Vec<Vec<u8>> {
    const FIRST: &[u8] = b"\x01\x21\x09::M::Node";
    let mut inputs = Vec::new();
    for len in [1024_usize, 65_536] {
        for inner in [&b"\x01\x22\x01"[..], b"\x02", b"\x01\x22\x01\x00", b"\x00"] {
            let mut bytes = FIRST.to_vec();
            bytes.push(255);
            bytes.extend_from_slice(&((len - bytes.len() - 4) as i32).to_le_bytes());
            while bytes.len() < len {
                bytes.extend_from_slice(inner);
                if inner.len() == 3 {
                    bytes.push(255);
                    let left = len.saturating_sub(bytes.len() + 4);
                    bytes.extend_from_slice(&(left as i32).to_le_bytes());
                }
            }
            inputs.push(bytes);
        }
        // Encoding 1.0: references to instances of which none comes, or one with a list of them.
        let mut bytes = vec![255];
        let count = (len / 4) as i32;
        bytes.extend_from_slice(&count.to_le_bytes());
        for id in 1..=count {
            bytes.extend_from_slice(&(-id).to_le_bytes());
        }
        inputs.push(bytes);
    }
    inputs
}

/// Counts that promise more than follows, that promise just what follows, and that nest.
fn hostile() -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    for len in [16_usize, 1024, 65_536] {
        for fill in [0_u8, 1, 2, 100, 254, 255] {
            for count in [len, len / 2, len * 2, i32::MAX as usize] {
                let mut bytes = vec![255];
                bytes.extend_from_slice(&(count as i32).to_le_bytes());
                bytes.resize(len + 5, fill);
                inputs.push(bytes);
            }
        }
        // A sequence of a sequence of ..., each as long as all the bytes that are left.
        let mut bytes = Vec::new();
        while bytes.len() + 5 < len {
            bytes.push(255);
            let left = len - bytes.len() - 4;
            bytes.extend_from_slice(&(left as i32).to_le_bytes());
        }
        bytes.resize(len, 0);
        inputs.push(bytes);
    }
    inputs
}
