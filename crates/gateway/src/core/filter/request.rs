//! Which requests of a session pass: a request needs an entry in one of three sets.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use floe::reference::Target;
use floe::{Identity, Reference};

/// Decides if a user may reach the category that has the user's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserCategory {
    /// The user may not.
    #[default]
    Not,
    /// The category is the name itself.
    Name,
    /// The category is an underscore and the name.
    Underscored,
}

impl UserCategory {
    /// The category that this user may reach, if any.
    pub(crate) fn of(self, user: &str) -> Option<String> {
        match self {
            Self::Not => None,
            Self::Name => Some(user.to_owned()),
            Self::Underscored => Some(format!("_{user}")),
        }
    }
}

/// A sorted set that may be changed while requests are checked against it.
#[derive(Debug)]
pub(crate) struct SortedSet<T>(Mutex<BTreeSet<T>>);

impl<T: Ord + Clone> SortedSet<T> {
    pub(crate) fn new(content: impl IntoIterator<Item = T>) -> Self {
        Self(Mutex::new(content.into_iter().collect()))
    }

    pub(crate) fn add(&self, additions: impl IntoIterator<Item = T>) {
        self.lock().extend(additions);
    }

    pub(crate) fn remove(&self, deletions: impl IntoIterator<Item = T>) {
        let mut content = self.lock();
        for deletion in deletions {
            content.remove(&deletion);
        }
    }

    /// The content, sorted.
    pub(crate) fn content(&self) -> Vec<T> {
        self.lock().iter().cloned().collect()
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which requests of a session pass.
#[derive(Debug)]
pub(crate) struct RequestFilter {
    pub(crate) categories: SortedSet<String>,
    pub(crate) identities: SortedSet<Identity>,
    pub(crate) adapter_ids: SortedSet<String>,
}

impl RequestFilter {
    /// Returns true if a request to this object passes. `route` is the object's entry in the routing table. The set of
    /// adapter ids counts only for proxies that have one. If all sets that count are empty, every request passes.
    ///
    /// Source: observed, glacier2router 3.7.8.
    pub(crate) fn allows(&self, identity: &Identity, route: &Reference) -> bool {
        let adapter_id = match &route.target {
            Target::Indirect { adapter_id } => Some(adapter_id),
            _ => None,
        };
        let is_open = self.categories.is_empty()
            && self.identities.is_empty()
            && (self.adapter_ids.is_empty() || adapter_id.is_none());
        is_open
            || self.categories.lock().contains(&identity.category)
            || self.identities.lock().contains(identity)
            || adapter_id.is_some_and(|id| self.adapter_ids.lock().contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(categories: &[&str], identities: &[&str], adapter_ids: &[&str]) -> RequestFilter {
        let texts = |texts: &[&str]| SortedSet::new(texts.iter().map(|&text| text.to_owned()));
        RequestFilter {
            categories: texts(categories),
            identities: SortedSet::new(identities.iter().map(|text| text.parse().unwrap())),
            adapter_ids: texts(adapter_ids),
        }
    }

    fn allows(filter: &RequestFilter, proxy: &str) -> bool {
        let route: Reference = proxy.parse().unwrap();
        filter.allows(&route.identity, &route)
    }

    #[test]
    fn all_pass_where_nothing_is_said_and_then_those_that_one_set_speaks_for() {
        assert!(allows(&filter(&[], &[], &[]), "c/o"));
        let all = filter(&["c"], &["d/o", "p"], &["A"]);
        for proxy in ["c/o", "d/o", "p", "e/o @ A", "c/x @ B"] {
            assert!(allows(&all, proxy), "{proxy}");
        }
        for proxy in ["o", "d/x", "e/o", "e/o @ B", "q"] {
            assert!(!allows(&all, proxy), "{proxy}");
        }
    }

    #[test]
    fn adapter_ids_count_only_for_proxies_that_have_one() {
        let only = filter(&[], &[], &["A"]);
        for (proxy, passes) in [("o @ A", true), ("o @ B", false), ("o", true)] {
            assert_eq!(allows(&only, proxy), passes, "{proxy}");
        }
    }

    #[test]
    fn sets_change_while_requests_pass() {
        let filter = filter(&["c"], &[], &[]);
        assert!(!allows(&filter, "d/o"));
        filter
            .categories
            .add(["d".to_owned(), "b".to_owned(), "d".to_owned()]);
        assert!(allows(&filter, "d/o"));
        assert_eq!(filter.categories.content(), ["b", "c", "d"]);
        filter.categories.remove(["d".to_owned(), "x".to_owned()]);
        assert!(!allows(&filter, "d/o"));
        assert_eq!(UserCategory::Underscored.of("joe").as_deref(), Some("_joe"));
        assert_eq!(UserCategory::Name.of("joe").as_deref(), Some("joe"));
        assert_eq!(UserCategory::Not.of("joe"), None);
    }
}
