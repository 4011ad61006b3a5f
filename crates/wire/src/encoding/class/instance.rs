//! The shared place of one instance.

use std::sync::OnceLock;

use super::{AnyClass, UnknownSlice};

/// Where links point to: empty while the instance is being built or read, then filled once.
pub(super) struct Slot(OnceLock<Instance>);

/// An instance, and what a peer sent of it that we have no class for.
pub(super) struct Instance {
    pub(super) value: Box<dyn AnyClass>,
    /// Slices of unknown classes that extend the class of `value`, most derived first.
    pub(super) unknown: Vec<UnknownSlice>,
}

impl Slot {
    pub(super) const fn empty() -> Self {
        Self(OnceLock::new())
    }

    pub(super) fn get(&self) -> Option<&Instance> {
        self.0.get()
    }

    pub(super) fn get_mut(&mut self) -> Option<&mut Instance> {
        self.0.get_mut()
    }

    /// Fills the slot; the first instance stays.
    pub(super) fn fill(&self, value: Box<dyn AnyClass>, unknown: Vec<UnknownSlice>) {
        let _ = self.0.set(Instance { value, unknown });
    }
}
