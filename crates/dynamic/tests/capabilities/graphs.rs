//! Random graphs of class instances: any links, in any order, stay what they are.

use std::collections::BTreeMap;

use floe_dynamic::{PayloadType, parse_json};
use floe_wire::EncodingVersion;
use floe_wire::encoding::ClassFormat;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::support::contract;

const SLICE: &str = "
    module M
    {
        class Node { int name; optional(7) Node far; Node near; }
        class Named(5) extends Node { optional(1) Node further; }
        sequence<Node> Nodes;
    }";

/// Where the links of a node lead: `None` is nil, or unset where that is possible.
type Links = [Option<usize>; 3];

/// Links of nodes, by their names.
type Graph = BTreeMap<i64, [Option<i64>; 3]>;

const LINKS: [&str; 3] = ["near", "far", "further"];

fn graphs() -> impl Strategy<Value = Vec<Links>> {
    (1..9_usize).prop_flat_map(|len| {
        let link = || prop::option::of(0..len);
        let links = [link(), link(), link()];
        prop::collection::vec(links, len)
    })
}

/// All nodes in a list, each link by a reference.
fn flat(graph: &[Links]) -> Json {
    let nodes = graph.iter().enumerate().map(|(name, links)| {
        let class = ["::M::Node", "::M::Named"][name % 2];
        let mut node = json!({"$class": class, "$id": name, "name": name, "near": null});
        for (key, link) in LINKS.iter().zip(links) {
            if let Some(link) = link.filter(|_| *key != "further" || name % 2 == 1) {
                node[*key] = json!({"$ref": link});
            }
        }
        node
    });
    nodes.collect()
}

/// The graph that JSON shows.
fn read(json: &Json) -> Graph {
    let (mut names, mut nodes) = (BTreeMap::new(), Vec::new());
    visit(json, &mut names, &mut nodes);
    let name_of = |json: &Json| match &json["$ref"] {
        Json::Null => json["name"].as_i64(),
        id => Some(names[&id.to_string()]),
    };
    let links = |node: &Json| LINKS.map(|key| name_of(&node[key]));
    let named = nodes
        .iter()
        .map(|node| (node["name"].as_i64().expect("a name"), links(node)));
    named.collect()
}

fn visit<'j>(json: &'j Json, names: &mut BTreeMap<String, i64>, nodes: &mut Vec<&'j Json>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|it| visit(it, names, nodes)),
        Json::Object(object) => {
            if let Some(name) = json["name"].as_i64() {
                names.insert(json["$id"].to_string(), name);
                nodes.push(json);
            }
            object.values().for_each(|it| visit(it, names, nodes));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn a_graph_is_the_same_after_it_has_been_bytes_and_json_text(graph in graphs()) {
        let contract = contract(SLICE);
        let nodes = PayloadType::named(&contract, "M::Nodes", None).expect("it is there");
        let json = flat(&graph);
        for format in [ClassFormat::Compact, ClassFormat::Sliced] {
            let encoding = EncodingVersion::V1_1;
            let bytes = nodes.encode(&json, encoding, Some(format)).expect("it fits");
            let decoded = nodes.decode(&bytes, encoding).expect("our own bytes");
            prop_assert_eq!(read(&decoded), read(&json), "{}", &decoded);
            let again = parse_json(&decoded.to_string()).expect("we wrote JSON");
            prop_assert_eq!(nodes.encode(&again, encoding, Some(format)), Ok(bytes));
        }
        let old = EncodingVersion::V1_0;
        let bytes = nodes.encode(&json, old, None).expect("it fits");
        let decoded = nodes.decode(&bytes, old).expect("our own bytes");
        let near = |graph: Graph| graph.into_iter().map(|(name, [near, ..])| (name, near));
        prop_assert!(near(read(&decoded)).eq(near(read(&json))), "{}", &decoded);
        prop_assert_eq!(nodes.encode(&decoded, old, None), Ok(bytes));
    }

    #[test]
    fn who_knows_only_the_base_sends_the_whole_graph_back(graph in graphs()) {
        let (all, some) = (contract(SLICE), contract("module M { class Node { int name; optional(7) Node far; Node near; } sequence<Node> Nodes; }"));
        let sender = PayloadType::named(&all, "M::Nodes", None).expect("it is there");
        let receiver = PayloadType::named(&some, "M::Nodes", None).expect("it is there");
        let (encoding, sliced) = (EncodingVersion::V1_1, Some(ClassFormat::Sliced));
        let bytes = sender.encode(&flat(&graph), encoding, sliced).expect("it fits");
        let json = receiver.decode(&bytes, encoding).expect("derived classes can be skipped");
        let text = json.to_string();
        let read = parse_json(&text).expect("we wrote JSON");
        prop_assert_eq!(receiver.encode(&read, encoding, sliced), Ok(bytes), "{}", text);
    }
}
