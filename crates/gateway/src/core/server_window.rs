//! How many requests may wait for the answers of one server, and whose turn is next.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

/// The requests over one connection to a server that have no answer yet, by the key `K` of their clients. A server that has too
/// many of them reads no more, so that all clients would wait for those of one.
///
/// A client may have as many as are free. So one that takes all it can get leaves a half to others, a second one a quarter, and
/// so on. A client without any may always have one. Further requests wait, as `W`. Sizes are in units of the limit.
#[derive(Debug)]
pub(crate) struct ServerWindow<K, W> {
    max: usize,
    used: usize,
    clients: HashMap<K, Client<W>>,
    /// The clients with requests that wait, by what they have.
    waiting: BTreeSet<(usize, K)>,
}

#[derive(Debug)]
struct Client<W> {
    used: usize,
    waiting: VecDeque<(usize, W)>,
}

impl<K: Copy + Ord + Hash, W> ServerWindow<K, W> {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            used: 0,
            clients: HashMap::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// Takes room for a request. Returns false if there is none.
    pub(crate) fn take(&mut self, key: K, size: usize) -> bool {
        let (used, max) = (self.used, self.max);
        let client = self.clients.entry(key).or_insert_with(|| Client {
            used: 0,
            waiting: VecDeque::new(),
        });
        let is_taken = client.waiting.is_empty() && has_room(client.used, used, size, max);
        if is_taken {
            client.used += size;
            self.used += size;
        }
        is_taken
    }

    /// Lets a request wait that has found no room. [`release`](Self::release) gives `waiter` back when its turn has come, with
    /// room taken.
    pub(crate) fn wait(&mut self, key: K, size: usize, waiter: W) {
        if let Some(client) = self.clients.get_mut(&key) {
            client.waiting.push_back((size, waiter));
            self.waiting.insert((client.used, key));
        }
    }

    /// Forgets the requests of a client that have given up.
    pub(crate) fn forget(&mut self, key: K, has_given_up: impl Fn(&W) -> bool) {
        if let Some(client) = self.clients.get_mut(&key) {
            client.waiting.retain(|(_, waiter)| !has_given_up(waiter));
            if client.waiting.is_empty() {
                self.waiting.remove(&(client.used, key));
            }
        }
    }

    /// Gives room back. Returns the requests whose turn has come. If one of them has given up, its room must be released, too.
    pub(crate) fn release(&mut self, key: K, size: usize) -> Vec<(K, usize, W)> {
        self.used -= size;
        self.add(key, -size.cast_signed());
        let mut due = Vec::new();
        while let Some((used, key)) = self.waiting.first().copied()
            && let Some(client) = self.clients.get_mut(&key)
            && let Some((size, _)) = client.waiting.front()
            && has_room(used, self.used, *size, self.max)
            && let Some((size, waiter)) = client.waiting.pop_front()
        {
            self.used += size;
            self.add(key, size.cast_signed());
            due.push((key, size, waiter));
        }
        due
    }

    /// Changes what a client has. A client without anything is forgotten.
    fn add(&mut self, key: K, change: isize) {
        let Some(client) = self.clients.get_mut(&key) else {
            return;
        };
        self.waiting.remove(&(client.used, key));
        client.used = client.used.saturating_add_signed(change);
        match (client.waiting.is_empty(), client.used) {
            (true, 0) => drop(self.clients.remove(&key)),
            (true, _) => {}
            (false, used) => drop(self.waiting.insert((used, key))),
        }
    }
}

/// Returns true if a client that has `own` of all that are `used` may have more. A long request may take it beyond its half, so
/// that one is never too long for the window; an `Account` has no such request.
fn has_room(own: usize, used: usize, size: usize, max: usize) -> bool {
    own == 0 || own.saturating_add(used).saturating_add(size) <= max
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_client_that_takes_all_it_gets_leaves_half_of_the_rest() {
        let mut window = ServerWindow::new(64);
        let mut takes_all = |key| {
            let count = (0..).take_while(|_| window.take(key, 1)).count();
            window.wait(key, 1, "next");
            count
        };
        assert_eq!([1, 2, 3, 4].map(&mut takes_all), [32, 16, 8, 4]);
        // The one that has least is first.
        assert_eq!(window.release(1, 1), [(4, 1, "next")]);
        assert_eq!(window.release(4, 1), []);
    }

    #[test]
    fn a_request_that_has_given_up_is_in_nobody_s_way() {
        let mut window = ServerWindow::new(4);
        assert!(window.take('a', 1) && window.take('a', 1) && !window.take('a', 1));
        window.wait('a', 1, "first");
        window.wait('a', 1, "second");
        window.forget('a', |waiter| *waiter == "first");
        assert_eq!(window.release('a', 1), [('a', 1, "second")]);
        assert!(!window.take('a', 1));
        window.wait('a', 1, "third");
        window.forget('a', |_| true);
        assert_eq!(window.release('a', 1), []);
        assert_eq!(window.release('a', 1), []);
        assert!(window.clients.is_empty() && window.waiting.is_empty());
    }

    #[test]
    fn a_request_beyond_the_limit_goes_alone() {
        let mut window = ServerWindow::new(10);
        assert!(window.take('a', 100) && window.take('b', 100));
        assert!(!window.take('a', 1));
        window.wait('a', 1, "second");
        assert_eq!(window.release('b', 100), []);
        assert_eq!(window.release('a', 100), [('a', 1, "second")]);
        assert_eq!(window.release('a', 1), []);
        assert!(window.clients.is_empty() && window.waiting.is_empty());
    }

    proptest! {
        #[test]
        fn all_have_their_turn_in_their_order_and_nothing_stays(
            steps in prop::collection::vec((0u8..4, 1usize..5, any::<bool>()), 0..300)
        ) {
            let mut window = ServerWindow::new(20);
            let mut admitted: Vec<(u8, usize)> = Vec::new();
            let mut waiting: HashMap<u8, VecDeque<usize>> = HashMap::new();
            let release = |window: &mut ServerWindow<u8, usize>,
                               admitted: &mut Vec<(u8, usize)>,
                               waiting: &mut HashMap<u8, VecDeque<usize>>| {
                let (key, size) = admitted.remove(0);
                for (key, size, number) in window.release(key, size) {
                    let expected = waiting.get_mut(&key).and_then(VecDeque::pop_front);
                    assert_eq!(expected, Some(number));
                    admitted.push((key, size));
                }
            };
            for (number, (key, size, is_release)) in steps.into_iter().enumerate() {
                if is_release && !admitted.is_empty() {
                    release(&mut window, &mut admitted, &mut waiting);
                } else if window.take(key, size) {
                    admitted.push((key, size));
                } else {
                    window.wait(key, size, number);
                    waiting.entry(key).or_default().push_back(number);
                }
                let sum: usize = admitted.iter().map(|(_, size)| size).sum();
                prop_assert_eq!(window.used, sum);
                // Four clients have one each at least.
                prop_assert!(sum <= 20 + 4 * 4);
            }
            while !admitted.is_empty() {
                release(&mut window, &mut admitted, &mut waiting);
            }
            prop_assert!(waiting.values().all(VecDeque::is_empty));
            prop_assert!(window.clients.is_empty() && window.waiting.is_empty());
        }
    }
}
