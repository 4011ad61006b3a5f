//! Ends a run from outside, such as by a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the run whose options have a copy of it: its processes end, and what was measured until then is reported.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that nothing has set yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Two are equal if one is a copy of the other.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
