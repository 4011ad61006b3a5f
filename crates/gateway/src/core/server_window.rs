//! A window of requests that wait for the answers of one server. It decides which client may send next.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use ::core::time::Duration;

/// The requests over one connection to a server that have no answer yet, by the key `K` of their clients. A server that
/// has too many of them stops reading, so that the requests of one client would keep all others waiting. The answers
/// come back over the same connection, one after another.
///
/// A client may have as many requests as are free. A client that takes all it can get therefore leaves half of them to
/// others, a second one leaves a quarter, and so on. A client without any may always have one. Further requests wait,
/// as `W`. Sizes are in units of the limit.
///
/// Each request also counts for the answer that it is likely to get, by the answers that its client has had. A new
/// client begins with a few requests, and may have more with each short answer. The window remembers a client while it
/// asks nothing, unless there are many others.
#[derive(Debug)]
pub(crate) struct ServerWindow<K, W> {
    max: usize,
    used: usize,
    clients: HashMap<K, WindowClient<W>>,
    /// When there are this many clients, those without requests are forgotten.
    clients_max: usize,
    /// The clients with requests that wait, by what they have.
    waiting: BTreeSet<(usize, K)>,
}

#[derive(Debug)]
struct WindowClient<W> {
    /// The number of requests without an answer.
    requests: usize,
    /// The size of these requests.
    size: usize,
    /// The size of the answer that each of them is likely to get.
    answer: usize,
    /// The size of that answer at a time when no answer was known yet.
    first_answer: usize,
    /// When an answer came, or `answer` was doubted, for the last time.
    heard: Duration,
    waiting: VecDeque<(usize, W)>,
}

/// The number of clients that are kept although they have no requests, unless more clients have some.
const KNOWN_MAX: usize = 1000;

/// If a client waits this long for room and gets no answer, its answers are expected to be half as long.
pub(crate) const DOUBT_AFTER: Duration = Duration::from_millis(100);

impl<W> WindowClient<W> {
    fn used(&self) -> usize {
        self.size
            .saturating_add(self.requests.saturating_mul(self.answer))
    }

    fn is_idle(&self) -> bool {
        self.requests == 0 && self.waiting.is_empty()
    }

    fn add(&mut self, size: usize) {
        self.requests += 1;
        self.size += size;
    }
}

impl<K: Copy + Ord + Hash, W> ServerWindow<K, W> {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            used: 0,
            clients: HashMap::new(),
            clients_max: KNOWN_MAX,
            waiting: BTreeSet::new(),
        }
    }

    /// Takes room for a request of a client. `answer` is the likely size of the client's answers if it has had none
    /// yet. Returns false if there is no room.
    pub(crate) fn take(&mut self, key: K, size: usize, answer: usize, now: Duration) -> bool {
        let (used, max) = (self.used, self.max);
        if self.clients.len() >= self.clients_max && !self.clients.contains_key(&key) {
            self.clients.retain(|_, client| !client.is_idle());
            self.clients_max = KNOWN_MAX.max(2 * self.clients.len());
        }
        let client = self.clients.entry(key).or_insert_with(|| WindowClient {
            requests: 0,
            size: 0,
            answer,
            first_answer: answer,
            heard: now,
            waiting: VecDeque::new(),
        });
        let is_taken = client.waiting.is_empty()
            && has_room(client.used(), used, size.saturating_add(client.answer), max);
        if is_taken {
            self.change(key, |client| client.add(size));
        }
        is_taken
    }

    /// Lets a request wait that has found no room. When there is room, one of the methods takes it and returns
    /// `waiter`.
    pub(crate) fn wait(&mut self, key: K, size: usize, waiter: W) {
        self.change(key, |client| client.waiting.push_back((size, waiter)));
    }

    /// Forgets the requests of a client that have given up.
    pub(crate) fn forget(&mut self, key: K, has_given_up: impl Fn(&W) -> bool) {
        self.change(key, |client| {
            client.waiting.retain(|(_, waiter)| !has_given_up(waiter));
        });
    }

    /// Gives back the room of a request, whose answer had the size `answer` if it got one. Returns the requests that
    /// now have room. If one of them has given up, its room must be given back, too.
    pub(crate) fn release(
        &mut self,
        key: K,
        size: usize,
        answer: Option<usize>,
        now: Duration,
    ) -> Vec<(K, usize, W)> {
        self.change(key, |client| {
            client.requests -= 1;
            client.size -= size;
            if let Some(answer) = answer {
                // One long answer among seven short ones must count as much as if all were somewhat long.
                client.answer = answer.max(client.answer - client.answer.div_ceil(8));
                client.heard = now;
            }
        });
        self.due()
    }

    /// Notes that a client waits for room. If it has had no answer for [`DOUBT_AFTER`], its answers are expected to be
    /// half as long: answers that a server gives after a minute need not be long ones. Returns the requests that now
    /// have room.
    pub(crate) fn doubt(&mut self, key: K, now: Duration) -> Vec<(K, usize, W)> {
        self.change(key, |client| {
            if now.saturating_sub(client.heard) >= DOUBT_AFTER {
                client.answer /= 2;
                client.heard = now;
            }
        });
        self.due()
    }

    /// Takes room for the requests that are next.
    fn due(&mut self) -> Vec<(K, usize, W)> {
        let mut due = Vec::new();
        while let Some((used, key)) = self.waiting.first().copied()
            && let Some(client) = self.clients.get(&key)
            && let Some((size, _)) = client.waiting.front()
            && has_room(
                used,
                self.used,
                size.saturating_add(client.answer),
                self.max,
            )
        {
            self.change(key, |client| {
                if let Some((size, waiter)) = client.waiting.pop_front() {
                    client.add(size);
                    due.push((key, size, waiter));
                }
            });
        }
        due
    }

    /// Changes the counts of a client. Forgets a client without requests if nothing is known of its answers.
    fn change(&mut self, key: K, change: impl FnOnce(&mut WindowClient<W>)) {
        let Some(client) = self.clients.get_mut(&key) else {
            return;
        };
        let before = client.used();
        if !client.waiting.is_empty() {
            self.waiting.remove(&(before, key));
        }
        change(client);
        let after = client.used();
        self.used = self.used - before + after;
        if !client.waiting.is_empty() {
            self.waiting.insert((after, key));
        } else if client.requests == 0 && client.answer == client.first_answer {
            self.clients.remove(&key);
        }
    }
}

/// Returns true if a client that has `own` of the `used` units may have more. A long request may exceed the client's
/// half, so that no request is too long for the window. An `Account` has no such rule.
fn has_room(own: usize, used: usize, size: usize, max: usize) -> bool {
    own == 0 || own.saturating_add(used).saturating_add(size) <= max
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::from_secs(5000);

    #[test]
    fn each_client_that_takes_all_it_gets_leaves_half_of_the_rest() {
        let mut window = ServerWindow::new(64);
        let mut takes_all = |key| {
            let count = (0..).take_while(|_| window.take(key, 1, 0, NOW)).count();
            window.wait(key, 1, "next");
            count
        };
        assert_eq!([1, 2, 3, 4].map(&mut takes_all), [32, 16, 8, 4]);
        // The client that has least is first.
        assert_eq!(window.release(1, 1, Some(0), NOW), [(4, 1, "next")]);
        assert_eq!(window.release(4, 1, Some(0), NOW), []);
    }

    #[test]
    fn a_request_that_has_given_up_is_in_nobody_s_way() {
        let mut window = ServerWindow::new(4);
        let take = |window: &mut ServerWindow<_, _>| window.take('a', 1, 0, NOW);
        assert!(take(&mut window) && take(&mut window) && !take(&mut window));
        window.wait('a', 1, "first");
        window.wait('a', 1, "second");
        window.forget('a', |waiter| *waiter == "first");
        assert_eq!(window.release('a', 1, None, NOW), [('a', 1, "second")]);
        assert!(!take(&mut window));
        window.wait('a', 1, "third");
        window.forget('a', |_| true);
        assert_eq!(window.release('a', 1, None, NOW), []);
        assert_eq!(window.release('a', 1, None, NOW), []);
        assert!(window.clients.is_empty() && window.waiting.is_empty());
    }

    #[test]
    fn a_request_beyond_the_limit_goes_alone() {
        let mut window = ServerWindow::new(10);
        assert!(window.take('a', 100, 0, NOW) && window.take('b', 100, 0, NOW));
        assert!(!window.take('a', 1, 0, NOW));
        window.wait('a', 1, "second");
        assert_eq!(window.release('b', 100, None, NOW), []);
        assert_eq!(window.release('a', 100, None, NOW), [('a', 1, "second")]);
        assert_eq!(window.release('a', 1, None, NOW), []);
        assert!(window.clients.is_empty() && window.waiting.is_empty());
    }

    /// A client that asks as much as it may, and the number of its requests that have no answer.
    fn asking(window: &mut ServerWindow<char, ()>) -> usize {
        let count = (0..).take_while(|_| window.take('a', 1, 100, NOW)).count();
        window.wait('a', 1, ());
        count
    }

    #[test]
    fn a_client_begins_with_few_requests_and_short_answers_let_it_have_more() {
        let mut window = ServerWindow::new(1000);
        let mut asked = asking(&mut window);
        assert_eq!(asked, 5);
        for _ in 0..1000 {
            window.wait('a', 1, ());
        }
        for _ in 0..50 {
            asked = asked - 1 + window.release('a', 1, Some(0), NOW).len();
        }
        assert_eq!(asked, 500);
        // A long answer counts for all requests that have none yet.
        while asked > 1 {
            asked -= 1;
            assert_eq!(window.release('a', 1, Some(400), NOW), []);
        }
        assert_eq!(window.release('a', 1, Some(400), NOW), [('a', 1, ())]);
    }

    #[test]
    fn what_is_known_of_a_client_is_kept_while_it_asks_nothing() {
        let mut window = ServerWindow::new(1000);
        let asks = |window: &mut ServerWindow<usize, ()>, key, answer| {
            assert!(window.take(key, 1, 100, NOW));
            window.release(key, 1, Some(answer), NOW);
        };
        for _ in 0..50 {
            asks(&mut window, 0, 0);
        }
        asks(&mut window, 1, 400);
        asks(&mut window, 2, 100);
        assert!(window.take(0, 1, 100, NOW));
        let known = |window: &ServerWindow<usize, ()>, key| {
            let client: Option<&WindowClient<()>> = window.clients.get(&key);
            client.map(|client| client.answer)
        };
        let of_three = [0, 1, 2].map(|key| known(&window, key));
        assert_eq!(
            of_three,
            [Some(0), Some(400), None],
            "the third is as any other"
        );
        for key in 3..10_000 {
            asks(&mut window, key, 0);
        }
        assert!(
            window.clients.len() <= 2 * KNOWN_MAX,
            "{}",
            window.clients.len()
        );
        assert_eq!(known(&window, 0), Some(0), "it asks something");
        assert_eq!(known(&window, 1), None);
    }

    #[test]
    fn a_client_whose_requests_wait_long_for_answers_may_have_more_of_them() {
        let mut window = ServerWindow::new(1000);
        assert_eq!(asking(&mut window), 5);
        assert_eq!(window.doubt('a', NOW + DOUBT_AFTER / 2), []);
        assert_eq!(window.doubt('a', NOW + DOUBT_AFTER), [('a', 1, ())]);
        // All requests of a client doubt together.
        window.wait('a', 1, ());
        let answer = window.clients[&'a'].answer;
        window.doubt('a', NOW + DOUBT_AFTER);
        assert_eq!((answer, window.clients[&'a'].answer), (50, 50));
    }

    proptest! {
        #[test]
        fn all_have_their_turn_in_their_order_and_nothing_stays(
            steps in prop::collection::vec(
                (0u8..4, 1usize..5, prop::option::of(0usize..9), any::<bool>()),
                0..300,
            )
        ) {
            let mut window = ServerWindow::new(20);
            let mut now = NOW;
            let mut admitted: Vec<(u8, usize)> = Vec::new();
            let mut waiting: HashMap<u8, VecDeque<usize>> = HashMap::new();
            let admit = |due: Vec<(u8, usize, usize)>,
                         admitted: &mut Vec<(u8, usize)>,
                         waiting: &mut HashMap<u8, VecDeque<usize>>| {
                for (key, size, number) in due {
                    let expected = waiting.get_mut(&key).and_then(VecDeque::pop_front);
                    assert_eq!(expected, Some(number));
                    admitted.push((key, size));
                }
            };
            for (number, (key, size, answer, is_release)) in steps.into_iter().enumerate() {
                now += DOUBT_AFTER / 3;
                if is_release && !admitted.is_empty() {
                    let (key, size) = admitted.remove(0);
                    let due = window.release(key, size, answer, now);
                    admit(due, &mut admitted, &mut waiting);
                } else if is_release {
                    let due = window.doubt(key, now);
                    admit(due, &mut admitted, &mut waiting);
                } else if window.take(key, size, 3, now) {
                    admitted.push((key, size));
                } else {
                    window.wait(key, size, number);
                    waiting.entry(key).or_default().push_back(number);
                }
                let used: usize = window.clients.values().map(WindowClient::used).sum();
                prop_assert_eq!(window.used, used);
                let requests: usize = window.clients.values().map(|client| client.requests).sum();
                prop_assert_eq!(requests, admitted.len());
                let sum: usize = admitted.iter().map(|(_, size)| size).sum();
                // Four clients have one each at least.
                prop_assert!(sum <= 20 + 4 * 4);
            }
            while !admitted.is_empty() {
                let (key, size) = admitted.remove(0);
                let due = window.release(key, size, None, now);
                admit(due, &mut admitted, &mut waiting);
            }
            prop_assert!(waiting.values().all(VecDeque::is_empty));
            prop_assert!(window.clients.values().all(WindowClient::is_idle));
            prop_assert!(window.waiting.is_empty());
            prop_assert_eq!(window.used, 0);
        }
    }
}
