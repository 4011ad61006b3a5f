//! A session: the objects that its client can reach, and the lanes to them and to the client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use floe::contracts::glacier2::SessionProxy;
use floe::reference::Target;
use floe::{Communicator, Connection, Context, Identity, Proxy, Reference, TypedProxy};
use tokio_util::task::TaskTracker;

use super::lane::Lane;
use super::status::Counters;
use crate::core::{RequestFilter, RoutingTable, SortedSet};
use crate::settings::GatewaySettings;

/// A session of a client, bound to its connection.
pub(super) struct Session {
    /// The user's name or description, for logs.
    pub(super) user: String,
    pub(super) connection: Connection,
    /// The category of the client's objects, if servers can call them.
    pub(super) category: Option<String>,
    pub(super) filter: RequestFilter,
    /// Context entries that give servers information about the connection.
    pub(super) connection_entries: Context,
    /// Forwards requests to the client.
    pub(super) to_client: Arc<Lane>,
    /// The session of the application, if it has one.
    pub(super) application: OnceLock<SessionProxy>,
    /// The identities of the session's control objects.
    pub(super) controls: Mutex<Vec<Identity>>,
    /// Held for a look-up or a change, never across a wait.
    routes: Mutex<Routes>,
    started: Instant,
    /// Time of the last use, in milliseconds since the start.
    last_use: AtomicU64,
    is_ended: AtomicBool,
}

/// The routing table, and the lanes to the servers in it.
struct Routes {
    table: RoutingTable<Arc<Route>>,
    lanes: HashMap<Target, Weak<Lane>>,
}

/// An object that the client has registered.
pub(super) struct Route {
    /// A twoway proxy to the object.
    pub(super) twoway: Proxy,
    /// A oneway proxy to the object.
    pub(super) oneway: Proxy,
    /// Forwards requests to the object's server, in their order.
    pub(super) lane: Arc<Lane>,
}

/// The parts of a new session.
pub(super) struct NewSession<'a> {
    pub(super) user: String,
    /// The category that the user may reach because of its name.
    pub(super) user_category: Option<String>,
    pub(super) connection: Connection,
    pub(super) category: Option<String>,
    pub(super) connection_entries: Context,
    pub(super) settings: &'a GatewaySettings,
    pub(super) counters: &'a Arc<Counters>,
    pub(super) tasks: &'a TaskTracker,
}

impl Session {
    pub(super) fn new(new: NewSession<'_>) -> Arc<Self> {
        let settings = new.settings;
        let filter = &settings.filter;
        let categories = filter.accept_categories.iter().cloned();
        Arc::new(Self {
            user: new.user,
            connection: new.connection,
            category: new.category,
            filter: RequestFilter {
                categories: SortedSet::new(categories.chain(new.user_category)),
                identities: SortedSet::new(filter.accept_identities.iter().cloned()),
                adapter_ids: SortedSet::new(filter.accept_adapter_ids.iter().cloned()),
            },
            connection_entries: new.connection_entries,
            to_client: Lane::new(&settings.to_clients, new.counters, new.tasks),
            application: OnceLock::new(),
            controls: Mutex::default(),
            routes: Mutex::new(Routes {
                table: RoutingTable::new(settings.routing_table_max),
                lanes: HashMap::new(),
            }),
            started: Instant::now(),
            last_use: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
        })
    }

    /// Adds an object to the routing table. Returns the object that was removed to make room.
    pub(super) fn add_route(
        &self,
        reference: &Reference,
        communicator: &Communicator,
        new_lane: impl FnOnce() -> Arc<Lane>,
    ) -> Option<Proxy> {
        let mut routes = self.lock_routes();
        let Routes { table, lanes } = &mut *routes;
        let evicted = table.add(&reference.identity, || {
            let lane = lanes.get(&reference.target).and_then(Weak::upgrade);
            let lane = lane.unwrap_or_else(|| {
                lanes.retain(|_, lane| lane.strong_count() > 0);
                let lane = new_lane();
                lanes.insert(reference.target.clone(), Arc::downgrade(&lane));
                lane
            });
            Arc::new(Route::new(reference, communicator, lane))
        });
        evicted.map(|route| route.twoway.clone())
    }

    /// The route to an object. This counts as a use of the route.
    pub(super) fn route(&self, identity: &Identity) -> Option<Arc<Route>> {
        self.lock_routes().table.find(identity).cloned()
    }

    /// Notes that the session is used now.
    pub(super) fn touch(&self) {
        let since = self.started.elapsed().as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.last_use.store(since, Ordering::Relaxed);
    }

    /// How long the session has been unused.
    pub(super) fn idle_time(&self) -> Duration {
        let last_use = Duration::from_millis(self.last_use.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last_use)
    }

    /// Marks the session as ended, and sends queued requests without further pauses. Returns false if it had ended
    /// before.
    pub(super) fn end(&self) -> bool {
        let is_first = !self.is_ended.swap(true, Ordering::Relaxed);
        if is_first {
            self.to_client.end();
            let lanes = std::mem::take(&mut self.lock_routes().lanes);
            for lane in lanes.into_values().filter_map(|lane| lane.upgrade()) {
                lane.end();
            }
        }
        is_first
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    pub(super) fn take_controls(&self) -> Vec<Identity> {
        let controls = self.controls.lock();
        std::mem::take(&mut *controls.unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Route {
    fn new(reference: &Reference, communicator: &Communicator, lane: Arc<Lane>) -> Self {
        let plain = Reference {
            facet: String::new(),
            mode: floe::InvocationMode::Twoway,
            secure: false,
            ..reference.clone()
        };
        // Collocated calls would let a client reach objects of this process for which no endpoint listens.
        let twoway = communicator
            .proxy_from(plain)
            .ice_collocation_optimized(false);
        Self {
            oneway: twoway.ice_oneway(),
            twoway,
            lane,
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("user", &self.user)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}
