//! Links to instances that are not complete yet.
//!
//! In encoding 1.0 parameters refer to instances that come after them, and a
//! [`Graph`](super::Graph) is linked before it is finished. At that time it is unknown whether the
//! link will hold its instance. It does, unless the link itself is part of the instance's group.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::instance::{Group, Held, Slot};

/// The target of a link that was made before its instance was complete.
pub(super) struct Promise {
    slot: Weak<Slot>,
    /// Set when the instance is complete: the target that the link holds, or `None` if both are in
    /// the same group.
    held: OnceLock<Option<Held>>,
    /// The graph to which the instance belongs, and its position there.
    origin: Option<(Weak<Mutex<PromiseState>>, usize)>,
}

/// The promises of a graph that is being built, and their results.
#[derive(Clone, Default)]
pub(super) struct Promises(Arc<Mutex<PromiseState>>);

enum PromiseState {
    Building(Vec<Arc<Promise>>),
    Finished(Arc<Group>),
}

impl Default for PromiseState {
    fn default() -> Self {
        Self::Building(Vec::new())
    }
}

impl Promise {
    /// Makes a promise of an instance that a decoder will read. All links with it are outside of
    /// the instance's group.
    pub(super) fn of(slot: &Arc<Slot>) -> Arc<Self> {
        Arc::new(Self {
            slot: Arc::downgrade(slot),
            held: OnceLock::new(),
            origin: None,
        })
    }

    /// Makes the link hold its instance.
    pub(super) fn hold(&self, held: Held) {
        // If the promise is already kept, it has the same instance.
        let _ = self.held.set(Some(held));
    }

    /// Records that the link is inside the group of its instance.
    pub(super) fn stay_inside(&self) {
        let _ = self.held.set(None);
    }

    pub(super) fn is_of(&self, graph: &Promises) -> bool {
        let origin = self.origin.as_ref();
        origin.is_some_and(|(promises, _)| promises.as_ptr() == Arc::as_ptr(&graph.0))
    }

    /// Returns true if the instance is incomplete.
    pub(super) fn is_open(&self) -> bool {
        self.held.get().is_none()
    }

    /// The instance, if it is complete.
    pub(super) fn held(&self) -> Option<Held> {
        match self.held.get()? {
            Some(held) => Some(held.clone()),
            None => Held::of(self.slot.upgrade()?),
        }
    }

    pub(super) fn address(&self) -> usize {
        self.slot.as_ptr().addr()
    }

    /// The promise for a clone of the link, which may be stored elsewhere.
    pub(super) fn again(self: &Arc<Self>) -> Arc<Self> {
        let origin = self.origin.as_ref();
        let graph = origin.and_then(|(promises, index)| Some((promises.upgrade()?, *index)));
        match graph {
            Some((promises, index)) => Promises(promises).promise(&self.slot, index),
            None => Arc::clone(self),
        }
    }
}

impl Promises {
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Makes a promise of the instance in this slot, at this position of the graph.
    pub(super) fn promise(&self, slot: &Weak<Slot>, index: usize) -> Arc<Promise> {
        let promise = Arc::new(Promise {
            slot: Weak::clone(slot),
            held: OnceLock::new(),
            origin: Some((Arc::downgrade(&self.0), index)),
        });
        match &mut *self.state() {
            PromiseState::Building(promises) => promises.push(Arc::clone(&promise)),
            PromiseState::Finished(group) => promise.hold(Held::member(group, index)),
        }
        promise
    }

    /// Keeps the promises: all links outside of the graph hold the group.
    pub(super) fn keep(&self, group: Arc<Group>) {
        let mut state = self.state();
        if let PromiseState::Building(promises) = &*state {
            for promise in promises.iter().filter(|promise| promise.is_open()) {
                let (_, index) = promise.origin.as_ref().expect("it is one of a graph");
                promise.hold(Held::member(&group, *index));
            }
        }
        *state = PromiseState::Finished(group);
    }

    fn state(&self) -> MutexGuard<'_, PromiseState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
