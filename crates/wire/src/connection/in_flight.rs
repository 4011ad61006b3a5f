//! Requests whose replies are due.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::message::RequestId;

/// Tokens by request id; ids start at 1 and go up.
#[derive(Debug)]
pub(super) struct InFlight<T> {
    tokens: HashMap<i32, T, BuildHasherDefault<IdHasher>>,
    last_id: i32,
}

impl<T> InFlight<T> {
    /// An id that no request in flight has.
    pub(super) fn next_id(&mut self) -> RequestId {
        // After 2^31 requests the oldest ids come round again; one may still be in flight.
        loop {
            self.last_id = self.last_id.checked_add(1).unwrap_or(1);
            if !self.tokens.contains_key(&self.last_id) {
                return RequestId(self.last_id);
            }
        }
    }

    pub(super) fn insert(&mut self, id: RequestId, token: T) {
        self.tokens.insert(id.0, token);
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<T> {
        self.tokens.remove(&id.0)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Takes all tokens out, in the order of their requests.
    pub(super) fn drain(&mut self) -> Vec<T> {
        let mut all: Vec<_> = self.tokens.drain().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, token)| token).collect()
    }
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
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
}
