//! Class instances to JSON: each is written once, and has an id if there are several links to it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use floe_wire::encoding::{
    AnyClass, GRAPH_DEPTH_MAX, InstanceId, Link, Ref, SliceId, UnknownSlice,
};

use super::{CLASS_KEY, ID_KEY, JsonWriter, REF_KEY, SLICES_KEY};
use crate::exception::UNKNOWN_KEY;
use crate::hex::to_hex;
use crate::value::links;
use crate::{Contract, Instance, Writer};

/// The instances below some values: where each is written, and the ids of those that several links
/// lead to.
///
/// An instance is written where it is nearest to the values, so that the text is nested no more deeply
/// than it must be.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// How many instances are around each that has not been written.
    depths: HashMap<InstanceId, usize>,
    /// 0 for one that has no id yet.
    ids: HashMap<InstanceId, usize>,
    last_id: usize,
}

impl Shared {
    /// Finds the instances below these links, level by level.
    pub(super) fn of(roots: &[Link<dyn AnyClass>], contract: &Contract) -> Self {
        let mut shared = Self::default();
        let mut level = roots.to_vec();
        for depth in 0..GRAPH_DEPTH_MAX {
            let mut below = Vec::new();
            for link in &level {
                if let Some(instance) = shared.meet(link, depth) {
                    below_instance(&instance, contract, &mut below);
                }
            }
            level = below;
        }
        // What is below these levels is not written: a link to it has an id that no instance has.
        let ids = level.iter().filter_map(Link::id).map(|id| (id, 0));
        shared.ids.extend(ids);
        shared
    }

    /// The instance of a link, if it has not been met before: it is below so many others.
    fn meet(&mut self, link: &Link<dyn AnyClass>, depth: usize) -> Option<Ref<dyn AnyClass>> {
        let instance = link.get()?;
        match self.depths.entry(instance.id()) {
            Entry::Vacant(entry) => {
                entry.insert(depth);
                Some(instance)
            }
            Entry::Occupied(_) => {
                self.ids.insert(instance.id(), 0);
                None
            }
        }
    }

    /// Returns true if the instance is written here, below so many others. It is once.
    fn is_written(&mut self, instance: InstanceId, depth: usize) -> bool {
        let is_here = self.depths.get(&instance) == Some(&depth);
        is_here && self.depths.remove(&instance).is_some()
    }

    /// The id of an instance, if it has or needs one.
    fn id(&mut self, instance: InstanceId) -> Option<usize> {
        let id = self.ids.get_mut(&instance)?;
        if *id == 0 {
            self.last_id += 1;
            *id = self.last_id;
        }
        Some(*id)
    }
}

/// The links in an instance, in the order in which it is written.
fn below_instance(
    instance: &Ref<dyn AnyClass>,
    contract: &Contract,
    below: &mut Vec<Link<dyn AnyClass>>,
) {
    let slices = instance.unknown_slices().iter();
    below.extend(slices.flat_map(|slice| slice.instances().iter().cloned()));
    if let Some(known) = known(instance, contract) {
        for level in known.bases_first() {
            for value in level.own() {
                links(value, JsonWriter::HAS_KEYS_ONCE, below);
            }
        }
    }
}

/// The instance, if it is one of the contract.
fn known<'i>(instance: &'i Ref<dyn AnyClass>, contract: &Contract) -> Option<&'i Instance> {
    let known = Instance::cast(instance.any());
    known.filter(|known| known.contract().is(contract))
}

impl JsonWriter {
    /// Writes the instance that a link leads to, or its id.
    pub(super) fn link(&mut self, link: &Link<dyn AnyClass>) {
        let Some(instance) = link.get() else {
            self.out.extend_from_slice(b"null");
            return;
        };
        let id = self.shared.id(instance.id());
        self.out.push(b'{');
        if !self.shared.is_written(instance.id(), self.depth) {
            self.key(REF_KEY);
            self.scalar(&id);
        } else {
            self.key(CLASS_KEY);
            self.scalar(instance.class_type_id());
            if let Some(id) = id {
                self.key(ID_KEY);
                self.scalar(&id);
            }
            self.depth += 1;
            self.content(&instance);
            self.depth -= 1;
        }
        self.out.push(b'}');
    }

    fn content(&mut self, instance: &Ref<dyn AnyClass>) {
        let known = known(instance, self.contract());
        if known.is_none() {
            self.key(UNKNOWN_KEY);
            self.scalar(&true);
        }
        if !instance.unknown_slices().is_empty() {
            self.key(SLICES_KEY);
            self.list(instance.unknown_slices(), Self::slice);
        }
        if let Some(known) = known {
            for level in known.bases_first() {
                self.members(level.record(), level.own());
            }
        }
    }

    fn slice(&mut self, slice: &UnknownSlice) {
        self.out.push(b'{');
        self.key("class");
        match slice.id() {
            SliceId::Name(type_id) => self.scalar(&**type_id),
            SliceId::Compact(id) => self.scalar(id),
        }
        self.key("bytes");
        self.scalar(&to_hex(slice.bytes()));
        if slice.has_tagged() {
            self.key("tagged");
            self.scalar(&true);
        }
        if !slice.instances().is_empty() {
            self.key("instances");
            self.list(slice.instances(), |writer, link| writer.link(link));
        }
        self.out.push(b'}');
    }
}
