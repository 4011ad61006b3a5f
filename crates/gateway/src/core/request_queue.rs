//! Requests that wait to be forwarded, in their order. A later request can replace an earlier one in its place.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How much may wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueLimits {
    /// Number of requests.
    pub(crate) requests: usize,
    /// Length of all of them, in bytes.
    pub(crate) bytes: usize,
}

/// A bounded queue of requests. A request replaces a waiting one with the same key `K`: its token and its target.
#[derive(Debug)]
pub(crate) struct RequestQueue<K, T> {
    requests: VecDeque<Queued<K, T>>,
    /// Length of all of them, in bytes.
    bytes: usize,
    /// The number of the waiting request with this key. The next request with the key replaces it.
    places: HashMap<K, u64>,
    /// Number of the request at the front.
    front: u64,
    limits: QueueLimits,
}

#[derive(Debug)]
struct Queued<K, T> {
    request: T,
    len: usize,
    key: Option<K>,
}

/// The outcome of a push.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed<T> {
    /// The request waits behind all others.
    Queued,
    /// The request waits in the place of this earlier one, which is not forwarded.
    Replaced(T),
    /// There is no room for this request.
    Full(T),
}

impl<K: Eq + Hash + Clone, T> RequestQueue<K, T> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self {
            requests: VecDeque::new(),
            bytes: 0,
            places: HashMap::new(),
            front: 0,
            limits,
        }
    }

    /// Adds a request of `len` bytes. If a request with the same key waits, the new one replaces it; a longer one needs room for
    /// that. A request that waits alone may have any length.
    pub(crate) fn push(&mut self, request: T, len: usize, key: Option<K>) -> Pushed<T> {
        let place = key.as_ref().and_then(|key| self.places.get(key)).copied();
        if let Some(at) = place.and_then(|place| usize::try_from(place - self.front).ok())
            && let Some(waiting) = self.requests.get(at)
        {
            let bytes = (self.bytes - waiting.len).saturating_add(len);
            let is_full = len > waiting.len && bytes > self.limits.bytes;
            if is_full && self.requests.len() > 1 {
                return Pushed::Full(request);
            }
            let waiting = &mut self.requests[at];
            self.bytes = bytes;
            waiting.len = len;
            return Pushed::Replaced(std::mem::replace(&mut waiting.request, request));
        }
        let is_full = self.requests.len() >= self.limits.requests
            || self.bytes.saturating_add(len) > self.limits.bytes;
        if is_full && !self.requests.is_empty() {
            return Pushed::Full(request);
        }
        if let Some(key) = &key {
            let place = self.front + self.requests.len() as u64;
            self.places.insert(key.clone(), place);
        }
        self.bytes += len;
        self.requests.push_back(Queued { request, len, key });
        Pushed::Queued
    }

    /// Takes as many requests from the front as fit into `bytes_max`, and at least one if there is any.
    pub(crate) fn take(&mut self, bytes_max: usize) -> Vec<T> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.requests.front() {
            bytes += next.len;
            if bytes > bytes_max && !taken.is_empty() {
                break;
            }
            let Some(waiting) = self.requests.pop_front() else {
                break;
            };
            self.bytes -= waiting.len;
            if let Some(key) = &waiting.key {
                self.places.remove(key);
            }
            self.front += 1;
            taken.push(waiting.request);
        }
        taken
    }

    /// Length of all requests, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of requests.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: QueueLimits = QueueLimits {
        requests: 4,
        bytes: 100,
    };

    #[test]
    fn a_request_takes_the_place_of_an_earlier_one_with_the_same_key() {
        let mut queue = RequestQueue::new(LIMITS);
        assert_eq!(queue.push("a1", 10, Some("a")), Pushed::Queued);
        assert_eq!(queue.push("b1", 10, Some("b")), Pushed::Queued);
        assert_eq!(queue.push("a2", 30, Some("a")), Pushed::Replaced("a1"));
        assert_eq!(queue.bytes(), 40);
        assert_eq!(queue.take(usize::MAX), ["a2", "b1"]);
        assert_eq!(queue.push("a3", 10, Some("a")), Pushed::Queued);
    }

    #[test]
    fn a_full_queue_takes_no_more_and_a_single_long_request_nevertheless() {
        let mut queue = RequestQueue::new(LIMITS);
        assert_eq!(queue.push("long", 1000, None::<&str>), Pushed::Queued);
        assert_eq!(queue.push("more", 1, None), Pushed::Full("more"));
        assert_eq!(queue.take(1), ["long"]);
        for each in ["1", "2", "3", "4"] {
            assert_eq!(queue.push(each, 1, None), Pushed::Queued);
        }
        assert_eq!(queue.push("5", 1, None), Pushed::Full("5"));
        assert_eq!(queue.take(2), ["1", "2"]);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn a_longer_replacement_needs_room_and_a_shorter_one_does_not() {
        let mut queue = RequestQueue::new(LIMITS);
        assert_eq!(queue.push("a1", 1, Some("a")), Pushed::Queued);
        assert_eq!(queue.push("a2", 1000, Some("a")), Pushed::Replaced("a1"));
        assert_eq!(queue.push("a3", 50, Some("a")), Pushed::Replaced("a2"));
        assert_eq!(queue.push("b1", 50, Some("b")), Pushed::Queued);
        assert_eq!(queue.push("a4", 51, Some("a")), Pushed::Full("a4"));
        assert_eq!(queue.push("a5", 50, Some("a")), Pushed::Replaced("a3"));
        assert_eq!(queue.take(usize::MAX), ["a5", "b1"]);
    }

    proptest! {
        /// Requests without a key come out in their order. If several requests have the same key, the last one comes
        /// out, in the place of the first.
        #[test]
        fn order_is_kept_and_limits_hold(
            steps in prop::collection::vec((0u8..6, 1usize..40, 0usize..80), 1..100)
        ) {
            let mut queue = RequestQueue::new(LIMITS);
            let mut model: Vec<(usize, usize, Option<u8>)> = Vec::new();
            for (number, (kind, len, take)) in steps.into_iter().enumerate() {
                if kind == 0 {
                    let mut expected = Vec::new();
                    let mut bytes = 0;
                    while let Some((request, len, _)) = model.first().copied() {
                        bytes += len;
                        if bytes > take && !expected.is_empty() {
                            break;
                        }
                        expected.push(request);
                        model.remove(0);
                    }
                    prop_assert_eq!(queue.take(take), expected);
                } else {
                    let key = (kind > 3).then_some(kind);
                    let bytes: usize = model.iter().map(|it| it.1).sum();
                    let count = model.len();
                    let same = model.iter_mut().find(|it| key.is_some() && it.2 == key);
                    let expected = match same {
                        Some(same) => {
                            let (old, old_len) = (same.0, same.1);
                            if len > old_len && bytes - old_len + len > LIMITS.bytes && count > 1 {
                                Pushed::Full(number)
                            } else {
                                *same = (number, len, key);
                                Pushed::Replaced(old)
                            }
                        }
                        None => {
                            let is_full = model.len() >= LIMITS.requests || bytes + len > LIMITS.bytes;
                            if is_full && !model.is_empty() {
                                Pushed::Full(number)
                            } else {
                                model.push((number, len, key));
                                Pushed::Queued
                            }
                        }
                    };
                    prop_assert_eq!(queue.push(number, len, key), expected);
                }
                prop_assert_eq!(queue.bytes(), model.iter().map(|it| it.1).sum::<usize>());
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
