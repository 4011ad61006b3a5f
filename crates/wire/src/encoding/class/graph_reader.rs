//! Reading references to instances, and inline instances (encoding 1.1).
//!
//! Instances are read depth first. `received.rs` completes them and finds cycles.

use std::collections::HashMap;
use std::sync::Arc;

use super::bodies::Body;
use super::class_reader::SliceHeader;
use super::expected::Expected;
use super::link::LinkTarget;
use super::promise::Promise;
use super::received::Received;
use super::{
    AnyClass, ClassFactory, ClassId, ClassReader, ClassType, Classes, GRAPH_DEPTH_MAX,
    GRAPH_STACK_MAX, Link, SliceId, TYPE_ID_LEN_MAX, UnknownClass, UnknownSlice,
};
use crate::encoding::slice::{self, Extent, HAS_TAGGED, TYPE_ID_KIND};
use crate::encoding::{DecodeError, DecodeErrorKind, Decoder, EncodingVersion};

/// State that the references of one encapsulation share.
pub(in crate::encoding) struct GraphReader<'a> {
    /// Known classes. Tables that were added later are searched first.
    known: Vec<&'a dyn Classes>,
    /// Type ids that an index may refer to, from 1.
    pub(super) type_ids: Vec<Arc<str>>,
    pub(super) instances: Received,
    /// The stack position when the outermost instance was opened.
    stack_base: usize,
    /// The indirection table of the current slice, and whether it has been used.
    table: Option<(Vec<TableEntry>, bool)>,
    depth_max: usize,
    stack_max: usize,
    /// Ids of encoding 1.0, which the peer chooses, and the ids of these instances here.
    pub(super) ids: HashMap<i32, i32>,
    /// Instances of encoding 1.0 whose bodies were found but not read, by the ids that the peer chose.
    pub(super) bodies: HashMap<i32, Body>,
    /// All bytes of the encapsulation, for the bodies of encoding 1.0.
    pub(super) whole: &'a [u8],
    /// Ids that the peer chose in encoding 1.0, in the order in which parameters refer to them.
    pub(super) wanted: Vec<(i32, Arc<Promise>)>,
}

impl std::fmt::Debug for GraphReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphReader")
            .field("instances", &self.instances.len())
            .finish_non_exhaustive()
    }
}

/// An instance in the indirection table of a slice.
#[derive(Clone)]
pub(in crate::encoding) struct TableEntry {
    id: i32,
}

/// As a reference, this means that an instance follows.
const INLINE: usize = 1;

impl Default for GraphReader<'_> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            type_ids: Vec::new(),
            instances: Received::default(),
            stack_base: 0,
            table: None,
            depth_max: GRAPH_DEPTH_MAX,
            stack_max: GRAPH_STACK_MAX,
            ids: HashMap::new(),
            bodies: HashMap::new(),
            whole: &[],
            wanted: Vec::new(),
        }
    }
}

impl<'a> GraphReader<'a> {
    pub(super) fn find(&self, id: ClassId<'_>) -> Option<&'a dyn ClassFactory> {
        self.known.iter().rev().find_map(|classes| classes.find(id))
    }

    /// Returns true if an instance is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.instances.depth() > 0
    }

    fn know(&mut self, classes: &'a dyn Classes) {
        let is_known = |known: &&dyn Classes| std::ptr::addr_eq(*known, classes);
        if !self.known.iter().any(is_known) {
            self.known.push(classes);
        }
    }
}

impl<'a> Decoder<'a> {
    /// Adds more classes to the decoder, besides those of the contracts whose classes the program
    /// decodes.
    #[must_use]
    pub fn with_classes(mut self, classes: &'a dyn Classes) -> Self {
        self.know_classes(classes);
        self
    }

    /// Adds classes that this decoder can make instances of.
    pub fn know_classes(&mut self, classes: &'a dyn Classes) {
        self.graph().know(classes);
    }

    /// Sets another limit than [`GRAPH_DEPTH_MAX`], and removes the limit on the
    /// stack ([`GRAPH_STACK_MAX`]). Use it if you know that the stack is large enough.
    #[must_use]
    pub fn with_graph_depth_max(mut self, depth_max: usize) -> Self {
        self.graph().depth_max = depth_max;
        self.graph().stack_max = usize::MAX;
        self
    }

    /// Sets another limit than [`GRAPH_DEPTH_MAX`]. The limit on the stack ([`GRAPH_STACK_MAX`])
    /// stays.
    pub fn set_graph_depth_max(&mut self, depth_max: usize) {
        self.graph().depth_max = depth_max;
    }

    /// Ends the parameters or results of an operation whose types use classes. In encoding 1.0 the
    /// instances follow them; until they are read, the links are empty.
    ///
    /// # Errors
    /// [`DecodeError`] if an instance is malformed, of no known class, or missing.
    pub fn finish_classes(&mut self) -> Result<(), DecodeError> {
        match self.encoding() {
            EncodingVersion::V1_0 => self.read_pending(),
            _ => Ok(()),
        }
    }

    pub(super) fn class_reference<T: ClassType + ?Sized>(
        &mut self,
    ) -> Result<LinkTarget, DecodeError> {
        if let Some(classes) = T::known_classes() {
            self.know_classes(classes);
        }
        self.reference(Expected::Typed {
            name: T::NAME,
            is_met: |instance| T::cast(instance).is_some(),
        })
    }

    /// Reads a reference to an instance of the class with this type id, or of a class that extends
    /// it. Use it if the class is not known when the program is compiled.
    ///
    /// # Errors
    /// An error of decoding a [`Link`].
    pub fn class_link(&mut self, type_id: &Arc<str>) -> Result<Link<dyn AnyClass>, DecodeError> {
        let expected = Expected::Named(Arc::clone(type_id));
        self.reference(expected).map(Link::new_in)
    }

    fn reference(&mut self, expected: Expected) -> Result<LinkTarget, DecodeError> {
        let start = self.position();
        match self.reference_id(expected.what())? {
            Some(id) => self.target(id, expected, start),
            None => Ok(LinkTarget::Nil),
        }
    }

    /// The id of the next reference. Reads an inline instance.
    fn reference_id(&mut self, what: &'static str) -> Result<Option<i32>, DecodeError> {
        if self.encoding() == EncodingVersion::V1_0 {
            return self.reference_id_1_0(what);
        }
        let start = self.position();
        let reference = self.size(what)?;
        if reference == 0 {
            return Ok(None);
        }
        if let Some((entries, is_used)) = &mut self.graph().table {
            *is_used = true;
            let found = entries.get(reference - 1).map(|entry| entry.id);
            let kind = DecodeErrorKind::InvalidValue(reference as i64);
            let error = || self.error_at(start, "index into an indirection table", kind);
            return found.ok_or_else(error).map(Some);
        }
        self.direct_id(reference, start).map(Some)
    }

    /// The id of a reference that is not an index: it names an instance, or one follows.
    fn direct_id(&mut self, reference: usize, start: usize) -> Result<i32, DecodeError> {
        if reference == INLINE {
            return self.inline_instance();
        }
        let id = i32::try_from(reference).unwrap_or(i32::MAX);
        if self.graph().instances.contains(id) {
            return Ok(id);
        }
        Err(self.error_at(
            start,
            "class instance",
            DecodeErrorKind::UnknownInstance(id),
        ))
    }

    /// The target for a link to the instance. Fails if the instance has the wrong class.
    fn target(
        &mut self,
        id: i32,
        expected: Expected,
        at: usize,
    ) -> Result<LinkTarget, DecodeError> {
        let target = self.graph().instances.target(id, &expected);
        target.map_err(|kind| self.error_at(at, expected.what(), kind))
    }

    /// Registers an instance whose slices start here.
    pub(super) fn open_instance(&mut self, id: i32) -> Result<(), DecodeError> {
        let graph = self.graph();
        let depth = graph.instances.depth();
        if depth >= graph.depth_max {
            let kind = DecodeErrorKind::GraphTooDeep(graph.depth_max);
            return Err(self.error("class instance", kind));
        }
        let stack = stack_position();
        if depth == 0 {
            graph.stack_base = stack;
        } else if graph.stack_base.abs_diff(stack) > graph.stack_max {
            return Err(self.error("class instance", DecodeErrorKind::GraphStack(depth)));
        }
        graph.instances.open(id);
        Ok(())
    }

    /// Ends the instance that was opened last.
    pub(super) fn close_instance(
        &mut self,
        id: i32,
        value: Box<dyn AnyClass>,
        unknown: Vec<UnknownSlice>,
    ) -> Result<(), DecodeError> {
        let at = self.position();
        let graph = self.graph();
        let depth_max = graph.depth_max;
        let closed = graph.instances.close(id, value, unknown, depth_max);
        closed.map_err(|(what, kind)| self.error_at(at, what, kind))
    }

    fn inline_instance(&mut self) -> Result<i32, DecodeError> {
        let id = self.graph().instances.next_id();
        self.open_instance(id)?;
        let outer_table = self.replace_table(None);
        let mut unknown = Vec::new();
        let mut header = SliceHeader::read(self)?;
        let value = loop {
            let (class_id, is_last) = (header.id.as_ref(), header.extent.is_last());
            let Some(class_id) = class_id else {
                let kind = DecodeErrorKind::InvalidValue(i64::from(header.extent.flags));
                return Err(self.error("flags of an instance's first slice", kind));
            };
            if let Some(factory) = self.graph().find(class_id.as_class_id()) {
                if !factory.keeps_unknown_slices() {
                    unknown.clear();
                }
                break ClassReader::inline(self, header).read(factory)?;
            }
            let slice = self.unknown_slice(class_id.clone(), header.extent)?;
            // Most instances have one at most, and there can be many instances.
            unknown.reserve_exact(usize::from(unknown.is_empty()));
            unknown.push(slice);
            if is_last {
                break Box::new(UnknownClass::new(&unknown[0].id)) as Box<dyn AnyClass>;
            }
            header = SliceHeader::read(self)?;
        };
        self.restore_table(outer_table);
        self.close_instance(id, value, unknown)?;
        Ok(id)
    }

    /// Keeps a slice of an unknown class or exception. The decoder is at its members.
    pub(in crate::encoding) fn unknown_slice(
        &mut self,
        id: SliceId,
        extent: Extent,
    ) -> Result<UnknownSlice, DecodeError> {
        let Some(end) = extent.end else {
            let kind = DecodeErrorKind::UnknownClass(id.to_string());
            return Err(self.error("class instance", kind));
        };
        let (table, after) = slice::read_table(self, extent)?;
        let members = self.bytes(end - self.position(), "slice of an unknown class")?;
        let has_tagged = extent.flags & HAS_TAGGED != 0;
        let bytes = match (has_tagged, members.split_last()) {
            (true, Some((_, members))) => members,
            _ => members,
        };
        let at = self.position();
        self.seek(after.unwrap_or(at));
        let mut instances = Vec::new();
        for entry in table.unwrap_or_default() {
            instances.push(Link::new_in(self.target(entry.id, Expected::any(), at)?));
        }
        Ok(UnknownSlice {
            id,
            bytes: bytes.to_vec(),
            has_tagged,
            is_last: extent.is_last(),
            instances,
        })
    }

    /// Reads an indirection table, and the instances in it.
    pub(in crate::encoding) fn indirection_table(
        &mut self,
    ) -> Result<Vec<TableEntry>, DecodeError> {
        const WHAT: &str = "indirection table";
        let start = self.position();
        let count = self.count(1, WHAT)?;
        if count == 0 {
            return Err(self.error_at(start, WHAT, DecodeErrorKind::InvalidValue(0)));
        }
        let outer_table = self.replace_table(None);
        let mut entries = Vec::with_capacity(count);
        self.each(count, 1, |decoder| {
            let start = decoder.position();
            let reference = decoder.size(WHAT)?;
            if reference == 0 {
                return Err(decoder.error_at(start, WHAT, DecodeErrorKind::InvalidValue(0)));
            }
            let id = decoder.direct_id(reference, start)?;
            entries.push(TableEntry { id });
            Ok(())
        })?;
        self.restore_table(outer_table);
        Ok(entries)
    }

    /// Makes `table` the current indirection table, and returns the previous one.
    pub(in crate::encoding) fn replace_table(
        &mut self,
        table: Option<Vec<TableEntry>>,
    ) -> Option<(Vec<TableEntry>, bool)> {
        if table.is_none() && !self.has_graph() {
            return None;
        }
        let table = table.map(|entries| (entries, false));
        std::mem::replace(&mut self.graph().table, table)
    }

    /// Restores a table. Returns whether the table that it replaces was used.
    pub(in crate::encoding) fn restore_table(
        &mut self,
        table: Option<(Vec<TableEntry>, bool)>,
    ) -> bool {
        if table.is_none() && !self.has_graph() {
            return false;
        }
        let inner = std::mem::replace(&mut self.graph().table, table);
        inner.is_some_and(|(_, is_used)| is_used)
    }

    /// Reads the type id of an instance's slice; `None` if the flags say that there is none.
    pub(super) fn slice_id(&mut self, flags: u8) -> Result<Option<SliceId>, DecodeError> {
        const WHAT: &str = "class type id";
        match flags & TYPE_ID_KIND {
            1 => {
                let type_id = self.new_type_id()?;
                Ok(Some(SliceId::Name(type_id)))
            }
            2 => self.indexed_type_id().map(SliceId::Name).map(Some),
            3 => {
                let id = self.size(WHAT)?;
                Ok(Some(SliceId::Compact(
                    i32::try_from(id).unwrap_or(i32::MAX),
                )))
            }
            _ => Ok(None),
        }
    }

    /// Reads a type id, and gives it the next index.
    pub(super) fn new_type_id(&mut self) -> Result<Arc<str>, DecodeError> {
        const WHAT: &str = "class type id";
        let start = self.position();
        let type_id = self.str(WHAT)?;
        if type_id.len() > TYPE_ID_LEN_MAX {
            let kind = DecodeErrorKind::TypeIdTooLong(type_id.len());
            return Err(self.error_at(start, WHAT, kind));
        }
        let type_id: Arc<str> = type_id.into();
        self.graph().type_ids.push(Arc::clone(&type_id));
        Ok(type_id)
    }

    /// Reads the index of an earlier type id.
    pub(super) fn indexed_type_id(&mut self) -> Result<Arc<str>, DecodeError> {
        const WHAT: &str = "index of a class type id";
        let start = self.position();
        let index = self.size(WHAT)?;
        let type_ids = &self.graph().type_ids;
        let found = index.checked_sub(1).and_then(|at| type_ids.get(at));
        found.cloned().ok_or_else(|| {
            let kind = DecodeErrorKind::InvalidValue(index as i64);
            self.error_at(start, WHAT, kind)
        })
    }
}

/// The approximate stack position. The address is only compared.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

impl SliceId {
    pub(super) fn as_class_id(&self) -> ClassId<'_> {
        match self {
            Self::Name(type_id) => ClassId::Name(type_id),
            Self::Compact(id) => ClassId::Compact(*id),
        }
    }
}

impl std::fmt::Display for SliceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(type_id) => f.write_str(type_id),
            Self::Compact(id) => write!(f, "with compact id {id}"),
        }
    }
}
