//! Class instances to JSON: each is written once, and has an id if there are several links to it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use floe_wire::encoding::{
    AnyClass, GRAPH_DEPTH_MAX, InstanceId, Link, Ref, SliceId, UnknownSlice,
};
use serde_json::{Map, Value as Json, json};

use super::write::JsonWriter;
use super::{CLASS_KEY, ID_KEY, REF_KEY, SLICES_KEY};
use crate::Instance;
use crate::class::own_slots;
use crate::exception::UNKNOWN_KEY;
use crate::hex::to_hex;

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
    /// The links that are met, while nothing is written.
    collected: Option<Vec<Link<dyn AnyClass>>>,
}

impl Shared {
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

impl JsonWriter<'_> {
    /// Writes values after it has found the instances below them, level by level.
    pub(super) fn place_and_write<T>(mut self, write: impl Fn(&mut Self) -> T) -> T {
        let mut level = self.collect(|writer| drop(write(writer)));
        for depth in 0..GRAPH_DEPTH_MAX {
            let mut below = Vec::new();
            for link in &level {
                if let Some(instance) = self.shared.meet(link, depth) {
                    below.extend(self.collect(|writer| writer.content(&instance, &mut Map::new())));
                }
            }
            level = below;
        }
        // What is below these levels is not written: a link to it has an id that no instance has.
        let ids = level.iter().filter_map(Link::id).map(|id| (id, 0));
        self.shared.ids.extend(ids);
        write(&mut self)
    }

    /// The links that are met by something that writes.
    fn collect(&mut self, write: impl FnOnce(&mut Self)) -> Vec<Link<dyn AnyClass>> {
        self.shared.collected = Some(Vec::new());
        write(self);
        self.shared.collected.take().unwrap_or_default()
    }

    /// Writes the instance that a link leads to, or its id.
    pub(super) fn link(&mut self, link: &Link<dyn AnyClass>) -> Json {
        if let Some(collected) = &mut self.shared.collected {
            collected.push(link.clone());
            return Json::Null;
        }
        let Some(instance) = link.get() else {
            return Json::Null;
        };
        let id = self.shared.id(instance.id());
        if !self.shared.is_written(instance.id(), self.depth) {
            return json!({ REF_KEY: id });
        }
        let mut object = Map::new();
        object.insert(CLASS_KEY.to_owned(), instance.class_type_id().into());
        if let Some(id) = id {
            object.insert(ID_KEY.to_owned(), id.into());
        }
        self.depth += 1;
        self.content(&instance, &mut object);
        self.depth -= 1;
        Json::Object(object)
    }

    fn content(&mut self, instance: &Ref<dyn AnyClass>, object: &mut Map<String, Json>) {
        let known = Instance::cast(instance.any());
        let known = known.filter(|known| known.contract().is(self.contract()));
        if known.is_none() {
            object.insert(UNKNOWN_KEY.to_owned(), true.into());
        }
        if !instance.unknown_slices().is_empty() {
            let slices = instance.unknown_slices().iter();
            let slices: Json = slices.map(|slice| self.slice(slice)).collect();
            object.insert(SLICES_KEY.to_owned(), slices);
        }
        if let Some(known) = known {
            self.members(known, object);
        }
    }

    fn members(&mut self, instance: &Instance, object: &mut Map<String, Json>) {
        if let Some(base) = instance.base() {
            self.members(base, object);
        }
        let slots = own_slots(self.contract(), instance.class());
        object.extend(self.object(&slots, instance.own()));
    }

    fn slice(&mut self, slice: &UnknownSlice) -> Json {
        let class = match slice.id() {
            SliceId::Name(type_id) => Json::from(&**type_id),
            SliceId::Compact(id) => Json::from(*id),
        };
        let mut object = Map::new();
        object.insert("class".to_owned(), class);
        object.insert("bytes".to_owned(), to_hex(slice.bytes()).into());
        if slice.has_tagged() {
            object.insert("tagged".to_owned(), true.into());
        }
        if !slice.instances().is_empty() {
            let instances = slice.instances().iter();
            let instances: Json = instances.map(|link| self.link(link)).collect();
            object.insert("instances".to_owned(), instances);
        }
        Json::Object(object)
    }
}
