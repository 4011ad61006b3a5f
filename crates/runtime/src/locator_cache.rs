//! The answers of a locator: where objects and adapters are.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe_wire::reference::{Identity, Target};

/// A question to a locator.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LocatorKey {
    /// An adapter or a replica group, by its id.
    Adapter(String),
    /// A well-known object.
    Object(Identity),
}

/// The answers of the locator, which all proxies of a communicator share.
#[derive(Debug, Default)]
pub(crate) struct LocatorCache {
    entries: Mutex<HashMap<LocatorKey, CacheEntry>>,
}

#[derive(Debug)]
struct CacheEntry {
    target: Target,
    noted: Instant,
}

/// Number of answers that are kept. Beyond it, a new answer replaces the oldest.
const ENTRIES_MAX: usize = 10_000;

impl LocatorCache {
    /// The answer for this key, if it is not older than `within`; `None` accepts any age.
    pub(crate) fn find(&self, key: &LocatorKey, within: Option<Duration>) -> Option<Target> {
        let entries = self.lock();
        let found = entries.get(key)?;
        let is_good = within.is_none_or(|within| found.noted.elapsed() < within);
        is_good.then(|| found.target.clone())
    }

    /// Records an answer that has just arrived.
    pub(crate) fn note(&self, key: LocatorKey, target: Target) {
        let mut entries = self.lock();
        if entries.len() >= ENTRIES_MAX
            && !entries.contains_key(&key)
            && let Some(oldest) = entries.iter().min_by_key(|(_, entry)| entry.noted)
        {
            let oldest = oldest.0.clone();
            entries.remove(&oldest);
        }
        let noted = Instant::now();
        entries.insert(key, CacheEntry { target, noted });
    }

    /// Removes the answer for this key, and for the adapter that it names.
    pub(crate) fn forget(&self, key: &LocatorKey) {
        let mut entries = self.lock();
        if let Some(gone) = entries.remove(key)
            && let Target::Indirect { adapter_id } = gone.target
        {
            entries.remove(&LocatorKey::Adapter(adapter_id));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LocatorKey, CacheEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(id: &str) -> LocatorKey {
        LocatorKey::Adapter(id.to_owned())
    }

    #[test]
    fn an_answer_is_valid_for_a_time() {
        let cache = LocatorCache::default();
        assert_eq!(cache.find(&adapter("a"), None), None);
        cache.note(adapter("a"), Target::WellKnown);
        assert_eq!(cache.find(&adapter("a"), None), Some(Target::WellKnown));
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(cache.find(&adapter("a"), hour), Some(Target::WellKnown));
        assert_eq!(cache.find(&adapter("a"), Some(Duration::ZERO)), None);
    }

    #[test]
    fn forgetting_an_object_forgets_its_adapter() {
        let cache = LocatorCache::default();
        let object = LocatorKey::Object(Identity::new("o"));
        let adapter_id = "a".to_owned();
        cache.note(object.clone(), Target::Indirect { adapter_id });
        cache.note(adapter("a"), Target::WellKnown);
        cache.note(adapter("b"), Target::WellKnown);
        cache.forget(&object);
        let left = [&object, &adapter("a"), &adapter("b")].map(|key| cache.find(key, None));
        assert_eq!(left, [None, None, Some(Target::WellKnown)]);
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = LocatorCache::default();
        for number in 0..ENTRIES_MAX + 5 {
            cache.note(adapter(&number.to_string()), Target::WellKnown);
        }
        assert_eq!(cache.lock().len(), ENTRIES_MAX);
        assert_eq!(
            cache.find(&adapter("0"), None),
            None,
            "the oldest answer was replaced"
        );
    }
}
