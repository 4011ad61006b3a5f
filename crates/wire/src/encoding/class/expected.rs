//! The class that a reference expects of its instance.

use std::sync::Arc;

use super::{AnyClass, ClassType};

/// The class that a reference expects of its instance.
#[derive(Clone)]
pub(super) enum Expected {
    /// A class that is known when the program is compiled.
    Typed {
        name: &'static str,
        is_met: fn(&dyn AnyClass) -> bool,
    },
    /// The class with this type id, or one that extends it.
    Named(Arc<str>),
}

impl Expected {
    pub(super) fn any() -> Self {
        Self::Typed {
            name: <dyn AnyClass>::NAME,
            is_met: |_| true,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Typed { name, .. } => name,
            Self::Named(type_id) => type_id,
        }
    }

    /// The name of the expected class, for errors.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Self::Typed { name, .. } => name,
            Self::Named(_) => <dyn AnyClass>::NAME,
        }
    }

    pub(super) fn is_met(&self, instance: &dyn AnyClass) -> bool {
        match self {
            Self::Typed { is_met, .. } => is_met(instance),
            Self::Named(type_id) => extends(instance, type_id),
        }
    }
}

/// Returns true if an instance is of the class with this type id, or of one that extends it.
fn extends(instance: &dyn AnyClass, type_id: &str) -> bool {
    let levels = std::iter::successors(Some(instance), |level| level.base());
    levels
        .into_iter()
        .any(|level| level.class_type_id() == type_id)
}
