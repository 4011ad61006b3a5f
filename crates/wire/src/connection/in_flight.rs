//! Requests whose replies are due.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::message::RequestId;

/// Tokens by request id; ids start at 1 and go up.
#[derive(Debug)]
pub(super) struct InFlight<T> {
    /// One of them: where each request waits for the one before, it is the only one.
    one: Option<(i32, T)>,
    /// The others.
    tokens: HashMap<i32, T, BuildHasherDefault<IdHasher>>,
    last_id: i32,
}

impl<T> InFlight<T> {
    /// An id that no request in flight has.
    pub(super) fn next_id(&mut self) -> RequestId {
        // After 2^31 requests the oldest ids come round again; one may still be in flight.
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.contains(self.last_id) {
                return RequestId(self.last_id);
            }
        }
    }

    pub(super) fn insert(&mut self, id: RequestId, token: T) {
        match self.one {
            None => self.one = Some((id.0, token)),
            Some(_) => {
                self.tokens.insert(id.0, token);
            }
        }
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<T> {
        match self.one.take_if(|(one, _)| *one == id.0) {
            Some((_, token)) => Some(token),
            None => self.tokens.remove(&id.0),
        }
    }

    /// The same for the request that is kept apart, if `is_meant` knows its token.
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
        usize::from(self.one.is_some()) + self.tokens.len()
    }

    fn contains(&self, id: i32) -> bool {
        let is_one = self.one.as_ref().is_some_and(|(one, _)| *one == id);
        is_one || (!self.tokens.is_empty() && self.tokens.contains_key(&id))
    }

    /// Takes all tokens out, in the order of their requests.
    pub(super) fn drain(&mut self) -> Vec<T> {
        let mut all: Vec<_> = self.tokens.drain().chain(self.one.take()).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, token)| token).collect()
    }
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            one: None,
            tokens: HashMap::default(),
            last_id: 0,
        }
    }
}

/// Spreads ids over the table. They are ours and in sequence, so no peer can make them collide.
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
        // Fibonacci hashing: the golden ratio of 2^64, odd.
        self.0 = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use super::{InFlight, RequestId};

    #[test]
    fn ids_start_again_at_one_and_leave_out_those_in_flight() {
        let mut in_flight = InFlight::default();
        let first = in_flight.next_id();
        in_flight.insert(first, "oldest");
        in_flight.last_id = i32::MAX - 1;
        assert_eq!(in_flight.next_id(), RequestId(i32::MAX));
        assert_eq!(in_flight.next_id(), RequestId(2));
    }

    #[test]
    fn tokens_come_back_by_their_ids_in_whatever_order_and_the_rest_in_theirs() {
        let mut in_flight = InFlight::default();
        let ids: Vec<_> = (0..4).map(|_| in_flight.next_id()).collect();
        for (id, token) in ids.iter().zip(["a", "b", "c", "d"]) {
            in_flight.insert(*id, token);
        }
        assert_eq!(in_flight.remove(ids[1]), Some("b"));
        assert_eq!(in_flight.remove(ids[1]), None);
        assert_eq!(in_flight.len(), 3);
        assert_eq!(in_flight.drain(), ["a", "c", "d"]);
        assert_eq!(in_flight.len(), 0);
    }
}
