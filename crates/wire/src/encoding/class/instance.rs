//! Instances: where each is stored, which of them live together, and who keeps them alive.
//!
//! Shared pointers in a cycle would never be freed. So instances that lead to one another form a
//! [`Group`], which owns them all. Links within a group are weak, and everything outside of it holds
//! the whole group: whatever an instance leads to lives as long as the instance.

use std::sync::{Arc, OnceLock, Weak};

use super::{AnyClass, UnknownSlice};

/// Where one instance is stored: empty while the instance is being built or read, then filled once.
pub(super) struct Slot(OnceLock<Instance>);

/// An instance, and what a peer sent of it that we have no class for.
pub(super) struct Instance {
    pub(super) value: Box<dyn AnyClass>,
    /// Slices of unknown classes that extend the class of `value`, most derived first.
    pub(super) unknown: Vec<UnknownSlice>,
    /// The group that owns the slot, and the position there; `None` for one that is in no cycle.
    group: Option<(Weak<Group>, u32)>,
}

/// Instances that live and end together: those of one cycle, or those that were built together.
pub(super) struct Group {
    slots: Box<[Arc<Slot>]>,
}

/// What becomes a member of a group.
pub(super) struct Member {
    pub(super) slot: Arc<Slot>,
    pub(super) value: Box<dyn AnyClass>,
    pub(super) unknown: Vec<UnknownSlice>,
}

/// A complete instance, kept alive together with all that it leads to.
#[derive(Clone)]
pub(super) enum Held {
    /// An instance in no cycle, except perhaps one of itself alone.
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
        // Who fills a slot has just made it, so that it is empty.
        let _ = self.0.set(Instance {
            value,
            unknown,
            group,
        });
    }
}

impl Group {
    /// Completes instances that live together from now on.
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
    /// A new instance that nothing else leads to.
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

    /// The instance of a slot; `None` if it is incomplete, or if its group is no more.
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

    /// The instance to be changed, if nothing else refers to it.
    pub(super) fn instance_mut(&mut self) -> Option<&mut Instance> {
        match self {
            Self::Lone(slot) => Arc::get_mut(slot)?.0.get_mut(),
            Self::Member(..) => None,
        }
    }

    /// What tells the instance from all others.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self.slot()).addr()
    }
}
