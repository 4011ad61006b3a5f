//! Writing references to instances, and the instances.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::instance::Slot;
use super::link::Target;
use super::{AnyClass, ClassFormat, GRAPH_DEPTH_MAX, OBJECT_TYPE_ID, SliceId, UnknownSlice};
use crate::encoding::slice::{self, HAS_SIZE, IS_LAST};
use crate::encoding::{EncodeError, Encoder, EncodingVersion};

/// What the references of one encapsulation have in common.
#[derive(Default)]
pub(in crate::encoding) struct GraphWriter {
    /// Ids by the address of the instance, which is kept so that no other gets it.
    ids: HashMap<usize, (Arc<Slot>, i32)>,
    /// Type ids that were written, with their index.
    type_ids: HashMap<Box<str>, usize>,
    /// The indirection table of the slice that is being written, if it has one.
    table: Option<Table>,
    /// Instances of encoding 1.0 whose bodies are still to be written.
    pending: Vec<(i32, Arc<Slot>)>,
    /// The instance of encoding 1.0 that is being written, and which one owns which so far.
    owner: Option<i32>,
    owned: Vec<(i32, i32)>,
    /// Instances that are being written, one inside the other.
    depth: usize,
}

impl std::fmt::Debug for GraphWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphWriter")
            .field("instances", &self.ids.len())
            .finish_non_exhaustive()
    }
}

/// The instances that a slice refers to.
#[derive(Default)]
pub(in crate::encoding) struct Table {
    entries: Vec<Arc<Slot>>,
    index: HashMap<usize, usize>,
}

/// What the slice around the current one has written so far.
pub(in crate::encoding) struct OuterSlice {
    pub(in crate::encoding) has_tagged: bool,
    table: Option<Table>,
}

impl Table {
    pub(in crate::encoding) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The index of an instance, from 1.
    fn index_of(&mut self, slot: Arc<Slot>) -> usize {
        let next = self.entries.len() + 1;
        let index = *self.index.entry(address(&slot)).or_insert(next);
        if index == next {
            self.entries.push(slot);
        }
        index
    }
}

impl GraphWriter {
    /// How many instances of encoding 1.0 are below one another at most. They do not stand inside one
    /// another there, so it is found when all are written: what owns is no cycle, so that an instance
    /// comes when all of its owners have come.
    fn height_1_0(&self) -> usize {
        let mut owners = vec![0_usize; self.ids.len() + 1];
        let mut owned: HashMap<i32, Vec<i32>> = HashMap::new();
        for (owner, id) in &self.owned {
            owners[*id as usize] += 1;
            owned.entry(*owner).or_default().push(*id);
        }
        let mut depths = vec![1_usize; owners.len()];
        let ids = 1..owners.len() as i32;
        let mut ready: Vec<i32> = ids.filter(|id| owners[*id as usize] == 0).collect();
        while let Some(owner) = ready.pop() {
            for id in owned.get(&owner).into_iter().flatten() {
                let index = *id as usize;
                depths[index] = depths[index].max(depths[owner as usize] + 1);
                owners[index] -= 1;
                if owners[index] == 0 {
                    ready.push(*id);
                }
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

impl Encoder<'_> {
    /// Sets how class instances are written in encoding 1.1: as the operation's metadata says.
    pub fn set_class_format(&mut self, format: ClassFormat) {
        self.class_format = format;
    }

    /// Ends the parameters or results of an operation whose types use classes: in encoding 1.0 the
    /// instances follow them.
    pub fn finish_classes(&mut self) {
        if self.encoding() != EncodingVersion::V1_0 {
            return;
        }
        loop {
            let batch = std::mem::take(&mut self.graph().pending);
            self.size(batch.len());
            if batch.is_empty() {
                break;
            }
            for (id, slot) in batch {
                self.int(id);
                self.graph().owner = Some(id);
                self.instance_1_0(&slot);
            }
            self.graph().owner = None;
        }
        if self.graph().height_1_0() > GRAPH_DEPTH_MAX {
            self.fail(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX));
        }
    }

    pub(super) fn class_reference(&mut self, target: &Target) {
        let slot = match target {
            Target::Nil => return self.nil(),
            Target::Owned(slot) => Arc::clone(slot),
            Target::Back(slot) => match slot.upgrade() {
                Some(slot) => slot,
                None => {
                    self.fail(EncodeError::DanglingLink);
                    return self.nil();
                }
            },
        };
        if self.encoding() == EncodingVersion::V1_0 {
            let is_owned = matches!(target, Target::Owned(_));
            return self.reference_1_0(slot, is_owned);
        }
        match &mut self.graph().table {
            Some(table) => {
                let index = table.index_of(slot);
                self.size(index);
            }
            None => self.direct_reference(&slot),
        }
    }

    fn nil(&mut self) {
        match self.encoding() {
            EncodingVersion::V1_0 => self.int(0),
            _ => self.size(0),
        }
    }

    fn reference_1_0(&mut self, slot: Arc<Slot>, is_owned: bool) {
        let graph = self.graph();
        let next = graph.ids.len() as i32 + 1;
        let id = match graph.ids.entry(address(&slot)) {
            Entry::Occupied(entry) => entry.get().1,
            Entry::Vacant(entry) => {
                entry.insert((Arc::clone(&slot), next));
                graph.pending.push((next, slot));
                next
            }
        };
        if let Some(owner) = graph.owner.filter(|_| is_owned) {
            graph.owned.push((owner, id));
        }
        self.int(-id);
    }

    /// Writes an id, or the instance if it has none yet.
    fn direct_reference(&mut self, slot: &Arc<Slot>) {
        let graph = self.graph();
        let next = graph.ids.len() as i32 + 2;
        match graph.ids.entry(address(slot)) {
            Entry::Occupied(entry) => {
                let id = entry.get().1;
                self.size(id as usize);
            }
            Entry::Vacant(entry) => {
                entry.insert((Arc::clone(slot), next));
                self.byte(1);
                self.instance(slot);
            }
        }
    }

    fn instance(&mut self, slot: &Slot) {
        if self.graph().depth >= GRAPH_DEPTH_MAX {
            return self.fail(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX));
        }
        let Some(instance) = slot.get() else {
            return self.fail(EncodeError::DanglingLink);
        };
        self.graph().depth += 1;
        let outer = self.begin_slice(false);
        let is_sliced = self.class_format == ClassFormat::Sliced;
        if is_sliced {
            for slice in &instance.unknown {
                self.unknown_slice(slice);
            }
        }
        let is_unknown = instance.unknown.last().is_some_and(|slice| slice.is_last);
        match is_unknown {
            true if is_sliced => {}
            true => self.fail_unknown(&*instance.value),
            false => self.known_slices(&*instance.value, is_sliced),
        }
        self.end_slice(outer);
        self.graph().depth -= 1;
    }

    fn known_slices(&mut self, instance: &dyn AnyClass, is_sliced: bool) {
        let (mut is_first, mut next) = (true, Some(instance));
        while let Some(class) = next {
            next = class.base();
            let last = if next.is_none() { IS_LAST } else { 0 };
            let size = if is_sliced { HAS_SIZE } else { 0 };
            let has_id = is_first || is_sliced;
            let kind = match class.compact_id() {
                _ if !has_id => 0,
                Some(_) => 3,
                None => self.type_id_kind(class.class_type_id()),
            };
            slice::write(
                self,
                last | size | kind,
                |encoder| match class.compact_id() {
                    _ if !has_id => {}
                    Some(id) => encoder.size(id as usize),
                    None => encoder.type_id(class.class_type_id()),
                },
                |encoder| class.encode_members(encoder),
            );
            is_first = false;
        }
    }

    fn unknown_slice(&mut self, kept: &UnknownSlice) {
        let last = if kept.is_last { IS_LAST } else { 0 };
        let kind = match &kept.id {
            SliceId::Name(type_id) => self.type_id_kind(type_id),
            SliceId::Compact(_) => 3,
        };
        slice::write(
            self,
            last | HAS_SIZE | kind,
            |encoder| match &kept.id {
                SliceId::Name(type_id) => encoder.type_id(type_id),
                SliceId::Compact(id) => encoder.size(*id as usize),
            },
            |encoder| encoder.kept_members(kept),
        );
    }

    /// The members of a kept slice, whose references are indexes into its table as it was.
    pub(in crate::encoding) fn kept_members(&mut self, kept: &UnknownSlice) {
        self.bytes(&kept.bytes);
        self.has_tagged = kept.has_tagged;
        for link in &kept.instances {
            match (link.slot(), &mut self.graph().table) {
                (Some(slot), Some(table)) => table.entries.push(slot),
                _ => self.fail(EncodeError::DanglingLink),
            }
        }
    }

    fn instance_1_0(&mut self, slot: &Slot) {
        let Some(instance) = slot.get() else {
            return self.fail(EncodeError::DanglingLink);
        };
        if instance.unknown.last().is_some_and(|slice| slice.is_last) {
            return self.fail_unknown(&*instance.value);
        }
        let mut next = Some(&*instance.value);
        while let Some(class) = next {
            self.slice_1_0(class.class_type_id(), |encoder| {
                class.encode_members(encoder);
            });
            next = class.base();
        }
        self.slice_1_0(OBJECT_TYPE_ID, |encoder| encoder.byte(0));
    }

    fn slice_1_0(&mut self, type_id: &str, members: impl FnOnce(&mut Self)) {
        let is_index = self.graph().type_ids.contains_key(type_id);
        self.put(&is_index);
        self.type_id(type_id);
        let start = self.begin_len();
        members(self);
        self.end_len(start, start);
    }

    fn fail_unknown(&mut self, instance: &dyn AnyClass) {
        let type_id = instance.class_type_id().to_owned();
        self.fail(EncodeError::UnknownClass(type_id));
    }

    /// 2 if the type id will be written as an index, else 1.
    fn type_id_kind(&mut self, type_id: &str) -> u8 {
        match self.graph().type_ids.contains_key(type_id) {
            true => 2,
            false => 1,
        }
    }

    /// Writes a type id, or its index if it was written before.
    fn type_id(&mut self, type_id: &str) {
        let type_ids = &mut self.graph().type_ids;
        if let Some(index) = type_ids.get(type_id).copied() {
            return self.size(index);
        }
        type_ids.insert(type_id.into(), type_ids.len() + 1);
        self.string(type_id);
    }

    /// Starts a slice; `is_indirect` if references in it are indexes into a table after it.
    pub(in crate::encoding) fn begin_slice(&mut self, is_indirect: bool) -> OuterSlice {
        let table = is_indirect.then(Table::default);
        OuterSlice {
            has_tagged: std::mem::take(&mut self.has_tagged),
            table: std::mem::replace(&mut self.graph().table, table),
        }
    }

    /// Ends a slice: whether it has tagged members, and its table.
    pub(in crate::encoding) fn end_slice(&mut self, outer: OuterSlice) -> (bool, Table) {
        let has_tagged = std::mem::replace(&mut self.has_tagged, outer.has_tagged);
        let table = std::mem::replace(&mut self.graph().table, outer.table);
        (has_tagged, table.unwrap_or_default())
    }

    /// Writes the instances that a slice refers to.
    pub(in crate::encoding) fn indirection_table(&mut self, table: &Table) {
        let outer = self.begin_slice(false);
        self.size(table.entries.len());
        for slot in &table.entries {
            self.direct_reference(slot);
        }
        self.end_slice(outer);
    }
}

fn address(slot: &Arc<Slot>) -> usize {
    Arc::as_ptr(slot) as usize
}
