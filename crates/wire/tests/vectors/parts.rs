//! Parts of received graphs: whatever is kept is whole, though the rest has been dropped.
//!
//! `FLOE_GRAPHS=100000` tries as many graphs.

use std::collections::{BTreeSet, HashMap};

use floe_wire::encoding::{AnyClass, ClassFormat, ClassTable, GRAPH_DEPTH_MAX, Graph, Link};
use floe_wire::{DecodeError, Decoder, EncodeError, Encoder, EncodingVersion};

use crate::classes::encode;
use crate::graphs::{ALL, FORMATS, Group, KNOWN, Secret, Shape};

const GRAPHS: u64 = 3_000;

/// A sequence of numbers that a seed decides: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Some links to the instances of a graph in which anything may lead to anything.
fn draw(random: &mut Random, has_tagged: bool) -> Vec<Link<Shape>> {
    let mut graph = Graph::new();
    let count = 1 + random.below(12);
    let mut links: Vec<Link<Shape>> = Vec::new();
    let (mut shapes, mut groups, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        match random.below(3) {
            0 => shapes.push(graph.add(Shape::default())),
            1 => groups.push(graph.add(Group::default())),
            _ => secrets.push(graph.add(Secret::default())),
        }
    }
    links.extend(shapes.iter().map(|draft| draft.link()));
    links.extend(groups.iter().map(|draft| draft.link()));
    links.extend(secrets.iter().map(|draft| draft.link()));
    let mut value = 0;
    let mut target = |random: &mut Random| match random.below(4) {
        0 => Link::nil(),
        _ => links[random.below(links.len())].clone(),
    };
    let mut shape = |random: &mut Random, target: &mut dyn FnMut(&mut Random) -> Link<Shape>| {
        value += 1;
        Shape {
            value,
            next: target(random),
            peer: has_tagged.then(|| target(random)),
        }
    };
    let mut group =
        |random: &mut Random, target: &mut dyn FnMut(&mut Random) -> Link<Shape>| Group {
            base: shape(random, target),
            members: (0..random.below(4)).map(|_| target(random)).collect(),
            note: has_tagged.then(|| "note".to_owned()),
            owner: target(random).cast().filter(|_| has_tagged),
        };
    for draft in &groups {
        graph[draft] = group(random, &mut target);
    }
    for draft in &secrets {
        graph[draft] = Secret {
            base: group(random, &mut target),
            key: target(random),
            spare: has_tagged.then(|| target(random)),
        };
    }
    for draft in &shapes {
        graph[draft] = shape(random, &mut target);
    }
    let kept = (0..1 + random.below(3)).map(|_| target(random)).collect();
    graph.finish().expect("a whole graph");
    kept
}

/// All that an instance leads to, unknown slices included.
fn targets(link: &Link<Shape>) -> Vec<Link<Shape>> {
    let Some(instance) = link.get() else {
        return Vec::new();
    };
    let mut targets: Vec<Link<dyn AnyClass>> = Vec::new();
    targets.push(instance.next.clone().cast().expect("any class"));
    targets.extend(instance.peer.iter().filter_map(Link::cast));
    if let Some(group) = instance.cast::<Group>() {
        targets.extend(group.members.iter().filter_map(Link::cast));
        targets.extend(group.owner.clone());
    }
    if let Some(secret) = instance.cast::<Secret>() {
        targets.extend(secret.key.cast());
        targets.extend(secret.spare.iter().filter_map(Link::cast));
    }
    let kept = instance.unknown_slices().iter();
    targets.extend(kept.flat_map(|slice| slice.instances().to_vec()));
    let targets = targets.into_iter().filter(|link| !link.is_nil());
    let targets = targets.map(|link| link.cast().expect("a shape"));
    targets.collect()
}

/// Everything that is reached from some links, by the value that each instance has for itself.
fn reached(links: &[Link<Shape>]) -> HashMap<i32, Link<Shape>> {
    let mut found = HashMap::new();
    let mut next = links.to_vec();
    while let Some(link) = next.pop() {
        let instance = link.get();
        if instance.is_some_and(|it| found.insert(it.value, link.clone()).is_none()) {
            next.extend(targets(&link));
        }
    }
    found
}

/// A link to something that is reached by some steps.
fn walk(random: &mut Random, links: &[Link<Shape>]) -> Link<Shape> {
    let mut link = links[random.below(links.len())].clone();
    for _ in 0..random.below(8) {
        let next = targets(&link);
        if next.is_empty() {
            break;
        }
        link = next[random.below(next.len())].clone();
    }
    link
}

/// The counterparts, in what was sent, of links to what was received.
fn counterparts(links: &[Link<Shape>], sent: &HashMap<i32, Link<Shape>>) -> Vec<Link<Shape>> {
    let link = |link: &Link<Shape>| match link.get() {
        Some(instance) => sent[&instance.value].clone(),
        None => Link::nil(),
    };
    links.iter().map(link).collect()
}

fn decode_with(
    bytes: &[u8],
    encoding: EncodingVersion,
    classes: &ClassTable,
) -> Result<Vec<Link<Shape>>, DecodeError> {
    let mut decoder = Decoder::new(bytes, encoding).with_classes(classes);
    let links = decoder.get()?;
    decoder.finish_classes()?;
    decoder.finish()?;
    Ok(links)
}

#[test]
fn any_part_of_any_graph_is_sent_on_as_it_was_received() {
    let graphs = std::env::var("FLOE_GRAPHS").map_or(GRAPHS, |count| {
        count.parse().expect("FLOE_GRAPHS is a number of graphs")
    });
    let (mut in_cycles, mut sliced) = (0, 0);
    for seed in 0..graphs {
        for (encoding, format) in FORMATS {
            let random = &mut Random(seed);
            let sent = draw(random, encoding == EncodingVersion::V1_1);
            let bytes = encode(&sent, encoding, format);
            let classes = match format {
                ClassFormat::Sliced => &KNOWN,
                ClassFormat::Compact => &ALL,
            };
            let received = decode_with(&bytes, encoding, classes);
            let received = received.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let kept: Vec<Link<Shape>> = (0..1 + random.below(3))
                .map(|_| walk(random, &received))
                .collect();
            drop(received);

            let expected = counterparts(&kept, &reached(&sent));
            let found = reached(&kept);
            assert_eq!(found.len(), reached(&expected).len(), "seed {seed}");
            in_cycles += u64::from(found.values().any(|link| {
                let value = link.get().map(|instance| instance.value);
                value.is_some_and(|value| reached(&targets(link)).contains_key(&value))
            }));
            let mut kept_slices = found.values().filter_map(Link::get);
            sliced += u64::from(kept_slices.any(|it| !it.unknown_slices().is_empty()));
            drop(found);

            let again = encode(&kept, encoding, format);
            assert_eq!(again, encode(&expected, encoding, format), "seed {seed}");
            let back = decode_with(&again, encoding, &ALL);
            assert_eq!(back.as_ref(), Ok(&expected), "seed {seed}");
            if format == ClassFormat::Compact {
                assert_eq!(kept, expected, "seed {seed}");
            }
        }
    }
    // Else these graphs would show little.
    assert!(
        in_cycles > graphs && sliced > graphs / 4,
        "{in_cycles}, {sliced}"
    );
}

#[test]
fn a_graph_with_an_empty_draft_is_not_finished() {
    let mut graph = Graph::new();
    let draft = graph.draft::<Shape>();
    let link: Link<Shape> = draft.link();
    assert_eq!(graph.finish(), Err(EncodeError::IncompleteInstance));
    assert!(link.get().is_none() && !link.is_nil());
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
    encoder.put(&link);
    assert_eq!(encoder.finish(), Err(EncodeError::IncompleteInstance));
}

#[test]
fn what_leads_back_into_a_graph_must_be_part_of_it() {
    let mut graph = Graph::new();
    let inside = graph.add(Shape::default());
    let between = Link::new(Shape {
        next: inside.link(),
        ..Shape::default()
    });
    graph[&inside].next = Link::new(Shape {
        next: between,
        ..Shape::default()
    });
    let outside = EncodeError::OutsideGraph("::G::Shape".to_owned());
    assert_eq!(graph.finish(), Err(outside));
}

#[test]
fn graphs_that_lead_to_one_another_are_finished_one_after_the_other() {
    let (mut one, mut other) = (Graph::new(), Graph::new());
    let (first, second) = (one.add(Shape::default()), other.add(Shape::default()));
    one[&first].next = second.link();
    other[&second].value = 2;
    let unfinished = EncodeError::OtherGraph("::G::Shape".to_owned());
    assert_eq!(one.finish(), Err(unfinished));

    let mut one = Graph::new();
    let first = one.add(Shape::default());
    one[&first].next = second.link();
    other.finish().expect("it leads to no other");
    one.finish().expect("the other one is finished");
    let first: Link<Shape> = first.link();
    drop(second);
    let second = first.get().expect("a shape").next.get();
    assert_eq!(second.expect("it is held").value, 2);
}

#[test]
fn links_that_were_taken_before_a_graph_was_finished_hold_it_wherever_they_stand() {
    let mut graph = Graph::new();
    let [one, other] = [1, 2].map(|value| {
        graph.add(Shape {
            value,
            ..Shape::default()
        })
    });
    graph[&one].next = other.link();
    graph[&other].next = one.link();
    let taken = std::mem::take(&mut graph[&one].next);
    graph[&one].next = taken.clone();
    let outside = Link::<Shape>::new(Shape {
        next: one.link(),
        ..Shape::default()
    });
    graph.finish().expect("a whole graph");
    drop((one, other));
    for link in [taken, outside.get().expect("a shape").next.clone()] {
        let values = reached(&[link]).into_keys().collect::<BTreeSet<_>>();
        assert_eq!(values, BTreeSet::from([1, 2]));
    }
}

/// Every node leads to the one before, and to the first: so from the last one the others are as deep
/// as they are many.
#[test]
fn a_graph_that_is_deeper_from_another_instance_is_printed_compared_and_refused() {
    let ladder = || {
        let mut graph = Graph::new();
        let first = graph.add(Shape::default());
        let mut last = first.clone();
        for value in 1..20_000 {
            let next = last.link();
            let peer = Some(first.link());
            last = graph.add(Shape { value, next, peer });
        }
        graph[&first].next = last.link();
        graph.finish().expect("a whole graph");
        last.link::<Shape>()
    };
    let (one, other) = (ladder(), ladder());
    assert_eq!(one, other);
    assert!(format!("{one:?}").contains("(deeper ::G::Shape)"));
    for (encoding, format) in FORMATS {
        let mut buffer = Vec::new();
        let mut encoder = Encoder::new(&mut buffer, encoding);
        encoder.set_class_format(format);
        encoder.put(&one);
        encoder.finish_classes();
        let too_deep = EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX);
        assert_eq!(encoder.finish(), Err(too_deep));
    }
}

#[test]
fn a_link_is_not_larger_than_two_pointers() {
    assert_eq!(size_of::<Link<Shape>>(), 2 * size_of::<usize>());
}
