//! The instances of one encapsulation while it is read, and the grouping of cycles.
//!
//! Instances are read depth first. An instance is complete once everything reachable from it is known. If it refers to
//! one that is still being read, it is part of a cycle, and waits for the outermost instance of that cycle. Then the
//! instances of the cycle become a group. Links between them are weak, and all other links hold their instance. (This
//! is Tarjan's algorithm for strongly connected components.)

use std::sync::Arc;

use super::expected::Expected;
use super::instance::{Group, Held, Member, Slot};
use super::link::LinkTarget;
use super::promise::Promise;
use super::{AnyClass, UnknownSlice};
use crate::encoding::DecodeErrorKind;

/// The instances that have an id so far. Ids count up from [`FIRST_ID`].
#[derive(Default)]
pub(super) struct Received {
    entries: Vec<Entry>,
    /// The instances that are being read, outermost first.
    open: Vec<Open>,
    /// The number of instances that were opened.
    opened_count: usize,
    /// Instances that were read and refer to one that is still being read.
    waiting: Vec<Waiting>,
}

/// An instance that has an id.
struct Entry {
    progress: Progress,
    /// The classes that references expected before the instance was read.
    expected: Vec<Expected>,
}

enum Progress {
    /// Encoding 1.0: a parameter refers to it, and its body comes later.
    Wanted {
        slot: Arc<Slot>,
        promise: Arc<Promise>,
    },
    /// It is being read, with this [`OpenInstance::number`].
    Open { slot: Arc<Slot>, number: usize },
    /// It waits, at this position of the waiting list.
    Waiting { at: usize },
    /// It is complete, and this is the depth of its graph.
    Complete { held: Held, height: usize },
}

/// An instance that is being read.
struct Open {
    /// Its position in the order in which instances were opened.
    number: usize,
    /// The lowest number among the instances that it is known to refer to.
    lowest: usize,
    /// The known depth of its graph.
    height: usize,
    /// The length of the waiting list when it was opened.
    waiting_len: usize,
}

/// An instance that was read, and refers to one that is still being read.
struct Waiting {
    id: i32,
    lowest: usize,
    height: usize,
    member: Member,
}

/// The id of the first instance in encoding 1.1, where a reference of 1 means that an instance follows.
const FIRST_ID: i32 = 2;

/// The position of the instance with this id among the entries.
fn position(id: i32) -> Option<usize> {
    usize::try_from(id.checked_sub(FIRST_ID)?).ok()
}

impl Received {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The id of the next instance that gets one.
    pub(super) fn next_id(&self) -> i32 {
        let len = i32::try_from(self.entries.len()).ok();
        len.and_then(|len| len.checked_add(FIRST_ID))
            .expect("a message has fewer bytes than there are ids")
    }

    pub(super) fn contains(&self, id: i32) -> bool {
        self.entry(id).is_some()
    }

    fn entry(&self, id: i32) -> Option<&Entry> {
        self.entries.get(position(id)?)
    }

    fn entry_mut(&mut self, id: i32) -> Option<&mut Entry> {
        self.entries.get_mut(position(id)?)
    }

    /// The number of nested instances that are being read.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns true if an instance has been read, or is being read.
    pub(super) fn is_read(&self, id: i32) -> bool {
        let entry = self.entry(id);
        entry.is_some_and(|entry| !matches!(entry.progress, Progress::Wanted { .. }))
    }

    /// Registers an instance that parameters refer to and that comes later. Returns its id, and a promise for the
    /// parameters.
    pub(super) fn want(&mut self) -> (i32, Arc<Promise>) {
        let id = self.next_id();
        let slot = Arc::new(Slot::empty());
        let promise = Promise::of(&slot);
        self.entries.push(Entry::new(Progress::Wanted {
            slot,
            promise: Arc::clone(&promise),
        }));
        (id, promise)
    }

    /// Lets the links of parameters hold the instance with this id.
    pub(super) fn keep_promise(&self, id: i32, promise: &Promise) {
        let progress = self.entry(id).map(|entry| &entry.progress);
        if let Some(Progress::Complete { held, .. }) = progress {
            promise.hold(held.clone());
        }
    }

    /// The target for a link to the instance. The error says what is wrong if it has the wrong class.
    pub(super) fn target(
        &mut self,
        id: i32,
        expected: &Expected,
    ) -> Result<LinkTarget, DecodeErrorKind> {
        let at = position(id).expect("its id was looked up");
        let entry = &mut self.entries[at];
        let top = self.open.last_mut();
        match &entry.progress {
            Progress::Complete { held, height } => {
                if let Some(top) = top {
                    top.height = top.height.max(height + 1);
                }
                match unexpected(&*held.instance().value, expected) {
                    None => Ok(LinkTarget::Held(held.clone())),
                    Some(kind) => Err(kind),
                }
            }
            Progress::Waiting { at } => {
                let waiting = &self.waiting[*at];
                let top = top.expect("it waits for one that is being read");
                top.height = top.height.max(waiting.height + 1);
                top.lowest = top.lowest.min(waiting.lowest);
                match unexpected(&*waiting.member.value, expected) {
                    None => Ok(LinkTarget::Inside(Arc::downgrade(&waiting.member.slot))),
                    Some(kind) => Err(kind),
                }
            }
            Progress::Open { slot, number } => {
                let top = top.expect("it is being read");
                top.lowest = top.lowest.min(*number);
                let target = LinkTarget::Inside(Arc::downgrade(slot));
                entry.expect(expected);
                Ok(target)
            }
            Progress::Wanted { promise, .. } => {
                let target = LinkTarget::Promised(Arc::clone(promise));
                entry.expect(expected);
                Ok(target)
            }
        }
    }

    /// Registers an instance whose slices start here. Its id is known, or the next one.
    pub(super) fn open(&mut self, id: i32) {
        let number = self.opened_count;
        self.opened_count += 1;
        self.open.push(Open {
            number,
            lowest: number,
            height: 1,
            waiting_len: self.waiting.len(),
        });
        match self.entry_mut(id) {
            Some(entry) => entry.open(number),
            None => {
                let slot = Arc::new(Slot::empty());
                self.entries
                    .push(Entry::new(Progress::Open { slot, number }));
            }
        }
    }

    /// Ends the instance that was opened last. The error says which expectation it does not meet.
    pub(super) fn close(
        &mut self,
        id: i32,
        value: Box<dyn AnyClass>,
        unknown: Vec<UnknownSlice>,
        depth_max: usize,
    ) -> Result<(), (&'static str, DecodeErrorKind)> {
        let open = self.open.pop().expect("it was opened");
        if open.height > depth_max {
            let kind = DecodeErrorKind::GraphTooDeep(depth_max);
            return Err((Expected::any().what(), kind));
        }
        let at = position(id).expect("it was opened");
        let entry = &mut self.entries[at];
        for expected in std::mem::take(&mut entry.expected) {
            if let Some(kind) = unexpected(&*value, &expected) {
                return Err((expected.what(), kind));
            }
        }
        let at = self.waiting.len();
        let before = std::mem::replace(&mut entry.progress, Progress::Waiting { at });
        let Progress::Open { slot, .. } = before else {
            unreachable!("only an open instance is completed");
        };
        if open.lowest == open.number && at == open.waiting_len {
            slot.fill(value, unknown);
            entry.progress = Progress::Complete {
                held: Held::Lone(slot),
                height: open.height,
            };
            return Ok(());
        }
        let member = Member {
            slot,
            value,
            unknown,
        };
        self.wait(id, &open, member);
        Ok(())
    }

    /// Lets an instance wait, or completes it with those that waited for it.
    fn wait(&mut self, id: i32, open: &Open, member: Member) {
        let Open { lowest, height, .. } = *open;
        self.waiting.push(Waiting {
            id,
            lowest,
            height,
            member,
        });
        if lowest == open.number {
            self.group(open.waiting_len);
        } else if let Some(outer) = self.open.last_mut() {
            outer.lowest = outer.lowest.min(lowest);
        }
    }

    /// Completes the instances of a cycle: those from this position of the waiting list on.
    ///
    /// A link to any of them holds all of them, with everything that they lead to. So each has the depth of the deepest.
    fn group(&mut self, from: usize) {
        let waiting = self.waiting.drain(from..);
        let mut height = 0;
        let (ids, members): (Vec<_>, Vec<_>) = waiting
            .map(|waiting| {
                height = height.max(waiting.height);
                (waiting.id, waiting.member)
            })
            .unzip();
        let group = Group::of(members);
        for (index, id) in ids.into_iter().enumerate() {
            let held = Held::member(&group, index);
            let entry = self.entry_mut(id).expect("it was opened");
            entry.progress = Progress::Complete { held, height };
        }
    }
}

impl Entry {
    const fn new(progress: Progress) -> Self {
        Self {
            progress,
            expected: Vec::new(),
        }
    }

    /// Starts reading an instance that a reference has announced.
    fn open(&mut self, number: usize) {
        if let Progress::Wanted { slot, .. } = &self.progress {
            let slot = Arc::clone(slot);
            self.progress = Progress::Open { slot, number };
        }
    }

    /// Records the class that a reference expects, once for each class: a peer can repeat a reference for one byte.
    fn expect(&mut self, expected: &Expected) {
        let mut names = self.expected.iter().map(Expected::name);
        if !names.any(|name| name == expected.name()) {
            self.expected.push(expected.clone());
        }
    }
}

/// The error for an instance of another class than expected.
fn unexpected(value: &dyn AnyClass, expected: &Expected) -> Option<DecodeErrorKind> {
    let is_met = expected.is_met(value);
    (!is_met).then(|| DecodeErrorKind::UnexpectedClass(value.class_type_id().into()))
}
