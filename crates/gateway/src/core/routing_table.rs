//! The routing table of a session: the objects that its client has registered, by their last use.
//!
//! A table has two limits: on the number of its routes, and on the length of all of them.

use std::collections::{BTreeMap, HashMap};

use floe::Identity;

/// Routes to the objects that a client has registered, by identity. Beyond a limit, the least recently used ones go.
#[derive(Debug)]
pub(crate) struct RoutingTable<R> {
    routes: HashMap<Identity, Used<R>>,
    /// Identities by the time of their last use.
    order: BTreeMap<u64, Identity>,
    /// Number of the next use.
    next_use: u64,
    len_max: usize,
    /// Length of all routes, in bytes.
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct Used<R> {
    route: R,
    /// Length of the route, in bytes.
    len: usize,
    last_use: u64,
}

impl<R> RoutingTable<R> {
    /// An empty table for at most `len_max` routes, of `bytes_max` bytes together; 0 routes count as 1. A single route
    /// may be longer.
    pub(crate) fn new(len_max: usize, bytes_max: usize) -> Self {
        Self {
            routes: HashMap::new(),
            order: BTreeMap::new(),
            next_use: 0,
            len_max: len_max.max(1),
            bytes: 0,
            bytes_max,
        }
    }

    /// Adds a route of `len` bytes. If the table is full, removes and returns the least recently used ones. If there is a
    /// route to the identity already, it stays, and this counts as a use.
    pub(crate) fn add(
        &mut self,
        identity: &Identity,
        len: usize,
        route: impl FnOnce() -> R,
    ) -> Vec<R> {
        let mut evicted = Vec::new();
        if self.find(identity).is_some() {
            return evicted;
        }
        let has_room = |table: &Self| {
            table.routes.len() < table.len_max && table.bytes.saturating_add(len) <= table.bytes_max
        };
        while !has_room(self)
            && let Some(route) = self.evict()
        {
            evicted.push(route);
        }
        let last_use = self.note_use(identity);
        let route = route();
        self.bytes += len;
        let used = Used {
            route,
            len,
            last_use,
        };
        self.routes.insert(identity.clone(), used);
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
        let used = self.routes.remove(&identity)?;
        self.bytes -= used.len;
        Some(used.route)
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
        let mut table = RoutingTable::new(2, 100);
        assert!(table.add(&identity(1), 1, || "one").is_empty());
        assert!(table.add(&identity(2), 1, || "two").is_empty());
        assert!(table.add(&identity(1), 1, || "another").is_empty());
        assert_eq!(table.add(&identity(3), 1, || "three"), ["two"]);
        assert_eq!(table.find(&identity(1)), Some(&"one"));
        assert_eq!(table.find(&identity(2)), None);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_use_protects_a_route_from_eviction() {
        let mut table = RoutingTable::new(2, 100);
        table.add(&identity(1), 1, || 1);
        table.add(&identity(2), 1, || 2);
        assert_eq!(table.find(&identity(1)), Some(&1));
        assert_eq!(table.add(&identity(3), 1, || 3), [2]);
    }

    #[test]
    fn a_long_route_takes_the_room_of_several() {
        let mut table = RoutingTable::new(100, 100);
        for number in 1..=4 {
            assert!(table.add(&identity(number), 25, || number).is_empty());
        }
        assert_eq!(table.add(&identity(5), 60, || 5), [1, 2, 3]);
        assert_eq!(table.add(&identity(6), 1000, || 6), [4, 5]);
        assert_eq!((table.len(), table.bytes), (1, 1000));
    }

    proptest! {
        /// Compares the table with a list that is searched from its front.
        #[test]
        fn the_least_recently_used_goes(
            len_max in 1usize..6,
            steps in prop::collection::vec((any::<bool>(), 0u8..10), 0..200),
        ) {
            let mut table = RoutingTable::new(len_max, usize::MAX);
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
                    let gone = table.add(&identity(number), 7, || number);
                    prop_assert_eq!(gone, Vec::from_iter(evicted));
                    prop_assert_eq!(table.bytes, 7 * list.len());
                } else {
                    prop_assert_eq!(table.find(&identity(number)).copied(), at.map(|_| number));
                }
                prop_assert_eq!(table.len(), list.len());
                prop_assert_eq!(table.order.len(), list.len());
            }
        }
    }
}
