//! Instances of classes that are not known when the program is compiled, built link by link.

use std::sync::Arc;

use super::instance::Slot;
use super::link::Target;
use super::{AnyClass, Link, UnknownSlice};

/// An instance that links may lead to before it has a value: how graphs are built of which the
/// shape is known only at run time.
///
/// Whoever builds one sees to it that what is owned is no cycle: a link that closes one must be one
/// [back](Link::to_back). Until it is filled, links to it lead nowhere and cannot be encoded.
///
/// ```
/// use floe_wire::encoding::{AnyClass, Draft, SliceId, UnknownClass};
///
/// let draft = Draft::new();
/// let link = draft.link();
/// assert!(link.get().is_none());
/// let value = UnknownClass::new(&SliceId::Name("::M::C".into()));
/// draft.fill(Box::new(value), Vec::new());
/// assert_eq!(link.get().expect("it is filled").class_type_id(), "::M::C");
/// ```
pub struct Draft(Arc<Slot>);

impl Draft {
    /// An instance without a value.
    pub fn new() -> Self {
        Self(Arc::new(Slot::empty()))
    }

    /// A link that owns the instance.
    pub fn link(&self) -> Link<dyn AnyClass> {
        Link::new_in(Target::Owned(Arc::clone(&self.0)))
    }

    /// Gives the instance its value, and the slices that a peer sent of classes that nobody here
    /// knows, most derived first.
    pub fn fill(self, value: Box<dyn AnyClass>, unknown: Vec<UnknownSlice>) {
        self.0.fill(value, unknown);
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft").finish_non_exhaustive()
    }
}
