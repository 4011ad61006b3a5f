//! Writing references to instances, and the instances.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::instance::{Held, Instance};
use super::link::LinkTarget;
use super::links::Links;
use super::references::References;
use super::{AnyClass, ClassFormat, GRAPH_DEPTH_MAX, OBJECT_TYPE_ID, SliceId, UnknownSlice};
use crate::encoding::slice::{self, HAS_SIZE, IS_LAST};
use crate::encoding::{EncodeError, Encoder, EncodingVersion};

/// State that the references of one encapsulation share.
#[derive(Default)]
pub(in crate::encoding) struct GraphWriter {
    /// Ids by the address of the instance. The instance is kept alive so that its address stays
    /// unique.
    ids: HashMap<usize, (Held, i32)>,
    /// Written type ids with their indexes.
    type_ids: HashMap<Box<str>, usize>,
    /// The indirection table of the current slice, if it has one.
    table: Option<Table>,
    /// Instances of encoding 1.0 whose bodies are still to be written.
    pending: Vec<(i32, Held)>,
    /// The instance of encoding 1.0 that is being written; `None` while parameters are.
    referrer: Option<i32>,
    references: References,
    /// The number of nested instances that are being written.
    depth: usize,
    /// If set, links are only visited, and not written.
    pub(super) visited: Option<Box<Links>>,
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
    entries: Vec<Held>,
    index: HashMap<usize, usize>,
}

/// The state of the enclosing slice.
pub(in crate::encoding) struct OuterSlice {
    pub(in crate::encoding) has_tagged: bool,
    table: Option<Table>,
}

impl Table {
    pub(in crate::encoding) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The index of an instance, from 1.
    fn index_of(&mut self, held: &Held) -> usize {
        let next = self.entries.len() + 1;
        let index = *self.index.entry(held.address()).or_insert(next);
        if index == next {
            self.entries.push(held.clone());
        }
        index
    }
}

impl Encoder<'_> {
    /// Sets the format of class instances in encoding 1.1, according to the operation's metadata.
    pub fn set_class_format(&mut self, format: ClassFormat) {
        self.class_format = format;
    }

    /// Ends the parameters or results of an operation whose types use classes. In encoding 1.0 the
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
            for (id, held) in batch {
                self.int(id);
                self.graph().referrer = Some(id);
                self.instance_1_0(held.instance());
            }
            self.graph().referrer = None;
        }
        if !self.graph().references.can_be_read() {
            self.fail(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX));
        }
    }

    pub(super) fn class_reference(&mut self, target: &LinkTarget) {
        if let LinkTarget::Nil = target {
            return self.nil();
        }
        if let Some(links) = &mut self.graph().visited {
            return links.visit(target);
        }
        let Some(held) = target.borrowed() else {
            self.fail(EncodeError::IncompleteInstance);
            return self.nil();
        };
        if self.encoding() == EncodingVersion::V1_0 {
            return self.reference_1_0(&held);
        }
        match &mut self.graph().table {
            Some(table) => {
                let index = table.index_of(&held);
                self.size(index);
            }
            None => self.direct_reference(&held),
        }
    }

    fn nil(&mut self) {
        match self.encoding() {
            EncodingVersion::V1_0 => self.int(0),
            _ => self.size(0),
        }
    }

    fn reference_1_0(&mut self, held: &Held) {
        let graph = self.graph();
        let next = graph.ids.len() as i32 + 1;
        let id = match graph.ids.entry(held.address()) {
            Entry::Occupied(entry) => entry.get().1,
            Entry::Vacant(entry) => {
                entry.insert((held.clone(), next));
                graph.pending.push((next, held.clone()));
                next
            }
        };
        graph.references.add(graph.referrer, id);
        self.int(-id);
    }

    /// Writes the id of an instance, or the instance itself if it has none yet.
    fn direct_reference(&mut self, held: &Held) {
        let graph = self.graph();
        let next = graph.ids.len() as i32 + 2;
        match graph.ids.entry(held.address()) {
            Entry::Occupied(entry) => {
                let id = entry.get().1;
                self.size(id as usize);
            }
            Entry::Vacant(entry) => {
                entry.insert((held.clone(), next));
                self.byte(1);
                self.instance(held.instance());
            }
        }
    }

    fn instance(&mut self, instance: &Instance) {
        if self.graph().depth >= GRAPH_DEPTH_MAX {
            return self.fail(EncodeError::GraphTooDeep(GRAPH_DEPTH_MAX));
        }
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

    /// Writes the members of a kept slice. Its references are indexes into its original table.
    pub(in crate::encoding) fn kept_members(&mut self, kept: &UnknownSlice) {
        self.bytes(&kept.bytes);
        self.has_tagged = kept.has_tagged;
        for link in &kept.instances {
            match (link.target().held(), &mut self.graph().table) {
                (Some(held), Some(table)) => table.entries.push(held),
                _ => self.fail(EncodeError::IncompleteInstance),
            }
        }
    }

    fn instance_1_0(&mut self, instance: &Instance) {
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

    /// Ends a slice: records whether it has tagged members, and writes its table.
    pub(in crate::encoding) fn end_slice(&mut self, outer: OuterSlice) -> (bool, Table) {
        let has_tagged = std::mem::replace(&mut self.has_tagged, outer.has_tagged);
        let table = std::mem::replace(&mut self.graph().table, outer.table);
        (has_tagged, table.unwrap_or_default())
    }

    /// Writes the instances that a slice refers to.
    pub(in crate::encoding) fn indirection_table(&mut self, table: Table) {
        let outer = self.begin_slice(false);
        self.size(table.entries.len());
        for held in table.entries {
            self.direct_reference(&held);
        }
        self.end_slice(outer);
    }
}
