//! Graphs of class instances of any shape, and how they look in Rust.

use std::collections::HashMap;

use floe_wire::encoding::{
    AnyClass, ClassFormat, ClassInfo, ClassTable, Extends, Graph, Link, Ref,
};
use floe_wire::{Decoder, EncodingVersion};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::classes::encode;
use crate::types::{self, C1, C2, Node, Tree, class};

static KNOWN: ClassTable =
    ClassTable::new(&[ClassInfo::of::<Shape>(), ClassInfo::of::<Group>()], &[]);
static ALL: ClassTable = ClassTable::new(&[ClassInfo::of::<Secret>()], &[&KNOWN]);

class!("::G::Shape" in KNOWN, Shape { value: i32, next: Link<Shape>; 3 peer: Link<Shape> });
class!("::G::Group" (9) in KNOWN, Group: Shape {
    members: Vec<Link<Shape>>; 1 note: String, 40 owner: Link<dyn AnyClass>
});
class!("::G::Secret" in ALL, Secret: Group, Shape { key: Link<Shape>; 2 spare: Link<Shape> });

/// An instance of a graph: a kind, and by index what its links lead to.
type Vertex = (u8, [Option<prop::sample::Index>; 4]);

fn graph() -> impl Strategy<Value = Vec<Vertex>> {
    let index = proptest::option::of(any::<prop::sample::Index>());
    vec(
        (
            0..3_u8,
            [index.clone(), index.clone(), index.clone(), index],
        ),
        1..20,
    )
}

/// Builds what the first instance leads to.
struct Builder<'a> {
    vertices: &'a [Vertex],
    has_tagged: bool,
    graph: Graph,
    links: HashMap<usize, Link<Shape>>,
}

impl Builder<'_> {
    fn link(&mut self, at: usize) -> Link<Shape> {
        if let Some(link) = self.links.get(&at) {
            return link.clone();
        }
        match self.vertices[at].0 {
            0 => self.instance(at, Self::shape),
            1 => self.instance(at, Self::group),
            _ => self.instance(at, Self::secret),
        };
        self.links[&at].clone()
    }

    fn instance<U: Extends<Shape>>(&mut self, at: usize, build: fn(&mut Self, usize) -> U) {
        let draft = self.graph.draft::<U>();
        self.links.insert(at, draft.link());
        let value = build(self, at);
        self.graph.fill(&draft, value);
    }

    fn shape(&mut self, at: usize) -> Shape {
        Shape {
            value: at as i32,
            next: self.target(at, 0),
            peer: self.tagged_target(at, 1),
        }
    }

    fn group(&mut self, at: usize) -> Group {
        Group {
            members: vec![self.target(at, 2), self.target(at, 2), self.target(at, 0)],
            note: self.has_tagged.then(|| "n".repeat(at)),
            owner: self.tagged_target(at, 3).and_then(|link| link.cast()),
            base: self.shape(at),
        }
    }

    fn secret(&mut self, at: usize) -> Secret {
        Secret {
            key: self.target(at, 3),
            spare: self.tagged_target(at, 2),
            base: self.group(at),
        }
    }

    fn target(&mut self, at: usize, which: usize) -> Link<Shape> {
        let target = self.vertices[at].1[which];
        target.map_or_else(Link::nil, |index| {
            self.link(index.index(self.vertices.len()))
        })
    }

    fn tagged_target(&mut self, at: usize, which: usize) -> Option<Link<Shape>> {
        self.has_tagged.then(|| self.target(at, which))
    }
}

fn build(vertices: &[Vertex], has_tagged: bool) -> Link<Shape> {
    let mut builder = Builder {
        vertices,
        has_tagged,
        graph: Graph::new(),
        links: HashMap::new(),
    };
    let link = builder.link(0);
    builder.graph.finish().expect("a whole graph");
    link
}

fn decode(bytes: &[u8], encoding: EncodingVersion, classes: &ClassTable) -> Link<Shape> {
    let mut decoder = Decoder::new(bytes, encoding).with_classes(classes);
    let link = decoder.get().expect("a graph");
    decoder.finish_classes().expect("its instances");
    decoder.finish().expect("nothing more");
    link
}

pub(crate) const FORMATS: [(EncodingVersion, ClassFormat); 3] = [
    (EncodingVersion::V1_0, ClassFormat::Compact),
    (EncodingVersion::V1_1, ClassFormat::Compact),
    (EncodingVersion::V1_1, ClassFormat::Sliced),
];

proptest! {
    #[test]
    fn any_graph_comes_back_from_every_format(vertices in graph()) {
        for (encoding, format) in FORMATS {
            let sent = build(&vertices, encoding == EncodingVersion::V1_1);
            let bytes = encode(&sent, encoding, format);
            let received = decode(&bytes, encoding, &ALL);
            prop_assert_eq!(&received, &sent);
            // Equality does not see what is shared, bytes do.
            prop_assert_eq!(encode(&received, encoding, format), bytes);
        }
    }

    #[test]
    fn what_a_receiver_does_not_know_comes_back_through_it(vertices in graph()) {
        let sent = build(&vertices, true);
        let bytes = encode(&sent, EncodingVersion::V1_1, ClassFormat::Sliced);
        let received = decode(&bytes, EncodingVersion::V1_1, &KNOWN);
        let again = encode(&received, EncodingVersion::V1_1, ClassFormat::Sliced);
        let back = decode(&again, EncodingVersion::V1_1, &ALL);
        prop_assert_eq!(back, sent);
    }

    #[test]
    fn any_graph_can_be_printed(vertices in graph()) {
        let text = format!("{:?}", build(&vertices, true));
        prop_assert!(text.len() < 100_000);
    }
}

#[test]
fn a_tree_is_built_and_read_plainly() {
    let tree = Ref::<Tree>::new(Tree {
        value: 1,
        left: Link::new(Tree {
            value: 2,
            ..Tree::default()
        }),
        right: Link::nil(),
    });
    let left = tree.left.get().expect("it was built with one");
    assert_eq!((tree.value, left.value), (1, 2));
    assert!(tree.right.get().is_none());
    assert_eq!(
        format!("{tree:?}"),
        "Tree { value: 1, left: Tree { value: 2, left: nil, right: nil }, right: nil }"
    );
}

#[test]
fn a_link_to_a_base_holds_a_derived_instance_which_can_be_cast() {
    let link = Link::<C1>::new(C2 {
        base: C1 {
            i: 1,
            s: "one".to_owned(),
        },
        d: 0.5,
    });
    let instance = link.get().expect("it is not nil");
    assert_eq!((instance.i, instance.any().class_type_id()), (1, "::V::C2"));
    let derived = instance.cast::<C2>().expect("it is one");
    assert_eq!((derived.s.as_str(), derived.d), ("one", 0.5));
    assert!(instance.cast::<types::C3>().is_none());
}

/// Nodes in a ring; a link to the first.
pub(crate) fn ring<const N: usize>(names: [&str; N]) -> Link<Node> {
    let mut graph = Graph::new();
    let nodes = names.map(|name| {
        graph.add(Node {
            name: name.to_owned(),
            next: Link::nil(),
        })
    });
    for (node, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        graph[node].next = next.link();
    }
    graph.finish().expect("a whole ring");
    nodes[0].link()
}

fn next(node: &Link<Node>) -> Link<Node> {
    node.get().expect("a node").next.clone()
}

#[test]
fn a_cycle_is_printed_and_compared() {
    let one = ring(["first", "second"]);
    assert_eq!(one, ring(["first", "second"]));
    assert_ne!(one, ring(["first", "third"]));
    assert_ne!(one, ring(["first", "second", "third"]));
    assert_eq!(
        format!("{one:?}"),
        r#"Node { name: "first", next: Node { name: "second", next: (again ::V::Node) } }"#
    );
}

#[test]
fn a_part_of_a_cycle_leads_to_all_of_it() {
    for (encoding, format) in FORMATS {
        let sent = ring(["first", "second"]);
        let bytes = encode(&sent, encoding, format);
        let received: Link<Node> = crate::classes::decode(&bytes, encoding).expect("a ring");
        for first in [sent, received] {
            let second = next(&first);
            drop(first);
            let first = next(&second);
            assert_eq!(first.get().expect("still there").name, "first");
            drop(second);
            let second = next(&first);
            drop(first);
            let sent_on = encode(&next(&second), encoding, format);
            assert_eq!(sent_on, bytes);
        }
    }
}

#[test]
fn an_instance_that_is_not_shared_can_be_changed() {
    let mut node = Ref::<Node>::new(Node::default());
    node.get_mut().expect("it is not shared").name = "new".to_owned();
    assert_eq!(node.name, "new");
    let _other = node.clone();
    assert!(node.get_mut().is_none());
}

#[test]
fn links_and_refs_can_be_sent_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Link<Node>>();
    is_send_and_sync::<Ref<dyn AnyClass>>();
}

/// Sixty levels of two links to the same instance: as a tree they would be 2^60.
#[test]
fn what_is_shared_is_printed_and_compared_once() {
    let diamond = || {
        (0..60).fold(Link::<Tree>::nil(), |below, value| {
            Link::new(Tree {
                value,
                left: below.clone(),
                right: below,
            })
        })
    };
    assert!(format!("{:?}", diamond()).len() < 10_000);
    assert_eq!(diamond(), diamond());
}
