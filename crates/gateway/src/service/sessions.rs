//! All sessions of a gateway, by connection and by category, and how they end.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use floe::{Adapter, Communicator, Connection, Proxy, Reference, TypedProxy};

use super::guard::Guard;
use super::protection::Protection;
use super::session::Session;
use super::status::Counters;
use super::tasks::Tasks;
use crate::core::AddressFilter;
use crate::settings::GatewaySettings;

/// The sessions of a gateway, with its settings and adapters. All its servants share this.
pub(super) struct Sessions {
    pub(super) settings: GatewaySettings,
    pub(super) communicator: Communicator,
    /// The adapter for clients.
    pub(super) client_adapter: Adapter,
    /// The adapter at which servers call back, if they can.
    pub(super) server_adapter: Option<Adapter>,
    pub(super) address_filter: AddressFilter,
    pub(super) guard: Guard,
    pub(super) protection: Protection,
    pub(super) counters: Arc<Counters>,
    pub(super) tasks: Tasks,
    /// Held for a look-up or a change, never across a wait.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_connection: HashMap<Connection, Arc<Session>>,
    by_category: HashMap<String, Arc<Session>>,
    /// Connections whose heartbeats and end are watched.
    watched: HashSet<Connection>,
    /// Connections on which a client logs in. Logins on one connection run one after another.
    logins: HashMap<Connection, Arc<tokio::sync::Mutex<()>>>,
    is_shutting_down: bool,
}

/// Why there can be no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSession {
    Exists,
    ShuttingDown,
    TooMany,
    TooManyOfUser,
    TooManyOfAddress,
    ConnectionClosed,
}

impl NoSession {
    /// The reason that the client gets. Source: observed, glacier2router 3.7.8, for the first two.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Exists => "session exists",
            Self::ShuttingDown => "router is shutting down",
            Self::TooMany => "gateway overloaded: too many sessions",
            Self::TooManyOfUser => "too many sessions of this user",
            Self::TooManyOfAddress => "too many sessions from this address",
            Self::ConnectionClosed => "the connection was closed",
        }
    }
}

impl Sessions {
    pub(super) fn new(
        settings: GatewaySettings,
        communicator: &Communicator,
        client_adapter: Adapter,
        server_adapter: Option<Adapter>,
        guard: Guard,
    ) -> Arc<Self> {
        let filter = &settings.filter;
        Arc::new(Self {
            address_filter: AddressFilter {
                accept: filter.accept_addresses.clone(),
                reject: filter.reject_addresses.clone(),
                proxy_len_max: filter.proxy_len_max,
            },
            guard,
            protection: Protection::new(),
            settings,
            communicator: communicator.clone(),
            client_adapter,
            server_adapter,
            counters: Arc::default(),
            tasks: Tasks::on_current_runtime(),
            state: Mutex::default(),
        })
    }

    /// The session of a connection.
    pub(super) fn of(&self, connection: &Connection) -> Option<Arc<Session>> {
        self.lock().by_connection.get(connection).cloned()
    }

    /// The session whose client's objects have this category.
    pub(super) fn of_category(&self, category: &str) -> Option<Arc<Session>> {
        self.lock().by_category.get(category).cloned()
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.lock().is_shutting_down
    }

    pub(super) fn len(&self) -> usize {
        self.lock().by_connection.len()
    }

    /// Waits until no other login runs on this connection. The login may run while the guard is held.
    pub(super) async fn login_lock(
        &self,
        connection: &Connection,
    ) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = {
            let mut state = self.lock();
            state.logins.retain(|_, turn| Arc::strong_count(turn) > 1);
            state.logins.entry(connection.clone()).or_default().clone()
        };
        turn.lock_owned().await
    }

    /// Checks that a session can be created on this connection now.
    pub(super) fn check(&self, connection: &Connection) -> Result<(), NoSession> {
        self.lock().check(connection, self.settings.session_limit)
    }

    /// Adds a session, if there is still room for it.
    pub(super) fn insert(self: &Arc<Self>, session: &Arc<Session>) -> Result<(), NoSession> {
        let connection = &session.connection;
        let is_first = {
            let mut state = self.lock();
            state.check(connection, self.settings.session_limit)?;
            state.check_shares(session, &self.settings)?;
            if session.is_ended() {
                return Err(NoSession::ConnectionClosed);
            }
            if let Some(category) = &session.category {
                match state.by_category.entry(category.clone()) {
                    // This does not happen in practice: a category is twenty random characters.
                    Entry::Occupied(_) => return Err(NoSession::Exists),
                    Entry::Vacant(entry) => entry.insert(session.clone()),
                };
            }
            state
                .by_connection
                .insert(connection.clone(), session.clone());
            state.watched.insert(connection.clone())
        };
        session.touch();
        self.counters.sessions_created.add(1);
        if is_first {
            self.watch(connection);
        }
        tracing::info!(
            "{:?} has a session, from {}",
            session.user,
            connection.info().peer
        );
        Ok(())
    }

    /// Ends the session of a connection. Returns whether there was one.
    pub(super) fn end_of(self: &Arc<Self>, connection: &Connection, why: &str) -> bool {
        let session = self.lock().by_connection.get(connection).cloned();
        session.is_some_and(|session| self.end(&session, why))
    }

    /// Ends a session, and tells the application. Returns false if the session had ended before.
    pub(super) fn end(self: &Arc<Self>, session: &Arc<Session>, why: &str) -> bool {
        {
            let mut state = self.lock();
            if let Some(category) = &session.category {
                let is_own = |other: &Arc<Session>| Arc::ptr_eq(other, session);
                if state.by_category.get(category).is_some_and(is_own) {
                    state.by_category.remove(category);
                }
            }
            let current = state.by_connection.get(&session.connection);
            if current.is_some_and(|current| Arc::ptr_eq(current, session)) {
                state.by_connection.remove(&session.connection);
            }
        }
        if !session.end() {
            return false;
        }
        tracing::info!(
            "the session of {:?} has ended: {}",
            session.user,
            why.escape_debug()
        );
        if let Some(adapter) = &self.server_adapter {
            for identity in session.take_controls() {
                adapter.remove(&identity, "");
            }
        }
        if let Some(application) = session.application.get().cloned() {
            let user = session.user.clone();
            self.tasks.spawn(async move {
                if let Err(error) = application.destroy().await {
                    tracing::debug!(
                        "the application's session of {user:?} was not told of its end: {:?}",
                        error.to_string()
                    );
                }
            });
        }
        true
    }

    /// Ends the sessions that have been unused for longer than `timeout`.
    pub(super) fn end_unused(self: &Arc<Self>, timeout: Duration) {
        let sessions: Vec<_> = self.lock().by_connection.values().cloned().collect();
        for session in sessions {
            if session.idle_time() > timeout {
                self.end(&session, "it was not used for too long");
            }
        }
    }

    /// Ends the sessions that the rules no longer allow.
    pub(super) fn end_refused(self: &Arc<Self>) {
        let sessions: Vec<_> = self.lock().by_connection.values().cloned().collect();
        for session in sessions {
            if self.guard.check_login(&session.caller).is_err() {
                self.end(&session, "the rules of access no longer allow it");
                session.connection.abort();
            }
        }
    }

    /// Ends all sessions, and refuses new ones.
    pub(super) fn shut_down(self: &Arc<Self>) {
        let sessions: Vec<_> = {
            let mut state = self.lock();
            state.is_shutting_down = true;
            state.by_connection.values().cloned().collect()
        };
        for session in sessions {
            self.end(&session, "the gateway shuts down");
        }
    }

    /// Notes that the session is used, and pings the application's session. If that does not answer, ends the session
    /// and its connection, and returns false.
    pub(super) async fn refresh(self: &Arc<Self>, session: &Arc<Session>) -> bool {
        session.touch();
        let Some(application) = session.application.get() else {
            return true;
        };
        match application.ice_ping().await {
            Ok(()) => true,
            Err(error) => {
                self.end(
                    session,
                    &format!("the application's session does not answer: {error}"),
                );
                session.connection.abort();
                false
            }
        }
    }

    /// A proxy to an object of the application, with the configured timeout.
    pub(super) fn application_proxy(&self, reference: &Reference) -> Proxy {
        let proxy = self.communicator.proxy_from(reference.clone());
        proxy.ice_timeout(Some(self.settings.application_timeout))
    }

    /// Watches a connection. Its heartbeats renew the session, and its close ends the session.
    fn watch(self: &Arc<Self>, connection: &Connection) {
        let sessions = Arc::downgrade(self);
        connection.on_heartbeat({
            let sessions = sessions.clone();
            move |connection| on_heartbeat(&sessions, &connection)
        });
        connection.on_close(move |connection| {
            if let Some(sessions) = Weak::upgrade(&sessions) {
                sessions.lock().watched.remove(&connection);
                sessions.end_of(&connection, "its connection was closed");
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&self, connection: &Connection, limit: usize) -> Result<(), NoSession> {
        if self.is_shutting_down {
            return Err(NoSession::ShuttingDown);
        }
        if self.by_connection.contains_key(connection) {
            return Err(NoSession::Exists);
        }
        if !connection.is_active() {
            return Err(NoSession::ConnectionClosed);
        }
        match self.by_connection.len() < limit {
            true => Ok(()),
            false => Err(NoSession::TooMany),
        }
    }

    /// Checks that the session's user and address have not too many.
    fn check_shares(&self, new: &Session, settings: &GatewaySettings) -> Result<(), NoSession> {
        let count = |is_alike: &dyn Fn(&Session) -> bool| {
            let all = self.by_connection.values();
            all.filter(|session| is_alike(session)).count()
        };
        let place = new.caller.place;
        let of_user = settings.user_session_limit;
        let of_address = settings.address_session_limit;
        if of_user.is_some_and(|max| count(&|other| other.user == new.user) >= max) {
            return Err(NoSession::TooManyOfUser);
        }
        if of_address.is_some_and(|max| count(&|other| other.caller.place == place) >= max) {
            return Err(NoSession::TooManyOfAddress);
        }
        Ok(())
    }
}

/// A heartbeat renews a session.
fn on_heartbeat(sessions: &Weak<Sessions>, connection: &Connection) {
    let Some(sessions) = sessions.upgrade() else {
        return;
    };
    let Some(session) = sessions.of(connection) else {
        return;
    };
    session.touch();
    if session.application.get().is_some() {
        let tasks = sessions.tasks.clone();
        tasks.spawn(async move { sessions.refresh(&session).await });
    }
}
