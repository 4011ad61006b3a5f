//! A session: the objects that its client can reach, and the forwarders to them and to the client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use floe::contracts::glacier2::SessionProxy;
use floe::forwarding::ConnectionJudge;
use floe::reference::{Target, is_offer};
use floe::settings::Compression;
use floe::{Communicator, Connection, Context, Endpoint, Identity, Proxy, Reference, TypedProxy};
use floe_access::Caller;

use super::account::{AccountFull, Held, Share};
use super::forwarder::Forwarder;
use super::protection::Rates;
use super::resumption::Resumption;
use super::server_link::Origin;
use super::shares::Owner;
use super::status::Counters;
use super::tasks::Tasks;
use super::traffic::Traffic;
use crate::core::{RequestFilter, RoutingTable, SortedSet};
use crate::settings::GatewaySettings;

/// A session of a client. It is bound to its connection, unless it can be resumed.
pub(super) struct Session {
    /// The number of the session, which no other one gets, not even after this one has ended.
    pub(super) number: u64,
    /// The user's name or description, for logs.
    pub(super) user: String,
    pub(super) owner: Owner,
    pub(super) rates: Rates,
    /// The memory of the session's address.
    pub(super) memory: Arc<Share>,
    /// The address, as links to servers know it.
    pub(super) origin: Arc<Origin>,
    /// The memory that the session itself takes.
    _own_memory: Held,
    /// The client, as it is connected now. Held for a look-up, never across a wait.
    client: RwLock<Arc<SessionClient>>,
    /// Keeps the session if its connection is lost. Set if the client asked for that.
    pub(super) resumption: OnceLock<Arc<Resumption>>,
    /// The tokens by which it can be resumed. Changed while the state of all sessions is locked.
    tokens: Mutex<Vec<String>>,
    /// The category of the client's objects, if servers can call them.
    pub(super) category: Option<String>,
    pub(super) filter: RequestFilter,
    /// Forwards requests to the client.
    pub(super) to_client: Arc<Forwarder>,
    /// The requests to the client.
    pub(super) to_client_traffic: Arc<Traffic>,
    /// The requests to all servers.
    pub(super) to_servers_traffic: Arc<Traffic>,
    /// The session of the application, if it has one.
    pub(super) application: OnceLock<SessionProxy>,
    /// True while the application's session has not answered a heartbeat of the client that the gateway passed on.
    pub(super) is_refreshing: AtomicBool,
    /// The identities of the session's control objects.
    pub(super) controls: Mutex<Vec<Identity>>,
    /// Held for a look-up or a change, never across a wait.
    routes: Mutex<Routes>,
    started: Instant,
    /// Time of the last use, in milliseconds since the start.
    last_use: AtomicU64,
}

/// A client over one connection.
pub(super) struct SessionClient {
    pub(super) connection: Connection,
    /// The client, as the rules of access see it.
    pub(super) caller: Caller,
    /// The network by which sessions are limited.
    pub(super) network: Option<IpAddr>,
    /// Context entries that give servers information about the connection.
    pub(super) connection_entries: Context,
}

/// The routing table, and the forwarders to the servers in it.
struct Routes {
    table: RoutingTable<Arc<Route>>,
    forwarders: HashMap<Target, Weak<Forwarder>>,
    /// True if the session has ended. Then no route is added, because its forwarder would not know of the end.
    is_ended: bool,
}

/// Why an object is not added to a session.
#[derive(Debug)]
pub(super) enum NoRoute {
    /// The session has ended.
    SessionEnded,
    NoMemory(AccountFull),
}

/// An object that the client has registered.
pub(super) struct Route {
    /// A twoway proxy to the object.
    pub(super) twoway: Proxy,
    /// A oneway proxy to the object, made for the first oneway request.
    oneway: OnceLock<Proxy>,
    /// The compression of requests that ask for compression.
    pub(super) compression: Compression,
    /// Forwards requests to the object's server, in their order.
    pub(super) forwarder: Arc<Forwarder>,
    /// Length of the proxy's text, in bytes.
    pub(super) len: usize,
    /// Kept for as long as the route.
    _memory: Held,
}

/// Memory that a session takes, besides the user's name, in bytes: its forwarders, its filters and its place among others.
const SESSION_LEN: usize = 4096;
/// Memory that a route takes, besides its texts, in bytes: its proxies, its place in the table and its forwarder.
const ROUTE_LEN: usize = 2048;
/// How many times the length of a proxy's text its route takes: the identity is in it several times, and an endpoint takes more
/// than its text.
pub(super) const ROUTE_TEXTS: usize = 8;

/// The parts of a new session.
pub(super) struct NewSession<'a> {
    pub(super) user: String,
    pub(super) owner: Owner,
    pub(super) rates: Rates,
    pub(super) memory: Arc<Share>,
    pub(super) origin: Arc<Origin>,
    pub(super) client: SessionClient,
    /// The category that the user may reach because of its name.
    pub(super) user_category: Option<String>,
    pub(super) category: Option<String>,
    pub(super) settings: &'a GatewaySettings,
    pub(super) counters: &'a Arc<Counters>,
    pub(super) tasks: &'a Tasks,
}

impl Session {
    /// # Errors
    /// There is no memory for it.
    pub(super) fn new(new: NewSession<'_>) -> Result<Arc<Self>, AccountFull> {
        let settings = new.settings;
        let filter = &settings.filter;
        let categories = filter.accept_categories.iter().cloned();
        let to_client_traffic = Arc::default();
        static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
        Ok(Arc::new(Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            _own_memory: new.memory.take(SESSION_LEN + new.user.len())?,
            memory: new.memory,
            origin: new.origin,
            user: new.user,
            owner: new.owner,
            rates: new.rates,
            client: RwLock::new(Arc::new(new.client)),
            resumption: OnceLock::new(),
            tokens: Mutex::default(),
            category: new.category,
            filter: RequestFilter {
                categories: SortedSet::new(categories.chain(new.user_category)),
                identities: SortedSet::new(filter.accept_identities.iter().cloned()),
                adapter_ids: SortedSet::new(filter.accept_adapter_ids.iter().cloned()),
            },
            to_client: Forwarder::new(
                &settings.to_clients,
                new.counters,
                &to_client_traffic,
                new.tasks,
            ),
            to_client_traffic,
            to_servers_traffic: Arc::default(),
            application: OnceLock::new(),
            is_refreshing: AtomicBool::new(false),
            controls: Mutex::default(),
            routes: Mutex::new(Routes {
                table: RoutingTable::new(settings.routing_table_max, settings.routing_table_bytes),
                forwarders: HashMap::new(),
                is_ended: false,
            }),
            started: Instant::now(),
            last_use: AtomicU64::new(0),
        }))
    }

    /// The client, as it is connected now or was last.
    pub(super) fn client(&self) -> Arc<SessionClient> {
        let client = self.client.read();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The client has come back over another connection.
    pub(super) fn set_client(&self, client: SessionClient) {
        let mut current = self.client.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(client);
    }

    /// Adds an object to the routing table. Returns the objects that were removed to make room.
    ///
    /// # Errors
    /// The session has ended, or there is no memory.
    pub(super) fn add_route(
        &self,
        reference: &Reference,
        len: usize,
        communicator: &Communicator,
        judge: Option<&ConnectionJudge>,
        new_forwarder: impl FnOnce() -> Arc<Forwarder>,
    ) -> Result<Vec<Proxy>, NoRoute> {
        let mut routes = self.lock_routes();
        if routes.is_ended {
            return Err(NoRoute::SessionEnded);
        }
        if routes.table.find(&reference.identity).is_some() {
            return Ok(Vec::new());
        }
        let memory = self.memory.take(ROUTE_LEN + ROUTE_TEXTS * len);
        let memory = memory.map_err(NoRoute::NoMemory)?;
        let Routes {
            table, forwarders, ..
        } = &mut *routes;
        let evicted = table.add(&reference.identity, len, || {
            let forwarder = forwarders.get(&reference.target).and_then(Weak::upgrade);
            let forwarder = forwarder.unwrap_or_else(|| {
                forwarders.retain(|_, forwarder| forwarder.strong_count() > 0);
                let forwarder = new_forwarder();
                forwarders.insert(reference.target.clone(), Arc::downgrade(&forwarder));
                forwarder
            });
            let mut twoway = communicator.proxy_from(plain(reference));
            if let Some(judge) = judge {
                twoway = twoway.as_judged(judge.clone());
            }
            Arc::new(Route::new(twoway, len, forwarder, memory))
        });
        Ok(evicted.iter().map(|route| route.twoway.clone()).collect())
    }

    /// The route to an object. This counts as a use of the route.
    pub(super) fn route(&self, identity: &Identity) -> Option<Arc<Route>> {
        self.lock_routes().table.find(identity).cloned()
    }

    /// The number of objects in the routing table.
    pub(super) fn route_count(&self) -> usize {
        self.lock_routes().table.len()
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
        let forwarders = {
            let mut routes = self.lock_routes();
            if std::mem::replace(&mut routes.is_ended, true) {
                return false;
            }
            std::mem::take(&mut routes.forwarders)
        };
        self.to_client.end();
        if let Some(resumption) = self.resumption.get() {
            resumption.end();
        }
        for forwarder in forwarders.values().filter_map(Weak::upgrade) {
            forwarder.end();
        }
        true
    }

    pub(super) fn is_ended(&self) -> bool {
        self.lock_routes().is_ended
    }

    pub(super) fn take_controls(&self) -> Vec<Identity> {
        let controls = self.controls.lock();
        std::mem::take(&mut *controls.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn lock_tokens(&self) -> MutexGuard<'_, Vec<String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reference of a route, from which those of its requests are made.
fn plain(reference: &Reference) -> Reference {
    Reference {
        facet: String::new(),
        mode: floe::InvocationMode::Twoway,
        secure: false,
        ..reference.clone()
    }
}

impl Route {
    fn new(twoway: Proxy, len: usize, forwarder: Arc<Forwarder>, memory: Held) -> Self {
        // Collocated calls would let a client reach objects of this process for which no endpoint listens.
        let twoway = twoway.ice_collocation_optimized(false);
        let compression = forwarder.compression_to(&twoway);
        let mut ways = twoway
            .reference()
            .endpoints()
            .iter()
            .filter(|it| !is_offer(it));
        let twoway = match ways.all(Endpoint::wants_compression) {
            true => twoway.ice_compression(compression),
            false => twoway,
        };
        Self {
            oneway: OnceLock::new(),
            twoway,
            compression,
            forwarder,
            len,
            _memory: memory,
        }
    }

    pub(super) fn oneway(&self) -> &Proxy {
        self.oneway.get_or_init(|| self.twoway.ice_oneway())
    }

    /// Memory that a proxy to the object takes besides the route, in bytes. One with the facet and mode of the route's own
    /// proxies shares what is in them.
    pub(super) fn memory_of(&self, target: &Proxy) -> usize {
        let mut own = [Some(&self.twoway), self.oneway.get()]
            .into_iter()
            .flatten();
        match own.any(|own| std::ptr::eq(own.reference(), target.reference())) {
            true => 0,
            false => ROUTE_TEXTS * self.len,
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("user", &self.user)
            .field("connection", &self.client().connection)
            .finish_non_exhaustive()
    }
}
