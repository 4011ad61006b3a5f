//! An index of the sessions, by connection, category and token.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use floe::Connection;

use super::login::random;
use super::session::Session;
use super::sessions::NoSession;
use super::shares::SessionShares;

/// All sessions, by connection, category and token.
#[derive(Default)]
pub(super) struct SessionIndex {
    pub(super) by_connection: HashMap<Connection, Arc<Session>>,
    pub(super) by_category: HashMap<String, Arc<Session>>,
    /// Sessions that can be resumed, by their tokens. A session has two until its client confirms the second.
    pub(super) by_token: HashMap<String, Arc<Session>>,
    /// Number of sessions that wait for their clients.
    pub(super) detached: usize,
    /// How many sessions each user and each address has.
    pub(super) shares: SessionShares,
    /// Connections whose heartbeats and end are watched.
    pub(super) watched: HashSet<Connection>,
    pub(super) is_shutting_down: bool,
}

impl SessionIndex {
    /// All sessions, those included that wait for their clients.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> = self.by_connection.values().cloned().collect();
        let waiting = self.by_token.values();
        let mut seen = HashSet::new();
        let waiting = waiting.filter(|session| {
            let connection = &session.client().connection;
            !self.by_connection.contains_key(connection) && seen.insert(Arc::as_ptr(session))
        });
        all.extend(waiting.cloned());
        all
    }

    pub(super) fn check(&self, connection: &Connection, limit: usize) -> Result<(), NoSession> {
        if self.is_shutting_down {
            return Err(NoSession::ShuttingDown);
        }
        if self.by_connection.contains_key(connection) {
            return Err(NoSession::Exists);
        }
        if !connection.is_active() {
            return Err(NoSession::ConnectionClosed);
        }
        match self.by_connection.len() + self.detached < limit {
            true => Ok(()),
            false => Err(NoSession::TooMany),
        }
    }

    /// A token for a session.
    pub(super) fn new_token(&mut self, session: &Arc<Session>) -> String {
        let token = new_token();
        self.by_token.insert(token.clone(), session.clone());
        session.lock_tokens().push(token.clone());
        token
    }

    /// Makes the tokens of a session void, except for this one.
    pub(super) fn forget_tokens(&mut self, session: &Session, except: Option<&str>) {
        session.lock_tokens().retain(|token| {
            let stays = Some(&**token) == except;
            if !stays {
                self.by_token.remove(token);
            }
            stays
        });
    }
}

/// A token that cannot be guessed.
fn new_token() -> String {
    let bytes = random::<32>();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
