//! Building graphs of instances from the values of vectors.

use std::collections::{BTreeMap, HashMap};

use floe_wire::encoding::{self, AnyClass, Class, ClassType, Link};
use floe_wire::reference::Reference;
use serde_json::Value;

use super::{sliced, values};
use crate::json::FromJson;

/// Instances that have been met, by their label.
#[derive(Default)]
pub(crate) struct Graph {
    graph: encoding::Graph,
    links: HashMap<u64, Link<dyn AnyClass>>,
}

/// A type that values of vectors are turned into, in a graph of instances.
pub(crate) trait Build {
    fn build(json: &Value, graph: &mut Graph) -> Self;
}

impl Graph {
    /// Completes all instances and returns the value that `make` makes of the graph.
    pub(crate) fn finished<T>(mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let made = make(&mut self);
        self.graph.finish().expect("a whole graph");
        made
    }

    pub(crate) fn tagged<T: Build>(&mut self, json: &Value) -> Option<T> {
        (json["$unset"] != true).then(|| T::build(json, self))
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
        match json["$class"].as_str() {
            Some("::V::C0") => self.new_instance::<values::C0>(json, label),
            Some("::V::C1") => self.new_instance::<values::C1>(json, label),
            Some("::V::C2") => self.new_instance::<values::C2>(json, label),
            Some("::V::C3") => self.new_instance::<values::C3>(json, label),
            Some("::V::Node") => self.new_instance::<values::Node>(json, label),
            Some("::V::Tree") => self.new_instance::<values::Tree>(json, label),
            Some("::V::Compact1") => self.new_instance::<values::Compact1>(json, label),
            Some("::V::Compact2") => self.new_instance::<values::Compact2>(json, label),
            Some("::V::Leaf") => self.new_instance::<values::Leaf>(json, label),
            Some("::V::WithMembers") => self.new_instance::<values::WithMembers>(json, label),
            Some("::V::OptC") => self.new_instance::<values::OptC>(json, label),
            Some("::V::OptD") => self.new_instance::<values::OptD>(json, label),
            Some("::V::OptSelf") => self.new_instance::<values::OptSelf>(json, label),
            Some("::S::Elem") => self.new_instance::<sliced::Elem>(json, label),
            Some("::S::PBase") => self.new_instance::<sliced::PBase>(json, label),
            Some("::S::PKnown") => self.new_instance::<sliced::PKnown>(json, label),
            Some("::S::SKnown") => self.new_instance::<sliced::SKnown>(json, label),
            Some("::S::PUnknown") => self.new_instance::<sliced::PUnknown>(json, label),
            Some("::S::PUnknown2") => self.new_instance::<sliced::PUnknown2>(json, label),
            Some("::S::PCompact") => self.new_instance::<sliced::PCompact>(json, label),
            Some("::S::SUnknown") => self.new_instance::<sliced::SUnknown>(json, label),
            Some("::S::SUnknown2") => self.new_instance::<sliced::SUnknown2>(json, label),
            Some("::M::Node") => self.new_instance::<crate::exceptions::Node>(json, label),
            other => panic!("no class {other:?}"),
        }
    }

    fn new_instance<T: Class + Build>(&mut self, json: &Value, label: u64) {
        let draft = self.graph.draft::<T>();
        self.links.insert(label, draft.link());
        let value = T::build(json, self);
        self.graph.fill(&draft, value);
    }
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

impl<T: Build> Build for Vec<T> {
    fn build(json: &Value, graph: &mut Graph) -> Self {
        let elements = json.as_array().expect("a list");
        elements
            .iter()
            .map(|element| T::build(element, graph))
            .collect()
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
plain!(bool, u8, i16, i32, i64, f32, f64, String, Option<Reference>);
