//! Routers of a communicator, and the objects that are registered with each.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use floe_wire::reference::{Identity, Reference};

use crate::connection::ConnectionCore;

/// The routers of a communicator's proxies; as many as the program names.
#[derive(Default)]
pub(crate) struct Routers {
    known: Mutex<Vec<Arc<Router>>>,
}

impl Routers {
    /// The state of the router with this proxy, over the connection with this id. All proxies that use it share the
    /// state.
    pub(crate) fn of(&self, reference: &Reference, connection_id: &Arc<str>) -> Arc<Router> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |router: &&Arc<Router>| {
            router.reference == *reference && router.connection_id == *connection_id
        };
        if let Some(router) = known.iter().find(is_same) {
            return router.clone();
        }
        let router = Arc::new(Router {
            reference: reference.clone(),
            connection_id: connection_id.clone(),
            adding: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        });
        known.push(router.clone());
        router
    }
}

/// The state of a router.
pub(crate) struct Router {
    pub(crate) reference: Reference,
    /// The id of the connection that has the session, and that carries all routed requests.
    pub(crate) connection_id: Arc<str>,
    /// Held during a call to the router, so that its notices of evictions stay in order.
    pub(crate) adding: tokio::sync::Mutex<()>,
    /// Held for a read or a change, never across a wait.
    state: Mutex<State>,
}

/// The state that belongs to one connection to the router: the next connection has another session, or none.
#[derive(Default)]
struct State {
    connection: Weak<ConnectionCore>,
    client_side: Option<ClientSide>,
    added: HashSet<Identity>,
}

/// Where requests for routed objects are sent.
#[derive(Clone)]
pub(crate) struct ClientSide {
    /// The endpoints for clients; `None` for the router's own endpoints.
    pub(crate) proxy: Option<Reference>,
    /// True if each object must be registered with the router.
    pub(crate) has_routing_table: bool,
}

/// Number of registered identities that are remembered. Beyond it, all are registered again.
const ADDED_MAX: usize = 100_000;

impl Router {
    /// The endpoints of routed requests, if the router was asked over this connection.
    pub(crate) fn client_side(&self, connection: &Arc<ConnectionCore>) -> Option<ClientSide> {
        self.state_of(connection).client_side.clone()
    }

    /// Records where the router wants requests.
    pub(crate) fn note_client_side(&self, connection: &Arc<ConnectionCore>, side: ClientSide) {
        self.state_of(connection).client_side = Some(side);
    }

    /// Returns true if the object was registered over this connection.
    pub(crate) fn has(&self, connection: &Arc<ConnectionCore>, identity: &Identity) -> bool {
        self.state_of(connection).added.contains(identity)
    }

    /// Records that an object is registered, and that the router has evicted others.
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

    /// Records that the router no longer knows an object.
    pub(crate) fn forget(&self, identity: &Identity) {
        self.lock().added.remove(identity);
    }

    /// The state for this connection. A new connection replaces the state of the former one.
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
