//! Values of vectors as values of generated types.

use std::collections::{BTreeMap, HashMap};

use floe::classes::{AnyClass, Class, ClassType, Link};
use floe::{Communicator, Proxy};
use serde_json::Value;

use crate::contract::{m, s, v};
use crate::json::FromJson;

/// Instances that have been met, by their label, and what proxies belong to.
#[derive(Default)]
pub(crate) struct Graph {
    graph: floe::classes::Graph,
    links: HashMap<u64, Link<dyn AnyClass>>,
    communicator: Option<Communicator>,
}

/// A type that values of vectors are turned into, in a graph of instances.
pub(crate) trait Build {
    fn build(json: &Value, graph: &mut Graph) -> Self;
}

impl Graph {
    pub(crate) fn with(communicator: &Communicator) -> Self {
        Self {
            communicator: Some(communicator.clone()),
            ..Self::default()
        }
    }

    /// Completes all instances and returns the value that `make` makes of the graph.
    pub(crate) fn finished<T>(mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let made = make(&mut self);
        self.graph.finish().expect("a whole graph");
        made
    }

    pub(crate) fn tagged<T: Build>(&mut self, json: &Value) -> Option<T> {
        let is_unset = json.is_null() || json["$unset"] == true;
        (!is_unset).then(|| T::build(json, self))
    }

    /// The link that a value stands for.
    fn link(&mut self, json: &Value) -> Link<dyn AnyClass> {
        if let Some(label) = json["$ref"].as_u64() {
            return self.links[&label].clone();
        }
        let label = json["$id"].as_u64().expect("an instance has a label");
        self.instance(json, label);
        self.links[&label].clone()
    }

    fn instance(&mut self, json: &Value, label: u64) {
        let class = json["$class"].as_str().expect("a class");
        let known = CLASSES.iter().find(|(type_id, _)| *type_id == class);
        let (_, make) = known.unwrap_or_else(|| panic!("no class {class}"));
        make(self, json, label);
    }
}

type Make = fn(&mut Graph, &Value, u64);

fn make<T: Class + Build>(graph: &mut Graph, json: &Value, label: u64) {
    let draft = graph.graph.draft::<T>();
    graph.links.insert(label, draft.link());
    let value = T::build(json, graph);
    graph.graph.fill(&draft, value);
}

impl<T: ClassType + ?Sized> Build for Link<T> {
    fn build(json: &Value, graph: &mut Graph) -> Self {
        if json.is_null() {
            return Self::nil();
        }
        let link = graph.link(json).cast();
        link.expect("an instance of the declared class")
    }
}

impl Build for Option<Proxy> {
    fn build(json: &Value, graph: &mut Graph) -> Self {
        let text = json["$proxy"].as_str()?;
        let communicator = graph.communicator.as_ref().expect("a communicator");
        let proxy = communicator.proxy(text);
        Some(proxy.unwrap_or_else(|error| panic!("{text}: {error}")))
    }
}

impl<T: Build + Clone> Build for Vec<T> {
    fn build(json: &Value, graph: &mut Graph) -> Self {
        if let Some(count) = json["count"].as_u64() {
            let element = T::build(&json["$repeat"], graph);
            return vec![element; usize::try_from(count).expect("a count")];
        }
        let elements = json.as_array().expect("a list");
        let elements = elements.iter();
        elements.map(|element| T::build(element, graph)).collect()
    }
}

impl<K: Build + Ord, V: Build> Build for BTreeMap<K, V> {
    fn build(json: &Value, graph: &mut Graph) -> Self {
        let entries = json["$dict"].as_array().expect("a dictionary");
        entries
            .iter()
            .map(|entry| (K::build(&entry[0], graph), V::build(&entry[1], graph)))
            .collect()
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Build for $type {
            fn build(json: &Value, _: &mut Graph) -> Self {
                Self::from_json(json)
            }
        }
    )*};
}
plain!(bool, u8, i16, i32, i64, f32, f64, String);

macro_rules! enumerations {
    ($($type:ty),*) => {$(
        impl Build for $type {
            fn build(json: &Value, _: &mut Graph) -> Self {
                let value = json["value"].as_i64().expect("an enumerator");
                let value = i32::try_from(value).expect("a value");
                Self::from_value(value).unwrap_or_else(|| panic!("{json} is no enumerator"))
            }
        }
    )*};
}
enumerations!(
    v::Color,
    v::E126,
    v::E127,
    v::E254,
    v::E255,
    v::E300,
    v::E32766,
    v::E32767,
    v::EBig,
    v::Gaps
);

/// Structures and exceptions: their members, then after `;` the tagged ones.
macro_rules! structures {
    ($($type:path { $($member:ident),* $(; $($tagged:ident),*)? })*) => {$(
        impl Build for $type {
            #[allow(unused_variables)]
            fn build(json: &Value, graph: &mut Graph) -> Self {
                Self {
                    $($member: Build::build(&json[stringify!($member)], graph),)*
                    $($($tagged: graph.tagged(&json[stringify!($tagged)]),)*)?
                }
            }
        }
    )*};
}
structures! {
    v::Point { x, y }
    v::Line { a, b }
    v::Prims { b, y, s, i, l, f, d, str }
    v::Nested { label, line, prims }
    v::Defaults { i, s, d }
    v::Record { names, table, color, prx }
    v::Key { major, minor }
    v::Empty1 { b }
    v::WithNode { before, node, after }
    m::Point { x, y }
    m::E0 {}
    m::E1 { code }
    m::E2 { code, msg }
    m::E3 { code, msg, at }
    m::EOpt { code; why, n }
    m::EClass { node }
}

/// Classes: `: base` if they have one, then their own members. A base finds its members in the same
/// JSON object.
macro_rules! classes {
    ($($type:path $(: $base:ident)? { $($member:ident),* $(; $($tagged:ident),*)? })*) => {
        $(impl Build for $type {
            #[allow(unused_variables)]
            fn build(json: &Value, graph: &mut Graph) -> Self {
                Self {
                    $($base: Build::build(json, graph),)?
                    $($member: Build::build(&json[stringify!($member)], graph),)*
                    $($($tagged: graph.tagged(&json[stringify!($tagged)]),)*)?
                }
            }
        })*

        /// How instances of each class are made.
        const CLASSES: &[(&str, Make)] = &[$((<$type as Class>::TYPE_ID, make::<$type>)),*];
    };
}
classes! {
    v::C0 {}
    v::C1 { i, s }
    v::C2: base { d }
    v::C3: base { names }
    v::Node { name, next }
    v::Tree { value, left, right }
    v::Compact1 { i }
    v::Compact2: base { s }
    v::Base {}
    v::Leaf: base { n, other }
    v::WithMembers { color, pts, dict, prx }
    v::OptC { a; o1, o40 }
    v::OptD: base { b; o2, o300 }
    v::OptSelf { id; peer }
    s::Elem { v, next }
    s::PBase { pi }
    s::PKnown: base { ps }
    s::SBase { sb }
    s::SKnown: base { sk }
    s::PUnknown: base { pd, pe }
    s::PUnknown2: base { ; po, pn }
    s::PCompact: base { pc }
    s::SUnknown: base { su, se }
    s::SUnknown2: base { s2 }
    m::Node { value, next }
}
