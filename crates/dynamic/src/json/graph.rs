//! The class instances of one JSON text, until all of them are read and can be linked.
//!
//! JSON may refer to an instance before it defines it, so links lead to drafts at first. Then the
//! graph is walked depth first, as a decoder reads it: a link to an instance that is still open
//! becomes one back, and what is owned is limited in depth.

use std::collections::HashMap;

use floe_slice::model::{DefinitionId, Type};
use floe_wire::encoding::{
    AnyClass, Draft, GRAPH_DEPTH_MAX, InstanceId, Link, SliceId, UnknownClass, UnknownSlice,
};

use crate::{Contract, Instance, Value};

/// The instances that were read so far.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    by_id: HashMap<InstanceId, usize>,
    by_label: HashMap<String, usize>,
    references: Vec<Reference>,
}

/// One instance.
#[derive(Debug)]
struct Node {
    /// Taken when the instance is complete.
    draft: Option<Draft>,
    link: Link<dyn AnyClass>,
    content: Option<Content>,
    progress: Progress,
}

#[derive(Debug, Clone, Copy)]
enum Progress {
    /// Its JSON has not been met, only references to it.
    Missing,
    /// Its JSON has been read, or is being read.
    Read(Class),
    /// Its links are being settled.
    Open,
    /// It has so many instances below one another.
    Complete { height: usize },
}

/// The class of an instance.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Known(DefinitionId),
    /// One that the contract does not have.
    Unknown,
}

/// What an instance consists of.
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
    pub(super) instances: Vec<Value>,
}

/// A `$ref`, to be checked when its instance is known.
#[derive(Debug)]
struct Reference {
    node: usize,
    r#type: Type,
    label: String,
    path: String,
}

/// What is wrong with a `$ref`.
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
        node.link.clone()
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
        self.nodes[node].link.clone()
    }

    /// What is wrong with references, now that all has been read.
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
        (0..self.nodes.len()).all(|node| self.settle(node, contract, 1).is_some())
    }

    /// Completes an instance and those below it; answers its height.
    fn settle(&mut self, node: usize, contract: &Contract, depth: usize) -> Option<usize> {
        if let Progress::Complete { height } = self.nodes[node].progress {
            return Some(height);
        }
        let mut content = self.nodes[node].content.take()?;
        self.nodes[node].progress = Progress::Open;
        let mut height = 1;
        let kept = content.slices.iter_mut();
        let kept = kept.flat_map(|slice| &mut slice.instances);
        for value in content.members.iter_mut().chain(kept) {
            let below = self.settle_value(value, contract, depth)?;
            height = height.max(below + 1);
        }
        if height > GRAPH_DEPTH_MAX {
            return None;
        }
        let draft = self.nodes[node].draft.take()?;
        content.fill(draft, contract);
        self.nodes[node].progress = Progress::Complete { height };
        Some(height)
    }

    /// Makes the links of a value final; answers the height of the highest instance it owns.
    fn settle_value(
        &mut self,
        value: &mut Value,
        contract: &Contract,
        depth: usize,
    ) -> Option<usize> {
        match value {
            Value::Instance(link) => {
                let Some(node) = link.id().and_then(|id| self.by_id.get(&id).copied()) else {
                    return Some(0);
                };
                if let Progress::Open = self.nodes[node].progress {
                    *link = link.to_back();
                    return Some(0);
                }
                match depth < GRAPH_DEPTH_MAX {
                    true => self.settle(node, contract, depth + 1),
                    false => None,
                }
            }
            Value::Struct(values) | Value::Sequence(values) => {
                let values = values.iter_mut();
                self.highest(values, contract, depth)
            }
            Value::Dictionary(entries) => {
                let values = entries.iter_mut().map(|(_, value)| value);
                self.highest(values, contract, depth)
            }
            _ => Some(0),
        }
    }

    fn highest<'v>(
        &mut self,
        values: impl Iterator<Item = &'v mut Value>,
        contract: &Contract,
        depth: usize,
    ) -> Option<usize> {
        let mut highest = 0;
        for value in values {
            highest = highest.max(self.settle_value(value, contract, depth)?);
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
        let draft = Draft::new();
        let link = draft.link();
        let node = self.nodes.len();
        self.by_id.extend(link.id().map(|id| (id, node)));
        self.nodes.push(Node {
            draft: Some(draft),
            link,
            content: None,
            progress: Progress::Missing,
        });
        node
    }
}

impl Content {
    fn fill(self, draft: Draft, contract: &Contract) {
        let is_unknown = matches!(self.class, Class::Unknown);
        let count = self.slices.len();
        let kept = self.slices.into_iter().enumerate().map(|(index, slice)| {
            let instances = slice.instances.into_iter().map(|value| match value {
                Value::Instance(link) => link,
                _ => Link::nil(),
            });
            let is_last = is_unknown && index + 1 == count;
            let instances = instances.collect();
            UnknownSlice::new(slice.id, slice.bytes, slice.has_tagged, is_last, instances)
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
        draft.fill(value, kept);
    }
}
