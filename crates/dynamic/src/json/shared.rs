//! Class instances to JSON: each is written once, and has an id if there are several links to it.

use std::collections::{HashMap, HashSet};

use floe_wire::encoding::{AnyClass, InstanceId, Link, SliceId, UnknownSlice};
use serde_json::{Map, Value as Json, json};

use super::write::JsonWriter;
use super::{CLASS_KEY, ID_KEY, REF_KEY, SLICES_KEY};
use crate::class::own_slots;
use crate::exception::UNKNOWN_KEY;
use crate::hex::to_hex;
use crate::{Instance, Value};

/// The instances that several links lead to, and the ids that they have so far.
#[derive(Debug, Default)]
pub(super) struct Shared {
    seen: HashSet<InstanceId>,
    /// 0 for one that has no id yet.
    ids: HashMap<InstanceId, usize>,
    last_id: usize,
}

impl Shared {
    pub(super) fn new<'v>(values: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut shared = Self::default();
        shared.visit_all(values);
        shared
    }

    fn visit_all<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        values.into_iter().for_each(|value| self.visit(value));
    }

    fn visit(&mut self, value: &Value) {
        match value {
            Value::Struct(values) | Value::Sequence(values) => self.visit_all(values),
            Value::Dictionary(entries) => self.visit_all(entries.iter().map(|(_, value)| value)),
            Value::Instance(link) => self.visit_link(link),
            _ => {}
        }
    }

    /// Follows what is owned, which is no cycle and of limited depth, to each instance once.
    fn visit_link(&mut self, link: &Link<dyn AnyClass>) {
        let (Some(id), Some(instance)) = (link.id(), link.get()) else {
            return;
        };
        if link.is_back() || !self.seen.insert(id) {
            self.ids.insert(id, 0);
            return;
        }
        let mut level = Instance::cast(instance.any());
        while let Some(instance) = level {
            self.visit_all(instance.own());
            level = instance.base();
        }
        let kept = instance.unknown_slices().iter();
        kept.flat_map(UnknownSlice::instances)
            .for_each(|link| self.visit_link(link));
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
    /// Writes the instance that a link leads to, or its id.
    pub(super) fn link(&mut self, link: &Link<dyn AnyClass>) -> Json {
        let (Some(instance_id), Some(instance)) = (link.id(), link.get()) else {
            return Json::Null;
        };
        let id = self.shared.id(instance_id);
        let is_first = !link.is_back() && self.shared.seen.remove(&instance_id);
        if !is_first {
            return json!({ REF_KEY: id });
        }
        let mut object = Map::new();
        object.insert(CLASS_KEY.to_owned(), instance.class_type_id().into());
        if let Some(id) = id {
            object.insert(ID_KEY.to_owned(), id.into());
        }
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
            self.members(known, &mut object);
        }
        Json::Object(object)
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
