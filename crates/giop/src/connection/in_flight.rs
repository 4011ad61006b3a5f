//! The requests that wait for a reply.

use std::collections::HashMap;

use crate::message::RequestId;

/// The kind of reply that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Reply,
    LocateReply,
}

/// The requests that wait for a reply, with their tokens.
#[derive(Debug)]
pub(super) struct InFlight<T> {
    next: u32,
    tokens: HashMap<RequestId, (Waiting, T)>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            next: 0,
            tokens: HashMap::new(),
        }
    }
}

impl<T> InFlight<T> {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// An id that no request in flight has. Ids count up and begin again after four billion.
    pub(super) fn next_id(&mut self) -> RequestId {
        loop {
            let id = RequestId(self.next);
            self.next = self.next.wrapping_add(1);
            if !self.tokens.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn insert(&mut self, id: RequestId, waiting: Waiting, token: T) {
        self.tokens.insert(id, (waiting, token));
    }

    pub(super) fn is_waiting(&self, id: RequestId, waiting: Waiting) -> bool {
        self.tokens
            .get(&id)
            .is_some_and(|(kind, _)| *kind == waiting)
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<(Waiting, T)> {
        self.tokens.remove(&id)
    }

    /// All tokens, in the order of their ids.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let mut all: Vec<_> = self.tokens.drain().collect();
        all.sort_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, (_, token))| token).collect()
    }
}
