//! Cycles that are received, built, kept in part and dropped take no memory in the end.
//!
//! A binary of its own with one test, so that nothing else allocates meanwhile. `FLOE_GRAPHS=1000000`
//! tries as many graphs.

use std::alloc::System;

use floe_wire::encoding::{
    Class, ClassFormat, ClassInfo, ClassReader, ClassTable, Classes, Graph, Link,
};
use floe_wire::{DecodeError, Decoder, Encoder, EncodingVersion};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const GRAPHS: u64 = 5_000;

/// Bytes that the test harness may allocate meanwhile.
const NOTE_LEN: usize = 4096;

static CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<Node>()], &[]);

#[derive(Debug, Clone, PartialEq, Default)]
struct Node {
    name: String,
    next: Link<Node>,
    others: Vec<Link<Node>>,
}

impl Class for Node {
    const TYPE_ID: &'static str = "::M::Node";

    fn classes() -> &'static dyn Classes {
        &CLASSES
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.name);
        encoder.put(&self.next);
        encoder.put(&self.others);
    }

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let (name, next, others) = reader.slice(Self::TYPE_ID, |decoder| {
            Ok((decoder.get()?, decoder.get()?, decoder.get()?))
        })?;
        Ok(Self { name, next, others })
    }
}

/// A ring of nodes, each with links to itself, to the first, and to one that is in no cycle.
fn ring(len: u64) -> Link<Node> {
    let mut graph = Graph::new();
    let nodes: Vec<_> = (0..len)
        .map(|number| {
            let name = number.to_string();
            graph.add(Node {
                name,
                ..Node::default()
            })
        })
        .collect();
    for (node, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        let alone = Link::new(Node::default());
        graph[node].next = next.link();
        graph[node].others = vec![node.link(), nodes[0].link(), alone];
    }
    graph.finish().expect("a whole ring");
    nodes[0].link()
}

fn send_and_keep_a_part(number: u64) {
    let sent = vec![ring(2 + number % 5), ring(1), Link::nil()];
    for (encoding, format) in [
        (EncodingVersion::V1_0, ClassFormat::Compact),
        (EncodingVersion::V1_1, ClassFormat::Compact),
        (EncodingVersion::V1_1, ClassFormat::Sliced),
    ] {
        let mut buffer = Vec::new();
        let mut encoder = Encoder::new(&mut buffer, encoding);
        encoder.set_class_format(format);
        encoder.put(&sent);
        encoder.finish_classes();
        encoder.finish().expect("rings can be encoded");

        let mut decoder = Decoder::new(&buffer, encoding);
        let received: Vec<Link<Node>> = decoder.get().expect("rings");
        decoder.finish_classes().expect("their nodes");
        drop(decoder);
        assert_eq!(received, sent);
        let first = received[0].get().expect("a ring");
        drop(received);
        let second = first.next.get().expect("the next node");
        drop(first);
        let copy = Link::<Node>::new((*second).clone());
        drop(second);
        let second = copy.get().expect("a node");
        assert_eq!(second.others.len(), 3);
        assert!(
            second
                .next
                .get()
                .is_some_and(|third| third.next.get().is_some())
        );

        // Bytes that end too early, so that the nodes read so far are given up.
        let mut decoder = Decoder::new(&buffer[..buffer.len() - 12], encoding);
        let cut = decoder.get::<Vec<Link<Node>>>();
        let cut = cut.and_then(|links| decoder.finish_classes().map(|()| links));
        assert!(cut.is_err());
    }
}

#[test]
fn graphs_with_cycles_leave_no_memory_behind() {
    let graphs = std::env::var("FLOE_GRAPHS").map_or(GRAPHS, |count| {
        count.parse().expect("FLOE_GRAPHS is a number of graphs")
    });
    // A thread allocates some memory once, and keeps it.
    (0..10).for_each(send_and_keep_a_part);
    let region = Region::new(ALLOCATOR);
    (0..graphs).for_each(send_and_keep_a_part);
    let change = region.change();
    assert!(change.allocations as u64 > graphs);
    // A graph that stays takes more than a byte; the test's own thread may note that it takes long.
    let left = change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated);
    assert!(left < NOTE_LEN, "{left} bytes are left of {graphs} graphs");
}
