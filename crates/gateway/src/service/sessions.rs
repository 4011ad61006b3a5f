//! All sessions of a gateway, by connection and by category, and how they end.

use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use floe::forwarding::ConnectionJudge;
use floe::{Adapter, Communicator, Connection, Proxy, Reference, SystemException, TypedProxy};

use super::account::Account;
use super::guard::{self, Guard};
use super::keyed_lock::KeyedLock;
use super::login;
use super::overload::{NO_MEMORY, overloaded};
use super::protection::Protection;
use super::resumption::Resumption;
use super::session::{Session, SessionClient};
use super::session_index::SessionIndex;
use super::status::{Counters, GatewayStatus};
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
    /// The filter for connections to the objects of clients; none if no address is rejected.
    pub(super) judge: Option<ConnectionJudge>,
    pub(super) guard: Guard,
    pub(super) protection: Protection,
    /// One login after another on each connection.
    pub(super) login_locks: KeyedLock<Connection>,
    pub(super) memory: Arc<Account>,
    /// The connections to servers.
    pub(super) connections: Arc<Account>,
    pub(super) counters: Arc<Counters>,
    pub(super) tasks: Tasks,
    /// Held for a look-up or a change, never across a wait.
    index: Mutex<SessionIndex>,
}

/// Why there can be no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSession {
    Exists,
    ShuttingDown,
    TooMany,
    TooManyOfUser,
    TooManyOfAddress,
    NoMemory,
    ConnectionClosed,
}

impl NoSession {
    /// The reason that the client gets. Source: observed, glacier2router 3.7.8, for the first two.
    pub(super) fn reason(self) -> String {
        match self {
            Self::Exists => "session exists".to_owned(),
            Self::ShuttingDown => "router is shutting down".to_owned(),
            Self::TooMany => overloaded("too many sessions (session-limit)"),
            Self::TooManyOfUser => {
                overloaded("too many sessions of this user (user-session-limit)")
            }
            Self::TooManyOfAddress => overloaded(TOO_MANY_OF_ADDRESS),
            Self::NoMemory => overloaded(NO_MEMORY),
            Self::ConnectionClosed => "the connection was closed".to_owned(),
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
        let address_filter = AddressFilter {
            accept: filter.accept_addresses.clone(),
            reject: filter.reject_addresses.clone(),
            proxy_len_max: filter.proxy_len_max,
        };
        Arc::new(Self {
            judge: address_filter.judge(),
            address_filter,
            guard,
            protection: Protection::new(),
            login_locks: KeyedLock::default(),
            memory: Account::new(settings.memory_max),
            connections: Account::new(settings.server_connection_limit),
            settings,
            communicator: communicator.clone(),
            client_adapter,
            server_adapter,
            counters: Arc::default(),
            tasks: Tasks::on_current_runtime(),
            index: Mutex::default(),
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

    /// All sessions, those included that wait for their clients.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().all()
    }

    /// The number of sessions, and the counters.
    pub(super) fn status(&self) -> GatewayStatus {
        let count = {
            let index = self.lock();
            index.by_connection.len() + index.detached
        };
        self.counters.status(count, self.memory.used())
    }

    /// Checks that a session can be created on this connection now.
    pub(super) fn check(&self, connection: &Connection) -> Result<(), NoSession> {
        self.lock().check(connection, self.settings.session_limit)
    }

    /// Adds a session, if there is still room for it.
    pub(super) fn insert(self: &Arc<Self>, session: &Arc<Session>) -> Result<(), NoSession> {
        let client = session.client();
        let connection = &client.connection;
        let is_first = {
            let mut index = self.lock();
            index.check(connection, self.settings.session_limit)?;
            index
                .shares
                .check(session.owner, client.network, &self.settings)?;
            if session.is_ended() {
                return Err(NoSession::ConnectionClosed);
            }
            if let Some(category) = &session.category {
                match index.by_category.entry(category.clone()) {
                    // This does not happen in practice: a category is twenty random characters.
                    Entry::Occupied(_) => return Err(NoSession::Exists),
                    Entry::Vacant(entry) => entry.insert(session.clone()),
                };
            }
            index
                .by_connection
                .insert(connection.clone(), session.clone());
            index.shares.add(session.owner, client.network);
            index.watched.insert(connection.clone())
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
            let mut index = self.lock();
            if let Some(category) = &session.category {
                let is_own = |other: &Arc<Session>| Arc::ptr_eq(other, session);
                if index.by_category.get(category).is_some_and(is_own) {
                    index.by_category.remove(category);
                }
            }
            let client = session.client();
            let current = index.by_connection.get(&client.connection);
            let is_attached = current.is_some_and(|current| Arc::ptr_eq(current, session));
            if is_attached {
                index.by_connection.remove(&client.connection);
            }
            index.forget_tokens(session, None);
            if !session.end() {
                return false;
            }
            let is_detached = !is_attached && session.resumption.get().is_some();
            if is_detached {
                index.detached -= 1;
            }
            // A session that was refused has no share.
            if is_attached || is_detached {
                index.shares.remove(session.owner, client.network);
            }
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

    /// The connection of a session was lost. The session ends, or waits for its client if it can be resumed.
    fn lost(self: &Arc<Self>, connection: &Connection) {
        let waiting = {
            let mut index = self.lock();
            let session = index.by_connection.get(connection).cloned();
            let can_wait = session.filter(|session| session.resumption.get().is_some());
            if let Some(session) = &can_wait
                && !index.is_shutting_down
            {
                index.by_connection.remove(connection);
                index.detached += 1;
                Some(session.clone())
            } else {
                None
            }
        };
        let Some((session, resumption)) = waiting
            .as_ref()
            .and_then(|session| Some((session, session.resumption.get()?)))
        else {
            self.end_of(connection, "its connection was closed");
            return;
        };
        resumption.detach(connection);
        tracing::info!(
            "{:?} has lost its connection, and may come back",
            session.user
        );
        let (sessions, session) = (Arc::downgrade(self), session.clone());
        let (connection, resumption) = (connection.clone(), resumption.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(resumption.grace) => {}
                () = resumption.attached_or_ended() => return,
            }
            if let Some(sessions) = sessions.upgrade() {
                // It may have come back since, and be connected or wait again.
                let still_waits = session.client().connection == connection;
                if still_waits {
                    sessions.end(&session, "its client has not come back");
                }
            }
        });
    }

    /// Makes a session survive a lost connection for a grace period, `wanted` at most. Returns a token, and the period.
    ///
    /// # Errors
    /// The session can be resumed already, or sessions of this gateway cannot.
    pub(super) fn make_resumable(
        &self,
        session: &Arc<Session>,
        wanted: Duration,
    ) -> Result<(String, Duration), SystemException> {
        let refused = |text: &str| SystemException::UnknownException(text.to_owned());
        let grace_max = self.settings.resume_grace;
        let grace_max =
            grace_max.ok_or_else(|| refused("sessions of this gateway cannot be resumed"))?;
        let grace = wanted.min(grace_max);
        // Until this is done, the session does not end.
        let mut index = self.lock();
        if session.is_ended() {
            return Err(refused("the session has ended"));
        }
        if session.resumption.get().is_some() {
            return Err(refused("the session can be resumed already"));
        }
        let resumption = Resumption::start(
            grace,
            session,
            &self.settings.to_clients,
            &self.counters,
            &self.tasks,
        );
        // This cannot fail, because the index is locked.
        let _ = session.resumption.set(resumption);
        let token = index.new_token(session);
        Ok((token, grace))
    }

    /// Resumes a session over this connection. Returns the next token.
    ///
    /// # Errors
    /// The reason, for the client.
    pub(super) fn resume(
        self: &Arc<Self>,
        token: &str,
        connection: &Connection,
    ) -> Result<String, &'static str> {
        let session = self.lock().by_token.get(token).cloned();
        let session = session.ok_or(UNKNOWN_TOKEN)?;
        let resumption = session.resumption.get().ok_or("it cannot be resumed")?;
        let info = connection.info();
        let known = session.client();
        let caller = guard::caller(&info, known.caller.user.as_deref());
        if caller.certificate != known.caller.certificate {
            return Err("it belongs to a client with another certificate");
        }
        if self.guard.check_login(&caller).is_err() {
            return Err(REFUSED_HERE);
        }
        let (before, next, is_first) = {
            let mut index = self.lock();
            if index.is_shutting_down || session.is_ended() {
                return Err("it has ended");
            }
            if !index.by_token.contains_key(token) {
                return Err("the token was used meanwhile");
            }
            if index.by_connection.contains_key(connection) {
                return Err("this connection has a session");
            }
            if !connection.is_active() {
                return Err("the connection was closed");
            }
            let before = session.client();
            let network = info.remote_network();
            index.shares.remove(session.owner, before.network);
            let has_room = network == before.network
                || index
                    .shares
                    .check(session.owner, network, &self.settings)
                    .is_ok();
            if !has_room {
                index.shares.add(session.owner, before.network);
                return Err(TOO_MANY_OF_ADDRESS);
            }
            index.shares.add(session.owner, network);
            // The used token stays valid until the client confirms the next one, whose reply may be lost.
            index.forget_tokens(&session, Some(token));
            let next = index.new_token(&session);
            match index.by_connection.remove(&before.connection) {
                Some(_) => {}
                None => index.detached -= 1,
            }
            index
                .by_connection
                .insert(connection.clone(), session.clone());
            session.set_client(SessionClient {
                connection: connection.clone(),
                caller,
                network,
                connection_entries: login::entries(self, connection),
            });
            resumption.attach(connection.clone());
            (before, next, index.watched.insert(connection.clone()))
        };
        session.touch();
        // A client may notice the loss first.
        before.connection.abort();
        if is_first {
            self.watch(connection);
        }
        // The rules may have changed since the first check, while the session still had its old connection.
        if self.guard.check_login(&session.client().caller).is_err() {
            self.end(&session, RULES_CHANGED);
            return Err(REFUSED_HERE);
        }
        tracing::info!("{:?} has come back, from {}", session.user, info.peer);
        Ok(next)
    }

    /// The client has the last token, so that the one before it is void.
    pub(super) fn confirm(&self, session: &Arc<Session>, token: &str) {
        let mut index = self.lock();
        let known = index.by_token.get(token);
        if known.is_some_and(|known| Arc::ptr_eq(known, session)) {
            index.forget_tokens(session, Some(token));
        }
    }

    /// Ends the sessions that have been unused for longer than `timeout`.
    pub(super) fn end_unused(self: &Arc<Self>, timeout: Duration) {
        let sessions: Vec<_> = self.lock().by_connection.values().cloned().collect();
        // A session that waits for its client has a grace period instead.
        for session in sessions {
            if session.idle_time() > timeout {
                self.end(&session, "it was not used for too long");
            }
        }
    }

    /// Ends the sessions that the rules no longer allow.
    pub(super) fn end_refused(self: &Arc<Self>) {
        let sessions = self.lock().all();
        for session in sessions {
            let client = session.client();
            if self.guard.check_login(&client.caller).is_err() {
                self.end(&session, RULES_CHANGED);
                client.connection.abort();
            }
        }
    }

    /// Reads no more requests of clients and servers: from here on, nothing answers. Requests in queues still leave.
    pub(super) fn hold(&self) {
        self.client_adapter.hold();
        if let Some(adapter) = &self.server_adapter {
            adapter.hold();
        }
    }

    /// Ends all sessions, and refuses new ones.
    pub(super) fn shut_down(self: &Arc<Self>) {
        let sessions: Vec<_> = {
            let mut index = self.lock();
            index.is_shutting_down = true;
            index.all()
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
                sessions.lost(&connection);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, SessionIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no session if its address has as many as it may.
pub(super) const TOO_MANY_OF_ADDRESS: &str =
    "too many sessions from this address (address-session-limit)";
/// Why a session is not resumed if the rules do not allow it.
const REFUSED_HERE: &str = "the rules of access do not allow it from here";
/// Why a session ends if other rules are put in force.
const RULES_CHANGED: &str = "the rules of access no longer allow it";
/// Why a session is not resumed if no session has the token.
pub(super) const UNKNOWN_TOKEN: &str = "the token is unknown, was used, or has expired";

/// A heartbeat renews a session.
fn on_heartbeat(sessions: &Weak<Sessions>, connection: &Connection) {
    let Some(sessions) = sessions.upgrade() else {
        return;
    };
    let Some(session) = sessions.of(connection) else {
        return;
    };
    session.touch();
    // Until the application has answered, further heartbeats need not ask it.
    if session.application.get().is_some() && !session.is_refreshing.swap(true, Ordering::Relaxed) {
        let tasks = sessions.tasks.clone();
        tasks.spawn(async move {
            let is_alive = sessions.refresh(&session).await;
            session.is_refreshing.store(false, Ordering::Relaxed);
            // A heartbeat has no reply that could tell the client.
            if !is_alive {
                session.client().connection.abort();
            }
        });
    }
}
