//! Reading references to instances, and instances inline (encoding 1.1).
//!
//! Instances are read depth first, and each is complete when all is known that it leads to: if it leads
//! to one that is still being read, it is part of a cycle, and waits for the outermost instance of that
//! cycle. Then the instances of the cycle become a group. Links between them are links inside, all
//! others hold their instance. (This is Tarjan's algorithm for strongly connected components.)

use std::collections::{HashMap, hash_map};
use std::sync::Arc;

use super::bodies::Body;
use super::class_reader::SliceHeader;
use super::expected::Expected;
use super::instance::{Group, Held, Member, Slot};
use super::link::Target;
use super::promise::Promise;
use super::{
    AnyClass, ClassFactory, ClassId, ClassReader, ClassType, Classes, GRAPH_DEPTH_MAX,
    GRAPH_STACK_MAX, Link, SliceId, TYPE_ID_LEN_MAX, UnknownClass, UnknownSlice,
};
use crate::encoding::slice::{self, Extent, HAS_TAGGED, TYPE_ID_KIND};
use crate::encoding::{DecodeError, DecodeErrorKind, Decoder, EncodingVersion};

/// What the references of one encapsulation have in common.
pub(in crate::encoding) struct GraphReader<'a> {
    /// Classes that are known; later ones are asked first.
    known: Vec<&'a dyn Classes>,
    /// Type ids that may be referred to by index, from 1.
    pub(super) type_ids: Vec<Arc<str>>,
    pub(super) instances: HashMap<i32, Entry>,
    /// The instances that are being read, outermost first.
    open: Vec<Open>,
    /// How many have been opened.
    opened_count: usize,
    /// Instances that were read and lead to one that is still being read.
    waiting: Vec<Waiting>,
    /// Where the stack stood when the outermost of them was opened.
    stack_base: usize,
    /// The indirection table of the slice that is being read, and whether it has been used.
    table: Option<(Vec<TableEntry>, bool)>,
    depth_max: usize,
    stack_max: usize,
    /// Instances of encoding 1.0 that were found but not read.
    pub(super) bodies: HashMap<i32, Body>,
    /// All bytes of the encapsulation, for the bodies of encoding 1.0.
    pub(super) whole: &'a [u8],
    /// Ids of encoding 1.0 in the order in which parameters refer to them.
    pub(super) wanted: Vec<(i32, Arc<Promise>)>,
}

impl std::fmt::Debug for GraphReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphReader")
            .field("instances", &self.instances.len())
            .finish_non_exhaustive()
    }
}

/// An instance that has an id.
pub(super) struct Entry {
    progress: Progress,
    /// What references that came before the instance was read expect of it.
    expected: Vec<Expected>,
}

enum Progress {
    /// Encoding 1.0: a parameter refers to it, its body comes later.
    Wanted {
        slot: Arc<Slot>,
        promise: Arc<Promise>,
    },
    /// It is being read; the number is that of [`Open::number`].
    Open { slot: Arc<Slot>, number: usize },
    /// It stands at this position of the waiting.
    Waiting { at: usize },
    /// It is complete, and has so many instances below one another.
    Complete { held: Held, height: usize },
}

/// An instance that is being read.
struct Open {
    /// Its position in the order in which instances were opened.
    number: usize,
    /// The lowest number of those that it leads to, as far as is known.
    lowest: usize,
    /// How many instances it has below one another, as far as is known.
    height: usize,
    /// How many were waiting when it was opened.
    waiting_len: usize,
}

/// An instance that was read, and that leads to one that is still being read.
struct Waiting {
    id: i32,
    lowest: usize,
    height: usize,
    member: Member,
}

/// An instance in the indirection table of a slice.
#[derive(Clone)]
pub(in crate::encoding) struct TableEntry {
    id: i32,
}

/// The id of the first instance in encoding 1.1; 1 means that an instance follows.
const FIRST_ID: i32 = 2;
const INLINE: usize = 1;

impl Default for GraphReader<'_> {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            type_ids: Vec::new(),
            instances: HashMap::new(),
            open: Vec::new(),
            opened_count: 0,
            waiting: Vec::new(),
            stack_base: 0,
            table: None,
            depth_max: GRAPH_DEPTH_MAX,
            stack_max: GRAPH_STACK_MAX,
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

    /// Whether an instance is being read.
    pub(super) fn is_reading(&self) -> bool {
        !self.open.is_empty()
    }

    /// Completes an instance with those that waited for it, or lets it wait.
    fn complete(
        &mut self,
        id: i32,
        open: Open,
        value: Box<dyn AnyClass>,
        unknown: Vec<UnknownSlice>,
    ) {
        let Open { lowest, height, .. } = open;
        let entry = self.instances.get_mut(&id).expect("it was opened");
        let at = self.waiting.len();
        let before = std::mem::replace(&mut entry.progress, Progress::Waiting { at });
        let Progress::Open { slot, .. } = before else {
            unreachable!("only an open instance is completed");
        };
        let is_alone = at == open.waiting_len;
        if lowest == open.number && is_alone {
            slot.fill(value, unknown);
            let held = Held::Lone(slot);
            entry.progress = Progress::Complete { held, height };
            return;
        }
        self.waiting.push(Waiting {
            id,
            lowest,
            height,
            member: Member {
                slot,
                value,
                unknown,
            },
        });
        if lowest == open.number {
            self.group(open.waiting_len);
        } else if let Some(outer) = self.open.last_mut() {
            outer.lowest = outer.lowest.min(lowest);
        }
    }

    /// Completes the instances of a cycle: those that wait, from this position on.
    fn group(&mut self, from: usize) {
        let waiting = self.waiting.drain(from..);
        let (known, members): (Vec<_>, Vec<_>) = waiting
            .map(|waiting| ((waiting.id, waiting.height), waiting.member))
            .unzip();
        let group = Group::of(members);
        for (index, (id, height)) in known.into_iter().enumerate() {
            let held = Held::member(&group, index);
            let entry = self.instances.get_mut(&id).expect("it was opened");
            entry.progress = Progress::Complete { held, height };
        }
    }

    /// Lets the links of parameters hold the instance with this id.
    pub(super) fn keep_promise(&self, id: i32, promise: &Promise) {
        if let Some(Progress::Complete { held, .. }) =
            self.instances.get(&id).map(|entry| &entry.progress)
        {
            promise.hold(held.clone());
        }
    }

    fn know(&mut self, classes: &'a dyn Classes) {
        let is_known = |known: &&dyn Classes| std::ptr::addr_eq(*known, classes);
        if !self.known.iter().any(is_known) {
            self.known.push(classes);
        }
    }
}

impl<'a> Decoder<'a> {
    /// The same decoder with classes that it can make instances of, besides those of the contracts
    /// whose classes it is asked for.
    #[must_use]
    pub fn with_classes(mut self, classes: &'a dyn Classes) -> Self {
        self.know_classes(classes);
        self
    }

    /// Adds classes that this decoder can make instances of.
    pub fn know_classes(&mut self, classes: &'a dyn Classes) {
        self.graph().know(classes);
    }

    /// The same decoder with another limit than [`GRAPH_DEPTH_MAX`], and none to the stack that
    /// instances inside one another take ([`GRAPH_STACK_MAX`]): for who knows how much there is.
    #[must_use]
    pub fn with_graph_depth_max(mut self, depth_max: usize) -> Self {
        self.graph().depth_max = depth_max;
        self.graph().stack_max = usize::MAX;
        self
    }

    /// Sets another limit than [`GRAPH_DEPTH_MAX`]; the stack that instances inside one another take
    /// stays limited ([`GRAPH_STACK_MAX`]).
    pub fn set_graph_depth_max(&mut self, depth_max: usize) {
        self.graph().depth_max = depth_max;
    }

    /// Ends the parameters or results of an operation whose types use classes: in encoding 1.0 the
    /// instances follow them. Until then links that were read lead nowhere.
    ///
    /// # Errors
    /// [`DecodeError`] if an instance is malformed, of no known class, or missing.
    pub fn finish_classes(&mut self) -> Result<(), DecodeError> {
        match self.encoding() {
            EncodingVersion::V1_0 => self.read_pending(),
            _ => Ok(()),
        }
    }

    pub(super) fn class_reference<T: ClassType + ?Sized>(&mut self) -> Result<Target, DecodeError> {
        if let Some(classes) = T::known_classes() {
            self.know_classes(classes);
        }
        self.reference(Expected::Typed {
            name: T::NAME,
            is_met: |instance| T::cast(instance).is_some(),
        })
    }

    /// Reads a reference to an instance of the class with this type id, or of one that extends it,
    /// where the class is not known when the program is compiled.
    ///
    /// # Errors
    /// As the decoding of a [`Link`].
    pub fn class_link(&mut self, type_id: &Arc<str>) -> Result<Link<dyn AnyClass>, DecodeError> {
        let expected = Expected::Named(Arc::clone(type_id));
        self.reference(expected).map(Link::new_in)
    }

    fn reference(&mut self, expected: Expected) -> Result<Target, DecodeError> {
        let start = self.position();
        match self.reference_id(expected.what())? {
            Some(id) => self.target(id, expected, start),
            None => Ok(Target::Nil),
        }
    }

    /// The id that the next reference names; what it names inline is read.
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

    /// The id of a reference that is no index: it names an instance, or one follows.
    fn direct_id(&mut self, reference: usize, start: usize) -> Result<i32, DecodeError> {
        if reference == INLINE {
            return self.inline_instance();
        }
        let id = i32::try_from(reference).unwrap_or(i32::MAX);
        if self.graph().instances.contains_key(&id) {
            return Ok(id);
        }
        Err(self.error_at(
            start,
            "class instance",
            DecodeErrorKind::UnknownInstance(id),
        ))
    }

    /// What a link to the instance holds; fails if that has the wrong class.
    fn target(&mut self, id: i32, expected: Expected, at: usize) -> Result<Target, DecodeError> {
        let graph = self.graph();
        let entry = graph.instances.get_mut(&id).expect("its id was looked up");
        let top = graph.open.last_mut();
        match &entry.progress {
            Progress::Complete { held, height } => {
                if let Some(top) = top {
                    top.height = top.height.max(height + 1);
                }
                let held = held.clone();
                match unexpected(&*held.instance().value, &expected) {
                    None => Ok(Target::Held(held)),
                    Some(kind) => Err(self.error_at(at, expected.what(), kind)),
                }
            }
            Progress::Waiting { at: position } => {
                let waiting = &graph.waiting[*position];
                let top = top.expect("it waits for one that is being read");
                top.height = top.height.max(waiting.height + 1);
                top.lowest = top.lowest.min(waiting.lowest);
                let value = &*waiting.member.value;
                let target = Target::Inside(Arc::downgrade(&waiting.member.slot));
                match unexpected(value, &expected) {
                    None => Ok(target),
                    Some(kind) => Err(self.error_at(at, expected.what(), kind)),
                }
            }
            Progress::Open { slot, number } => {
                let top = top.expect("it is being read");
                top.lowest = top.lowest.min(*number);
                let target = Target::Inside(Arc::downgrade(slot));
                entry.expect(expected);
                Ok(target)
            }
            Progress::Wanted { promise, .. } => {
                let target = Target::Promised(Arc::clone(promise));
                entry.expect(expected);
                Ok(target)
            }
        }
    }

    /// Registers an instance that starts here.
    pub(super) fn open_instance(&mut self, id: i32) -> Result<(), DecodeError> {
        let graph = self.graph();
        if graph.open.len() >= graph.depth_max {
            let kind = DecodeErrorKind::GraphTooDeep(graph.depth_max);
            return Err(self.error("class instance", kind));
        }
        let stack = stack_position();
        if graph.open.is_empty() {
            graph.stack_base = stack;
        } else if graph.stack_base.abs_diff(stack) > graph.stack_max {
            let kind = DecodeErrorKind::GraphStack(graph.open.len());
            return Err(self.error("class instance", kind));
        }
        let number = graph.opened_count;
        graph.opened_count += 1;
        graph.open.push(Open {
            number,
            lowest: number,
            height: 1,
            waiting_len: graph.waiting.len(),
        });
        match graph.instances.entry(id) {
            hash_map::Entry::Vacant(entry) => {
                let slot = Arc::new(Slot::empty());
                entry.insert(Entry::new(Progress::Open { slot, number }));
            }
            hash_map::Entry::Occupied(mut entry) => entry.get_mut().open(number),
        }
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
        let open = graph.open.pop().expect("it was opened");
        if open.height > graph.depth_max {
            let kind = DecodeErrorKind::GraphTooDeep(graph.depth_max);
            return Err(self.error("class instance", kind));
        }
        let entry = graph.instances.get_mut(&id).expect("it was opened");
        for expected in std::mem::take(&mut entry.expected) {
            if let Some(kind) = unexpected(&*value, &expected) {
                return Err(self.error_at(at, expected.what(), kind));
            }
        }
        self.graph().complete(id, open, value, unknown);
        Ok(())
    }

    fn inline_instance(&mut self) -> Result<i32, DecodeError> {
        let id = self.graph().instances.len() as i32 + FIRST_ID;
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
                break ClassReader::inline(self, header).read(factory)?;
            }
            unknown.push(self.unknown_slice(class_id.clone(), header.extent)?);
            if is_last {
                break Box::new(UnknownClass::new(&unknown[0].id)) as Box<dyn AnyClass>;
            }
            header = SliceHeader::read(self)?;
        };
        self.restore_table(outer_table);
        self.close_instance(id, value, unknown)?;
        Ok(id)
    }

    /// Keeps a slice of an unknown class or exception, at whose members the decoder stands.
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
        for _ in 0..count {
            let start = self.position();
            let reference = self.size(WHAT)?;
            if reference == 0 {
                return Err(self.error_at(start, WHAT, DecodeErrorKind::InvalidValue(0)));
            }
            let id = self.direct_id(reference, start)?;
            entries.push(TableEntry { id });
        }
        self.restore_table(outer_table);
        Ok(entries)
    }

    /// Makes `table` the one that references are indexes into, and returns the one before.
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

    /// Puts back a table; whether the one in between was used.
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

    /// Reads the type id of a slice of an instance; `None` if the flags say that there is none.
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

    /// Reads a type id, which gets the next index.
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

    /// Reads the index of a type id that came before.
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

/// What is wrong with an instance that should be another.
fn unexpected(value: &dyn AnyClass, expected: &Expected) -> Option<DecodeErrorKind> {
    let is_met = expected.is_met(value);
    (!is_met).then(|| DecodeErrorKind::UnexpectedClass(value.class_type_id().into()))
}

/// About where the stack stands. The address is only compared.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

impl Entry {
    /// An instance that comes later, and the promise of it for the parameters that refer to it.
    pub(super) fn wanted() -> (Self, Arc<Promise>) {
        let slot = Arc::new(Slot::empty());
        let promise = Promise::of(&slot);
        let entry = Self::new(Progress::Wanted {
            slot,
            promise: Arc::clone(&promise),
        });
        (entry, promise)
    }

    const fn new(progress: Progress) -> Self {
        Self {
            progress,
            expected: Vec::new(),
        }
    }

    /// Starts reading what was wanted.
    fn open(&mut self, number: usize) {
        if let Progress::Wanted { slot, .. } = &self.progress {
            let slot = Arc::clone(slot);
            self.progress = Progress::Open { slot, number };
        }
    }

    pub(super) fn is_read(&self) -> bool {
        !matches!(self.progress, Progress::Wanted { .. })
    }

    /// Remembers what a reference expects, once for each type: a peer can repeat a reference for a byte.
    fn expect(&mut self, expected: Expected) {
        let mut names = self.expected.iter().map(Expected::name);
        if !names.any(|name| name == expected.name()) {
            self.expected.push(expected);
        }
    }
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
