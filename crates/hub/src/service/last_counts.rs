//! The counters of a topic or a subscriber that outlive it, for the metrics views that measure it.

use std::sync::{Arc, OnceLock, Weak};

use floe_metrics::Values;

/// Where an object leaves its counters when it is dropped, if a view has measured it.
#[derive(Debug, Default)]
pub(crate) struct LastCounts(OnceLock<Arc<OnceLock<Values>>>);

impl LastCounts {
    /// The object is being dropped, and these are its counters.
    pub(crate) fn leave(&self, counts: impl FnOnce() -> Values) {
        if let Some(last) = self.0.get() {
            let _ = last.set(counts());
        }
    }
}

/// An object that a view measures. It holds the object itself until [`CountedObject::release`], and its counters after
/// that.
pub(crate) struct CountedObject<T> {
    object: Weak<T>,
    held: Option<Arc<T>>,
    last: Arc<OnceLock<Values>>,
}

impl<T> CountedObject<T> {
    pub(crate) fn new(object: Arc<T>, last: &LastCounts) -> Self {
        Self {
            object: Arc::downgrade(&object),
            held: Some(object),
            last: last.0.get_or_init(Arc::default).clone(),
        }
    }

    /// Releases the object.
    pub(crate) fn release(&mut self) {
        self.held = None;
    }

    /// Distinguishes the object from all others. No other object gets its address while there is a reference, even a
    /// weak one.
    pub(crate) fn number(&self) -> usize {
        self.object.as_ptr().addr()
    }

    /// The object, if it is still there.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        self.object.upgrade()
    }

    /// Its counters: those that it has now, or had last.
    pub(crate) fn counts(&self, of: impl FnOnce(&T) -> Values) -> Values {
        match self.get() {
            Some(object) => of(&object),
            // If another thread is dropping the object, its counters come in a moment.
            None => *self.last.wait(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Object(LastCounts);

    impl Drop for Object {
        fn drop(&mut self) {
            self.0.leave(|| [7; 4]);
        }
    }

    #[test]
    fn an_object_that_was_released_and_dropped_leaves_its_counters() {
        let object = Arc::new(Object(LastCounts::default()));
        let mut counted = CountedObject::new(object.clone(), &object.0);
        drop(object);
        assert!(counted.get().is_some());
        assert_eq!(counted.counts(|_| [3; 4]), [3; 4]);
        counted.release();
        assert!(counted.get().is_none());
        assert_eq!(counted.counts(|_| [3; 4]), [7; 4]);
    }
}
