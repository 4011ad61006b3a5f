//! Instances: where each is stored, which instances live together, and what keeps them alive.
//!
//! Shared pointers in a cycle would never be freed. So instances that refer to one another form a
//! [`Group`], which owns them all. Links within a group are weak. Everything outside of the group
//! holds the whole group, so an instance keeps everything alive that is reachable from it.

use std::sync::{Arc, OnceLock, Weak};

use super::{AnyClass, UnknownSlice};

/// The storage of one instance. It is empty while the instance is built or read, and is filled
/// once.
pub(super) struct Slot(OnceLock<Instance>);

/// An instance, and its slices of unknown classes.
pub(super) struct Instance {
    pub(super) value: Box<dyn AnyClass>,
    /// Slices of unknown classes that extend the class of `value`, most derived first.
    pub(super) unknown: Vec<UnknownSlice>,
    /// The group that owns the slot, and the position there; `None` for an instance outside of
    /// cycles.
    group: Option<(Weak<Group>, u32)>,
}

/// Instances that live and end together: those of one cycle, or those of one graph that was built.
pub(super) struct Group {
    slots: Box<[Arc<Slot>]>,
}

/// A value that becomes a member of a group.
pub(super) struct Member {
    pub(super) slot: Arc<Slot>,
    pub(super) value: Box<dyn AnyClass>,
    pub(super) unknown: Vec<UnknownSlice>,
}

/// A complete instance, kept alive together with everything reachable from it.
#[derive(Clone)]
pub(super) enum Held {
    /// An instance that is in no cycle with others. It may refer to itself.
    Lone(Arc<Slot>),
    /// The instance at this position of a group.
    Member(Arc<Group>, u32),
}

impl Slot {
    pub(super) const fn empty() -> Self {
        Self(OnceLock::new())
    }

    /// Stores an instance that is in no group.
    pub(super) fn fill(&self, value: Box<dyn AnyClass>, unknown: Vec<UnknownSlice>) {
        self.set(value, unknown, None);
    }

    fn set(
        &self,
        value: Box<dyn AnyClass>,
        unknown: Vec<UnknownSlice>,
        group: Option<(Weak<Group>, u32)>,
    ) {
        // The caller has just made the slot, so it is empty.
        let _ = self.0.set(Instance {
            value,
            unknown,
            group,
        });
    }
}

impl Group {
    /// Completes instances, and makes them a group.
    pub(super) fn of(members: Vec<Member>) -> Arc<Self> {
        Arc::new_cyclic(|group| {
            let slots = (0_u32..).zip(members).map(|(index, member)| {
                let place = Some((Weak::clone(group), index));
                member.slot.set(member.value, member.unknown, place);
                member.slot
            });
            let slots = slots.collect();
            Self { slots }
        })
    }
}

impl Held {
    /// Makes an instance that nothing else refers to.
    pub(super) fn lone(value: Box<dyn AnyClass>, unknown: Vec<UnknownSlice>) -> Self {
        let slot = Slot::empty();
        slot.fill(value, unknown);
        Self::Lone(Arc::new(slot))
    }

    /// The member of a group at this position.
    pub(super) fn member(group: &Arc<Group>, index: usize) -> Self {
        let index = u32::try_from(index).expect("memory holds fewer than 2^32 instances");
        Self::Member(Arc::clone(group), index)
    }

    /// The instance of a slot; `None` if it is incomplete, or if its group is gone.
    pub(super) fn of(slot: Arc<Slot>) -> Option<Self> {
        match &slot.0.get()?.group {
            Some((group, index)) => Some(Self::Member(group.upgrade()?, *index)),
            None => Some(Self::Lone(slot)),
        }
    }

    pub(super) fn is_lone(&self) -> bool {
        matches!(self, Self::Lone(_))
    }

    fn slot(&self) -> &Slot {
        match self {
            Self::Lone(slot) => slot,
            Self::Member(group, index) => &group.slots[*index as usize],
        }
    }

    pub(super) fn instance(&self) -> &Instance {
        let instance = self.slot().0.get();
        instance.expect("only a complete instance is held")
    }

    /// The instance, mutable, if nothing else refers to it.
    pub(super) fn instance_mut(&mut self) -> Option<&mut Instance> {
        match self {
            Self::Lone(slot) => Arc::get_mut(slot)?.0.get_mut(),
            Self::Member(..) => None,
        }
    }

    /// The address that identifies the instance.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self.slot()).addr()
    }
}
