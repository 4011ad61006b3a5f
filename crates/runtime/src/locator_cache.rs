//! Where objects and adapters are, as far as a locator has said.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe_wire::reference::{Identity, Target};

/// What a locator can be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LocatorKey {
    /// An adapter or a replica group, by its id.
    Adapter(String),
    /// A well-known object.
    Object(Identity),
}

/// Its answers, kept by communicator: all its proxies share them.
#[derive(Debug, Default)]
pub(crate) struct LocatorCache {
    known: Mutex<HashMap<LocatorKey, Known>>,
}

#[derive(Debug)]
struct Known {
    target: Target,
    told: Instant,
}

/// Answers that are kept; for one more, the oldest goes.
const KNOWN_MAX: usize = 10_000;

impl LocatorCache {
    /// What was said of it within this time, or ever.
    pub(crate) fn find(&self, sought: &LocatorKey, within: Option<Duration>) -> Option<Target> {
        let known = self.lock();
        let found = known.get(sought)?;
        let is_good = within.is_none_or(|within| found.told.elapsed() < within);
        is_good.then(|| found.target.clone())
    }

    /// That was said of it just now.
    pub(crate) fn note(&self, sought: LocatorKey, target: Target) {
        let mut known = self.lock();
        if known.len() >= KNOWN_MAX
            && !known.contains_key(&sought)
            && let Some(oldest) = known.iter().min_by_key(|(_, known)| known.told)
        {
            let oldest = oldest.0.clone();
            known.remove(&oldest);
        }
        let told = Instant::now();
        known.insert(sought, Known { target, told });
    }

    /// It is not there any more, nor is the adapter in which it was.
    pub(crate) fn forget(&self, sought: &LocatorKey) {
        let mut known = self.lock();
        if let Some(gone) = known.remove(sought)
            && let Target::Indirect { adapter_id } = gone.target
        {
            known.remove(&LocatorKey::Adapter(adapter_id));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LocatorKey, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(id: &str) -> LocatorKey {
        LocatorKey::Adapter(id.to_owned())
    }

    #[test]
    fn what_was_said_is_good_for_a_time() {
        let cache = LocatorCache::default();
        assert_eq!(cache.find(&adapter("a"), None), None);
        cache.note(adapter("a"), Target::WellKnown);
        assert_eq!(cache.find(&adapter("a"), None), Some(Target::WellKnown));
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(cache.find(&adapter("a"), hour), Some(Target::WellKnown));
        assert_eq!(cache.find(&adapter("a"), Some(Duration::ZERO)), None);
    }

    #[test]
    fn an_object_that_is_gone_takes_its_adapter_along() {
        let cache = LocatorCache::default();
        let object = LocatorKey::Object(Identity::new("o"));
        let adapter_id = "a".to_owned();
        cache.note(object.clone(), Target::Indirect { adapter_id });
        cache.note(adapter("a"), Target::WellKnown);
        cache.note(adapter("b"), Target::WellKnown);
        cache.forget(&object);
        let left = [&object, &adapter("a"), &adapter("b")].map(|sought| cache.find(sought, None));
        assert_eq!(left, [None, None, Some(Target::WellKnown)]);
    }

    #[test]
    fn there_is_no_more_than_there_may_be() {
        let cache = LocatorCache::default();
        for number in 0..KNOWN_MAX + 5 {
            cache.note(adapter(&number.to_string()), Target::WellKnown);
        }
        assert_eq!(cache.lock().len(), KNOWN_MAX);
        assert_eq!(cache.find(&adapter("0"), None), None, "the oldest went");
    }
}
