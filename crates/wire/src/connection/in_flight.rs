//! Requests whose replies are due.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::message::RequestId;

/// Tokens by request id. Ids start at 1 and go up.
#[derive(Debug, Clone)]
pub(super) struct InFlight<T> {
    /// A single request. It is the only one if each request waits for the reply to the one before.
    one: Option<(i32, T)>,
    /// Other requests with consecutive ids, the first with the id `ring_start`. An answered request leaves a gap, but
    /// never at the front. The ring may reach the last possible id, so its start has a wider type.
    ring: VecDeque<Option<T>>,
    ring_start: i64,
    ring_count: usize,
    /// Requests that have been in flight too long for a ring of [`RING_MAX`].
    old: HashMap<i32, T, BuildHasherDefault<IdHasher>>,
    last_id: i32,
}

/// The maximum length of the ring, and the maximum number of ids that are given to a batch.
const RING_MAX: usize = 4096;

impl<T> InFlight<T> {
    /// The first of `count` consecutive ids that no request in flight has. Returns `None` if `count` exceeds
    /// [`RING_MAX`].
    #[inline]
    pub(super) fn next_ids(&mut self, count: usize) -> Option<RequestId> {
        if count > RING_MAX {
            return None;
        }
        loop {
            let first = self.last_id.checked_add(1).unwrap_or(1);
            let Some(last) = (first - 1).checked_add(count as i32) else {
                // The ids wrap around before the last one.
                self.last_id = 0;
                continue;
            };
            match self.last_within(first, last) {
                None => {
                    self.last_id = last;
                    return Some(RequestId(first));
                }
                Some(taken) => self.last_id = taken,
            }
        }
    }

    /// The last of these ids that a request in flight has.
    #[inline]
    fn last_within(&self, first: i32, last: i32) -> Option<i32> {
        if self.len() == 0 {
            return None;
        }
        (first..=last).rev().find(|id| self.contains(*id))
    }

    #[inline]
    pub(super) fn insert(&mut self, id: RequestId, token: T) {
        match self.one {
            None => self.one = Some((id.0, token)),
            Some(_) => self.insert_more(id.0, token),
        }
    }

    fn insert_more(&mut self, id: i32, token: T) {
        if self.ring.is_empty() {
            self.ring_start = id.into();
        }
        let Some(mut at) = self.index_of(id).filter(|at| *at >= self.ring.len()) else {
            // The ids have wrapped around, or this one was reserved before others that are answered already.
            self.old.insert(id, token);
            return;
        };
        while at >= RING_MAX && !self.ring.is_empty() {
            if let (Some(Some(first)), Ok(first_id)) =
                (self.ring.pop_front(), self.ring_start.try_into())
            {
                self.ring_count -= 1;
                self.old.insert(first_id, first);
            }
            self.ring_start += 1;
            self.trim();
            at = self.index_of(id).unwrap_or_default();
        }
        if self.ring.is_empty() {
            (self.ring_start, at) = (id.into(), 0);
        }
        self.ring.resize_with(at, || None);
        self.ring.push_back(Some(token));
        self.ring_count += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, id: RequestId) -> Option<T> {
        self.remove_if(id, |_| true)
    }

    /// Removes a request, if `is_meant` accepts its token.
    #[inline]
    pub(super) fn remove_if(&mut self, id: RequestId, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        if self.one.as_ref().is_some_and(|(one, _)| *one == id.0) {
            return self.remove_one(id, is_meant);
        }
        let place = self.index_of(id.0).and_then(|at| self.ring.get_mut(at));
        if let Some(place) = place.filter(|place| place.is_some()) {
            let token = place.take_if(|token| is_meant(token))?;
            self.ring_count -= 1;
            self.trim();
            return Some(token);
        }
        // Without the entry API: it would allocate for an id that is missing.
        match self.old.get(&id.0).is_some_and(is_meant) {
            true => self.old.remove(&id.0),
            false => None,
        }
    }

    /// Removes the single request, if `is_meant` accepts its token.
    #[inline]
    pub(super) fn remove_one(
        &mut self,
        id: RequestId,
        is_meant: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let one = self
            .one
            .take_if(|(one, token)| *one == id.0 && is_meant(token));
        one.map(|(_, token)| token)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.ring_count + self.old.len()
    }

    fn contains(&self, id: i32) -> bool {
        let is_one = self.one.as_ref().is_some_and(|(one, _)| *one == id);
        let in_ring = || self.index_of(id).and_then(|at| self.ring.get(at)?.as_ref());
        is_one || in_ring().is_some() || !self.old.is_empty() && self.old.contains_key(&id)
    }

    /// Removes all tokens, in the order of their requests.
    pub(super) fn drain(&mut self) -> Vec<T> {
        // The connection ends, while others may keep what is left of it, so no memory is kept.
        let ring = (self.ring_start..).zip(std::mem::take(&mut self.ring));
        let ring = ring.filter_map(|(id, token)| Some((id, token?)));
        let others = std::mem::take(&mut self.old)
            .into_iter()
            .chain(self.one.take());
        let others = others.map(|(id, token)| (i64::from(id), token));
        let mut all: Vec<_> = ring.chain(others).collect();
        self.ring_count = 0;
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, token)| token).collect()
    }

    /// The index of an id in the ring, or the index that it would have after its end.
    #[inline]
    fn index_of(&self, id: i32) -> Option<usize> {
        usize::try_from(i64::from(id) - self.ring_start).ok()
    }

    /// Removes the gaps at the front.
    #[inline]
    fn trim(&mut self) {
        while let Some(None) = self.ring.front() {
            self.ring.pop_front();
            self.ring_start += 1;
        }
    }
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            one: None,
            ring: VecDeque::new(),
            ring_start: 0,
            ring_count: 0,
            old: HashMap::default(),
            last_id: 0,
        }
    }
}

/// Hashes ids. They are our own and consecutive, so no peer can make them collide.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte) ^ self.0);
        }
    }

    fn write_i32(&mut self, id: i32) {
        self.write_u64(id as u64);
    }

    fn write_u64(&mut self, value: u64) {
        // Fibonacci hashing: 2^64 divided by the golden ratio, odd.
        self.0 = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{InFlight, RING_MAX, RequestId};

    fn next_id<T>(in_flight: &mut InFlight<T>) -> RequestId {
        in_flight.next_ids(1).expect("one is not too many")
    }

    #[test]
    fn ids_wrap_around_to_one_and_skip_those_in_flight() {
        let mut in_flight = InFlight::default();
        let first = next_id(&mut in_flight);
        in_flight.insert(first, "oldest");
        in_flight.last_id = i32::MAX - 1;
        assert_eq!(next_id(&mut in_flight), RequestId(i32::MAX));
        assert_eq!(next_id(&mut in_flight), RequestId(2));
    }

    #[test]
    fn consecutive_ids_skip_those_in_flight_and_wrap_around_to_one() {
        let mut in_flight = InFlight::default();
        assert_eq!(in_flight.next_ids(3), Some(RequestId(1)));
        in_flight.insert(RequestId(2), "old");
        assert_eq!(in_flight.next_ids(2), Some(RequestId(4)));
        in_flight.insert(RequestId(7), "reserved");
        assert_eq!(in_flight.next_ids(2), Some(RequestId(8)));
        in_flight.last_id = i32::MAX - 2;
        assert_eq!(in_flight.next_ids(2), Some(RequestId(i32::MAX - 1)));
        assert_eq!(in_flight.next_ids(4), Some(RequestId(3)));
        assert_eq!(in_flight.next_ids(RING_MAX + 1), None);
        assert_eq!(in_flight.next_ids(RING_MAX), Some(RequestId(8)));
        in_flight.last_id = i32::MAX;
        assert_eq!(in_flight.next_ids(0), Some(RequestId(1)));
    }

    #[test]
    fn a_token_that_is_not_meant_stays() {
        let mut in_flight = InFlight::default();
        let ids: Vec<_> = (0..RING_MAX + 2).map(|_| next_id(&mut in_flight)).collect();
        for id in &ids {
            in_flight.insert(*id, id.0);
        }
        assert!(!in_flight.old.is_empty() && in_flight.one.is_some());
        for id in ids {
            assert_eq!(in_flight.remove_if(id, |token| *token != id.0), None);
            assert_eq!(in_flight.remove_if(id, |token| *token == id.0), Some(id.0));
            assert_eq!(in_flight.remove_if(id, |_| true), None);
        }
        assert_eq!(in_flight.len(), 0);
    }

    #[test]
    fn tokens_are_removed_by_id_in_any_order_and_the_rest_in_theirs() {
        let mut in_flight = InFlight::default();
        let ids: Vec<_> = (0..4).map(|_| next_id(&mut in_flight)).collect();
        for (id, token) in ids.iter().zip(["a", "b", "c", "d"]) {
            in_flight.insert(*id, token);
        }
        assert_eq!(in_flight.remove(ids[1]), Some("b"));
        assert_eq!(in_flight.remove(ids[1]), None);
        assert_eq!(in_flight.len(), 3);
        assert_eq!(in_flight.drain(), ["a", "c", "d"]);
        assert_eq!(in_flight.len(), 0);
    }

    /// The requests in flight equal those of a simple map, with random replies, also when ids wrap around.
    #[test]
    fn requests_in_flight_equal_those_of_a_map() {
        for start in [0, i32::MAX - 700] {
            let mut in_flight = InFlight {
                last_id: start,
                ..InFlight::default()
            };
            let mut expected = BTreeMap::new();
            let mut random = 7_u64;
            for step in 0..40_000 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let choice = (random >> 33) as usize;
                // Some are never answered. At first their number grows, and then it shrinks.
                let is_sent = choice % 100 < if step < 20_000 { 55 } else { 45 };
                if is_sent || expected.is_empty() {
                    let id = next_id(&mut in_flight);
                    in_flight.insert(id, step);
                    assert_eq!(expected.insert(id.0, step), None, "it is free");
                } else {
                    let answered = match choice % 3 {
                        0 => *expected.keys().next_back().expect("not empty"),
                        _ => *expected
                            .keys()
                            .nth(choice / 3 % expected.len())
                            .expect("within"),
                    };
                    let token = in_flight.remove(RequestId(answered));
                    assert_eq!(token, expected.remove(&answered));
                    assert_eq!(in_flight.remove(RequestId(answered)), None);
                }
                assert_eq!(in_flight.len(), expected.len());
            }
            assert!(in_flight.drain().into_iter().eq(expected.into_values()));
            assert_eq!(in_flight.len(), 0);
        }
    }

    #[test]
    fn a_request_that_is_never_answered_does_not_lengthen_the_ring() {
        let mut in_flight = InFlight::default();
        let mut send = |token| {
            let id = next_id(&mut in_flight);
            in_flight.insert(id, token);
            if token > 1 {
                assert_eq!(in_flight.remove(id), Some(token));
            }
            in_flight.ring.len()
        };
        let longest = (0..3 * RING_MAX).map(&mut send).max();
        assert!(longest <= Some(RING_MAX), "{longest:?}");
        assert_eq!(in_flight.drain(), [0, 1]);
    }
}
