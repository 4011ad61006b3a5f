//! The routing table of a session: the objects that its client has registered, by their last use.

use std::collections::{BTreeMap, HashMap};

use floe::Identity;

/// Routes to the objects that a client has registered, by identity. Beyond a limit, the least recently used goes.
#[derive(Debug)]
pub(crate) struct RoutingTable<R> {
    routes: HashMap<Identity, Used<R>>,
    /// Identities by the time of their last use.
    order: BTreeMap<u64, Identity>,
    /// Number of the next use.
    next_use: u64,
    len_max: usize,
}

#[derive(Debug)]
struct Used<R> {
    route: R,
    last_use: u64,
}

impl<R> RoutingTable<R> {
    /// An empty table for at most `len_max` routes; 0 counts as 1.
    pub(crate) fn new(len_max: usize) -> Self {
        Self {
            routes: HashMap::new(),
            order: BTreeMap::new(),
            next_use: 0,
            len_max: len_max.max(1),
        }
    }

    /// Adds a route. If the table is full, removes and returns the least recently used one. If there is a route to the
    /// identity already, it stays, and this counts as a use.
    pub(crate) fn add(&mut self, identity: &Identity, route: impl FnOnce() -> R) -> Option<R> {
        if self.find(identity).is_some() {
            return None;
        }
        let evicted = match self.routes.len() < self.len_max {
            true => None,
            false => self.evict(),
        };
        let last_use = self.note_use(identity);
        let route = route();
        self.routes
            .insert(identity.clone(), Used { route, last_use });
        evicted
    }

    /// The route to an object. This counts as a use.
    pub(crate) fn find(&mut self, identity: &Identity) -> Option<&R> {
        let last_use = self.routes.get(identity)?.last_use;
        // The frequent case: this route was the last one used, so the order stays.
        if last_use + 1 != self.next_use {
            self.order.remove(&last_use);
            let last_use = self.note_use(identity);
            self.routes.get_mut(identity)?.last_use = last_use;
        }
        self.routes.get(identity).map(|used| &used.route)
    }

    /// Number of routes.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    fn note_use(&mut self, identity: &Identity) -> u64 {
        let number = self.next_use;
        self.next_use += 1;
        self.order.insert(number, identity.clone());
        number
    }

    fn evict(&mut self) -> Option<R> {
        let (_, identity) = self.order.pop_first()?;
        self.routes.remove(&identity).map(|used| used.route)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identity(number: u8) -> Identity {
        Identity::new(format!("object-{number}"))
    }

    #[test]
    fn an_identity_that_is_there_keeps_its_route_and_is_used_anew() {
        let mut table = RoutingTable::new(2);
        assert_eq!(table.add(&identity(1), || "one"), None);
        assert_eq!(table.add(&identity(2), || "two"), None);
        assert_eq!(table.add(&identity(1), || "another"), None);
        assert_eq!(table.add(&identity(3), || "three"), Some("two"));
        assert_eq!(table.find(&identity(1)), Some(&"one"));
        assert_eq!(table.find(&identity(2)), None);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_use_protects_a_route_from_eviction() {
        let mut table = RoutingTable::new(2);
        table.add(&identity(1), || 1);
        table.add(&identity(2), || 2);
        assert_eq!(table.find(&identity(1)), Some(&1));
        assert_eq!(table.add(&identity(3), || 3), Some(2));
    }

    proptest! {
        /// Compares the table with a list that is searched from its front.
        #[test]
        fn the_least_recently_used_goes(
            len_max in 1usize..6,
            steps in prop::collection::vec((any::<bool>(), 0u8..10), 0..200),
        ) {
            let mut table = RoutingTable::new(len_max);
            let mut list: Vec<u8> = Vec::new();
            for (is_add, number) in steps {
                let at = list.iter().position(|known| *known == number);
                if let Some(at) = at {
                    list.remove(at);
                    list.push(number);
                }
                if is_add {
                    let evicted = match at {
                        None if list.len() == len_max => Some(list.remove(0)),
                        _ => None,
                    };
                    if at.is_none() {
                        list.push(number);
                    }
                    prop_assert_eq!(table.add(&identity(number), || number), evicted);
                } else {
                    prop_assert_eq!(table.find(&identity(number)).copied(), at.map(|_| number));
                }
                prop_assert_eq!(table.len(), list.len());
                prop_assert_eq!(table.order.len(), list.len());
            }
        }
    }
}
