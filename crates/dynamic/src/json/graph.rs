//! The class instances of one JSON text, until all of them are read and can be linked.
//!
//! JSON may refer to an instance before it defines it, so links lead to drafts at first. When all is
//! read, the instances are walked depth first, as a decoder reads them, and limited in depth.

use std::collections::HashMap;

use floe_slice::model::{DefinitionId, Type};
use floe_wire::encoding::{
    AnyClass, Draft, GRAPH_DEPTH_MAX, Graph as Drafts, InstanceId, Link, SliceId, UnknownClass,
    UnknownSlice,
};

use crate::{Contract, Instance, Value};

/// The instances that were read so far.
#[derive(Debug, Default)]
pub(super) struct Graph {
    drafts: Drafts,
    nodes: Vec<Node>,
    by_id: HashMap<InstanceId, usize>,
    by_label: HashMap<String, usize>,
    references: Vec<Reference>,
}

/// One instance.
#[derive(Debug)]
struct Node {
    draft: Draft<dyn AnyClass>,
    content: Option<Content>,
    progress: Progress,
}

#[derive(Debug, Clone, Copy)]
enum Progress {
    /// Its JSON has not been met, only references to it.
    Missing,
    /// Its JSON has been read, or is being read.
    Read(Class),
    /// The instances that it refers to are being filled.
    Open,
    /// Its draft is filled, and it has so many instances below one another.
    Complete { height: usize },
}

/// The class of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Known(DefinitionId),
    /// One that the contract does not have.
    Unknown,
}

/// The content of an instance.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) class: Class,
    /// Of the known class, those of bases first.
    pub(super) members: Vec<Value>,
    /// Slices of classes that the contract does not have, most derived first.
    pub(super) slices: Vec<KeptSlice>,
}

/// A slice of an unknown class.
#[derive(Debug)]
pub(super) struct KeptSlice {
    pub(super) id: SliceId,
    pub(super) bytes: Vec<u8>,
    pub(super) has_tagged: bool,
    pub(super) instances: Vec<Link<dyn AnyClass>>,
}

/// A `$ref`, to be checked when its instance is known.
#[derive(Debug)]
struct Reference {
    node: usize,
    r#type: Type,
    label: String,
    path: String,
}

/// An error in a `$ref`.
pub(super) enum WrongReference {
    /// No instance has this id.
    Missing { path: String, label: String },
    /// Its instance is of another class.
    OtherClass {
        path: String,
        r#type: Type,
        found: String,
    },
}

/// Position of an instance in its graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeId(usize);

impl Graph {
    /// Starts an instance, which has this label or none. `None` if another one has the label.
    pub(super) fn open(&mut self, label: Option<String>, class: Class) -> Option<NodeId> {
        let node = match label {
            Some(label) => self.labelled(label),
            None => self.add(),
        };
        match self.nodes[node].progress {
            Progress::Missing => {
                self.nodes[node].progress = Progress::Read(class);
                Some(NodeId(node))
            }
            _ => None,
        }
    }

    /// Ends an instance, and gives a link to it.
    pub(super) fn close(&mut self, node: NodeId, content: Content) -> Link<dyn AnyClass> {
        let node = &mut self.nodes[node.0];
        node.content = Some(content);
        node.draft.link_any()
    }

    /// A link to the instance with this label, wherever it stands.
    pub(super) fn refer(
        &mut self,
        label: String,
        r#type: Type,
        path: String,
    ) -> Link<dyn AnyClass> {
        let node = self.labelled(label.clone());
        self.references.push(Reference {
            node,
            r#type,
            label,
            path,
        });
        self.nodes[node].draft.link_any()
    }

    /// Returns the errors in references, after everything has been read.
    pub(super) fn wrong_references(&mut self, contract: &Contract) -> Vec<WrongReference> {
        let references = std::mem::take(&mut self.references);
        let wrong = references.into_iter().filter_map(|reference| {
            let Reference {
                node,
                r#type,
                label,
                path,
            } = reference;
            match self.nodes[node].progress {
                Progress::Missing => Some(WrongReference::Missing { path, label }),
                Progress::Read(Class::Known(class)) if !contract.is_class_of(class, r#type) => {
                    let found = contract.model().definition(class).scoped.clone();
                    Some(WrongReference::OtherClass {
                        path,
                        r#type,
                        found,
                    })
                }
                _ => None,
            }
        });
        wrong.collect()
    }

    /// Completes all instances. `false` if more than [`GRAPH_DEPTH_MAX`] are below one another.
    pub(super) fn link(mut self, contract: &Contract) -> bool {
        let mut nodes = 0..self.nodes.len();
        nodes.all(|node| self.fill(node, contract, 1).is_some()) && self.drafts.finish().is_ok()
    }

    /// Fills the draft of an instance and of those below it; answers its height.
    fn fill(&mut self, node: usize, contract: &Contract, depth: usize) -> Option<usize> {
        if let Progress::Complete { height } = self.nodes[node].progress {
            return Some(height);
        }
        let content = self.nodes[node].content.take()?;
        self.nodes[node].progress = Progress::Open;
        let mut below = self.fill_below(&content.members, contract, depth)?;
        for link in content.slices.iter().flat_map(|slice| &slice.instances) {
            below = below.max(self.fill_link(link, contract, depth)?);
        }
        let height = 1 + below;
        if height > GRAPH_DEPTH_MAX {
            return None;
        }
        let (value, kept) = content.into_instance(contract);
        self.drafts.fill_any(&self.nodes[node].draft, value, kept);
        self.nodes[node].progress = Progress::Complete { height };
        Some(height)
    }

    /// Fills the drafts of the instances in a value; answers the height of the highest. Instances
    /// around the value do not count.
    fn fill_value(&mut self, value: &Value, contract: &Contract, depth: usize) -> Option<usize> {
        match value {
            Value::Instance(link) => self.fill_link(link, contract, depth),
            Value::Struct(values) | Value::Sequence(values) => {
                self.fill_below(values, contract, depth)
            }
            Value::Dictionary(entries) => {
                self.fill_below(entries.iter().map(|(_, value)| value), contract, depth)
            }
            _ => Some(0),
        }
    }

    fn fill_link(
        &mut self,
        link: &Link<dyn AnyClass>,
        contract: &Contract,
        depth: usize,
    ) -> Option<usize> {
        let node = link.id().and_then(|id| self.by_id.get(&id).copied());
        match node {
            None => Some(0),
            Some(node) if matches!(self.nodes[node].progress, Progress::Open) => Some(0),
            Some(_) if depth >= GRAPH_DEPTH_MAX => None,
            Some(node) => self.fill(node, contract, depth + 1),
        }
    }

    fn fill_below<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
        contract: &Contract,
        depth: usize,
    ) -> Option<usize> {
        let mut highest = 0;
        for value in values {
            highest = highest.max(self.fill_value(value, contract, depth)?);
        }
        Some(highest)
    }

    fn labelled(&mut self, label: String) -> usize {
        if let Some(node) = self.by_label.get(&label) {
            return *node;
        }
        let node = self.add();
        self.by_label.insert(label, node);
        node
    }

    fn add(&mut self) -> usize {
        let draft: Draft<dyn AnyClass> = self.drafts.draft();
        let node = self.nodes.len();
        self.by_id
            .extend(draft.link_any().id().map(|id| (id, node)));
        self.nodes.push(Node {
            draft,
            content: None,
            progress: Progress::Missing,
        });
        node
    }
}

impl Content {
    /// The instance, and the slices that are kept with it.
    fn into_instance(self, contract: &Contract) -> (Box<dyn AnyClass>, Vec<UnknownSlice>) {
        let is_unknown = matches!(self.class, Class::Unknown);
        let count = self.slices.len();
        let kept = self.slices.into_iter().enumerate().map(|(index, slice)| {
            let is_last = is_unknown && index + 1 == count;
            let (bytes, instances) = (slice.bytes, slice.instances);
            UnknownSlice::new(slice.id, bytes, slice.has_tagged, is_last, instances)
        });
        let kept: Vec<UnknownSlice> = kept.collect();
        let value: Box<dyn AnyClass> = match (self.class, kept.first()) {
            (Class::Known(class), _) => {
                let chain = contract.class_chain(class);
                Box::new(Instance::of(contract, &chain, self.members))
            }
            (Class::Unknown, Some(first)) => Box::new(UnknownClass::new(first.id())),
            (Class::Unknown, None) => {
                let id = SliceId::Name("".into());
                Box::new(UnknownClass::new(&id))
            }
        };
        (value, kept)
    }
}
