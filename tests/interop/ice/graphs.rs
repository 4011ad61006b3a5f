//! Graphs of class instances through an Ice for Python server and back: sharing, cycles, derived classes,
//! optional members, in every encoding and format.
//!
//! The classes are written out here as generated code will have them.

use std::collections::HashMap;

use floe::classes::{
    AnyClass, Class, ClassInfo, ClassReader, ClassTable, Classes, Extends, Graph, Link,
};
use floe::encoding::{ClassFormat, Encapsulation, Encoder};
use floe::message::Outcome;
use floe::{Communicator, DecodeError, EncodingVersion, OperationMode, Proxy};
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

/// Graphs in each encoding and format.
const COUNT: u64 = 100;

const FORMATS: [(EncodingVersion, ClassFormat, &str); 3] = [
    (EncodingVersion::V1_0, ClassFormat::Compact, "compact"),
    (EncodingVersion::V1_1, ClassFormat::Compact, "compact"),
    (EncodingVersion::V1_1, ClassFormat::Sliced, "sliced"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn graphs_come_back_from_ice_as_they_were() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut python = ice.peer("graphs", Language::Python);
    let mut server = Peer::start("the echo of graphs", &mut python);
    let communicator = Communicator::new();
    let echo: Proxy = communicator.proxy(&server.ready()).expect("a proxy");
    for (encoding, format, operation) in FORMATS {
        for seed in 0..COUNT {
            let has_tagged = encoding != EncodingVersion::V1_0;
            let sent = Builder::new(seed, has_tagged).build();
            let parameters = encode(&sent, encoding, format);
            let outcome = echo
                .invoke(operation, OperationMode::Normal, &parameters)
                .await;
            let Ok(Some(Outcome::Returned(results))) = outcome else {
                panic!("{encoding} {operation}, graph {seed}: {outcome:?}");
            };
            let received = decode(&results).expect("a graph");
            assert_eq!(received, sent, "{encoding} {operation}, graph {seed}");
            // Equality does not see what is shared; the bytes do, where Ice has no choice of order.
            if encoding == EncodingVersion::V1_1 {
                assert_eq!(results, parameters, "{operation}, graph {seed}");
            }
        }
    }
    server.close_input();
    server.succeed();
}

fn encode(graph: &Link<Node>, encoding: EncodingVersion, format: ClassFormat) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut encoder = Encoder::new(&mut buffer, encoding);
    encoder.encapsulation(encoding, |encoder| {
        encoder.set_class_format(format);
        encoder.put(graph);
        encoder.finish_classes();
    });
    encoder.finish().expect("the graph can be encoded");
    buffer
}

fn decode(results: &[u8]) -> Result<Link<Node>, DecodeError> {
    let mut decoder = Encapsulation::parse(results)?.decoder()?;
    let graph = decoder.get()?;
    decoder.finish_classes()?;
    decoder.finish()?;
    Ok(graph)
}

/// Makes a graph of some instances with links to any of them, always the same for a seed.
struct Builder {
    state: u64,
    count: u64,
    has_tagged: bool,
    graph: Graph,
    links: HashMap<u64, Link<Node>>,
}

impl Builder {
    fn new(seed: u64, has_tagged: bool) -> Self {
        Self {
            state: seed,
            count: seed % 17 + 1,
            has_tagged,
            graph: Graph::new(),
            links: HashMap::new(),
        }
    }

    /// The whole graph, from its first instance on.
    fn build(mut self) -> Link<Node> {
        let link = self.link(0);
        self.graph.finish().expect("a whole graph");
        link
    }

    /// A link to an instance: an old one, or one that is built now.
    fn link(&mut self, at: u64) -> Link<Node> {
        if let Some(link) = self.links.get(&at) {
            return link.clone();
        }
        match self.random(2) {
            0 => self.instance(at, Self::node),
            _ => self.instance(at, Self::group),
        };
        self.links[&at].clone()
    }

    fn instance<U: Extends<Node>>(&mut self, at: u64, build: fn(&mut Self, u64) -> U) {
        let draft = self.graph.draft::<U>();
        self.links.insert(at, draft.link());
        let value = build(self, at);
        self.graph.fill(&draft, value);
    }

    fn node(&mut self, at: u64) -> Node {
        Node {
            value: at as i32,
            next: self.any(),
            peer: self.has_tagged.then(|| self.any()),
        }
    }

    fn group(&mut self, at: u64) -> Group {
        Group {
            members: vec![self.any(), self.any(), self.any()],
            note: self.has_tagged.then(|| "n".repeat(at as usize * 20)),
            owner: self
                .has_tagged
                .then(|| self.any().cast().expect("any will do")),
            base: self.node(at),
        }
    }

    /// A link to any instance, or nil.
    fn any(&mut self) -> Link<Node> {
        match self.random(self.count + 2) {
            at if at < self.count => self.link(at),
            _ => Link::nil(),
        }
    }

    /// A number below `bound`, by splitmix64.
    fn random(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

static CLASSES: ClassTable =
    ClassTable::new(&[ClassInfo::of::<Node>(), ClassInfo::of::<Group>()], &[]);

#[derive(Debug, Clone, PartialEq, Default)]
struct Node {
    value: i32,
    next: Link<Node>,
    peer: Option<Link<Node>>,
}

impl Class for Node {
    const TYPE_ID: &'static str = "::Graphs::Node";

    fn classes() -> &'static dyn Classes {
        &CLASSES
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.value);
        encoder.put(&self.next);
        encoder.tagged(3, self.peer.as_ref());
    }

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let (value, next, peer) = reader.slice("::Graphs::Node", |decoder| {
            Ok((decoder.get()?, decoder.get()?, decoder.tagged(3)?))
        })?;
        Ok(Self { value, next, peer })
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Group {
    base: Node,
    members: Vec<Link<Node>>,
    note: Option<String>,
    owner: Option<Link<dyn AnyClass>>,
}

impl Extends<Node> for Group {}

impl Class for Group {
    const TYPE_ID: &'static str = "::Graphs::Group";
    const COMPACT_ID: Option<i32> = Some(9);

    fn classes() -> &'static dyn Classes {
        &CLASSES
    }

    fn base(&self) -> Option<&dyn AnyClass> {
        Some(&self.base)
    }

    fn encode_members(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.members);
        encoder.tagged(1, self.note.as_ref());
        encoder.tagged(40, self.owner.as_ref());
    }

    fn decode_slices(reader: &mut ClassReader<'_, '_>) -> Result<Self, DecodeError> {
        let (members, note, owner) = reader.slice("::Graphs::Group", |decoder| {
            Ok((decoder.get()?, decoder.tagged(1)?, decoder.tagged(40)?))
        })?;
        Ok(Self {
            base: Node::decode_slices(reader)?,
            members,
            note,
            owner,
        })
    }
}
