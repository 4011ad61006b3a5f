//! What a communicator knows of its routers: which objects it has made known to each.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use floe_wire::reference::{Identity, Reference};

use crate::connection::ConnectionCore;

/// The routers that proxies of a communicator use; as many as a program names.
#[derive(Default)]
pub(crate) struct Routers {
    known: Mutex<Vec<Arc<Router>>>,
}

impl Routers {
    /// What is known of the router with this proxy: the same for all proxies that use it.
    pub(crate) fn of(&self, reference: &Reference) -> Arc<Router> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(router) = known.iter().find(|router| router.reference == *reference) {
            return router.clone();
        }
        let router = Arc::new(Router {
            reference: reference.clone(),
            adding: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        });
        known.push(router.clone());
        router
    }
}

/// What is known of a router.
pub(crate) struct Router {
    pub(crate) reference: Reference,
    /// Held while the router is asked or told something, so that its notices of evictions come in order.
    pub(crate) adding: tokio::sync::Mutex<()>,
    /// Held for a look or a change, never across a wait.
    state: Mutex<State>,
}

/// What holds for one connection to the router: the next one has another session, or none.
#[derive(Default)]
struct State {
    connection: Weak<ConnectionCore>,
    client_side: Option<ClientSide>,
    added: HashSet<Identity>,
}

/// Where requests for routed objects go.
#[derive(Clone)]
pub(crate) struct ClientSide {
    /// The router's own endpoints if there is none.
    pub(crate) proxy: Option<Reference>,
    /// Whether the router must be told where each object is.
    pub(crate) has_routing_table: bool,
}

/// Identities that are remembered as made known. Beyond, all are told again.
const ADDED_MAX: usize = 100_000;

impl Router {
    /// Where requests go, if that was asked over this connection.
    pub(crate) fn client_side(&self, connection: &Arc<ConnectionCore>) -> Option<ClientSide> {
        self.state_of(connection).client_side.clone()
    }

    /// The router has said where requests go.
    pub(crate) fn note_client_side(&self, connection: &Arc<ConnectionCore>, side: ClientSide) {
        self.state_of(connection).client_side = Some(side);
    }

    /// Whether the router was told over this connection where the object is.
    pub(crate) fn has(&self, connection: &Arc<ConnectionCore>, identity: &Identity) -> bool {
        self.state_of(connection).added.contains(identity)
    }

    /// The router knows of an object, and of some others no more.
    pub(crate) fn note_added<'a>(
        &self,
        connection: &Arc<ConnectionCore>,
        identity: &Identity,
        evicted: impl Iterator<Item = &'a Identity>,
    ) {
        let mut state = self.state_of(connection);
        if state.added.len() >= ADDED_MAX {
            state.added.clear();
        }
        state.added.insert(identity.clone());
        for identity in evicted {
            state.added.remove(identity);
        }
    }

    /// The router does not know of an object, whatever it was told.
    pub(crate) fn forget(&self, identity: &Identity) {
        self.lock().added.remove(identity);
    }

    /// What holds for this connection; nothing of what held for the one before.
    fn state_of(&self, connection: &Arc<ConnectionCore>) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if !std::ptr::eq(state.connection.as_ptr(), Arc::as_ptr(connection)) {
            *state = State {
                connection: Arc::downgrade(connection),
                ..State::default()
            };
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
