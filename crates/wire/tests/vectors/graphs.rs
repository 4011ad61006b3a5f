//! Graphs of class instances of any shape, and how they look in Rust.

use std::collections::HashMap;

use floe_wire::encoding::{AnyClass, ClassFormat, ClassInfo, ClassTable, Extends, Link, Ref};
use floe_wire::{Decoder, EncodeError, Encoder, EncodingVersion};
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

/// Builds a graph depth first; links to instances that are being built lead back.
struct Builder<'a> {
    vertices: &'a [Vertex],
    has_tagged: bool,
    links: HashMap<usize, Link<Shape>>,
}

impl Builder<'_> {
    fn link(&mut self, at: usize) -> Link<Shape> {
        if let Some(link) = self.links.get(&at) {
            return link.clone();
        }
        let instance = match self.vertices[at].0 {
            0 => self.instance(at, Self::shape),
            1 => self.instance(at, Self::group),
            _ => self.instance(at, Self::secret),
        };
        self.links.insert(at, instance.clone().into());
        instance.into()
    }

    fn instance<U: Extends<Shape>>(
        &mut self,
        at: usize,
        build: fn(&mut Self, usize) -> U,
    ) -> Ref<Shape> {
        Ref::new_cyclic(|back| {
            self.links.insert(at, back.clone());
            build(self, at)
        })
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
    let links = HashMap::new();
    let mut builder = Builder {
        vertices,
        has_tagged,
        links,
    };
    builder.link(0)
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

#[test]
fn a_cycle_is_printed_compared_and_freed() {
    let ring = || {
        Ref::<Node>::new_cyclic(|back| Node {
            name: "first".to_owned(),
            next: Link::new(Node {
                name: "second".to_owned(),
                next: back.clone(),
            }),
        })
    };
    let (one, other) = (ring(), ring());
    assert_eq!(one, other);
    assert_eq!(
        format!("{one:?}"),
        r#"Node { name: "first", next: Node { name: "second", next: (back to ::V::Node) } }"#
    );

    let second = one.next.get().expect("a ring of two");
    assert!(second.next.get().expect("it is still held").ptr_eq(&one));
    drop(one);
    assert!(second.next.get().is_none());
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, EncodingVersion::V1_1);
    encoder.put(&Link::from(second));
    assert_eq!(encoder.finish(), Err(EncodeError::DanglingLink));
}

#[test]
fn a_decoded_cycle_is_freed_too() {
    for (encoding, format) in FORMATS {
        let sent = Ref::<Node>::new_cyclic(|back| Node {
            name: "alone".to_owned(),
            next: back.clone(),
        });
        let bytes = encode(&Link::from(sent), encoding, format);
        let mut decoder = Decoder::new(&bytes, encoding);
        let link: Link<Node> = decoder.get().expect("a ring");
        decoder.finish_classes().expect("its instances");
        drop(decoder);
        let back = link.get().expect("not nil").next.clone();
        assert!(back.is_back());
        drop(link);
        assert!(back.get().is_none());
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
