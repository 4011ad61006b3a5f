//! Adapters: they hold servants, and the endpoints at which clients reach these.
//!
//! - `accepting.rs`: connections on their way in
//! - `registration.rs`: registers an adapter with a locator
//! - `routed.rs`: adapters that are called through a router
//!
//! `crate::dispatch` has the part of an adapter that its dispatches use: its servants, and its limits.

mod accepting;
mod into_identity;
mod registration;
mod routed;
mod unique;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use floe_wire::compression::offer;
use floe_wire::reference::{
    Endpoint, Identity, ParseReferenceError, Reference, Target, parse_endpoints,
    parse_published_endpoints,
};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

pub use into_identity::IntoIdentity;
pub(crate) use unique::unique_name;

use crate::admission::{AdapterCounts, Admissions, Counters};
use crate::communicator::Communicator;
use crate::connection::{Connection, ConnectionCore};
use crate::dispatch::{
    AdapterBudget, AdapterCore, AdapterNames, Current, DispatchInterceptor, Dispatcher,
    ListenState, ServantLocator, push_interceptor,
};
use crate::error::AdapterError;
use crate::proxy::Proxy;
use crate::settings::AdapterSettings;
use crate::transport;

/// Listens on endpoints and dispatches requests to servants; a clone is the same adapter.
///
/// The communicator owns the adapter: dropping this handle does not end it.
#[derive(Clone)]
#[doc(alias = "Ice.ObjectAdapter")]
pub struct Adapter {
    core: Arc<AdapterCore>,
    communicator: Communicator,
}

impl Adapter {
    pub(crate) async fn bind(
        communicator: &Communicator,
        endpoints: Vec<Endpoint>,
        settings: AdapterSettings,
    ) -> Result<Self, AdapterError> {
        let mut listeners = Vec::new();
        let (mut published, mut wildcards) = (Vec::new(), Vec::new());
        let counters = Counters::default();
        let limits = settings.over(communicator.settings());
        let mut setup = limits.transport_setup();
        setup.datagrams_ignored = counters.datagrams_ignored.clone();
        for endpoint in &endpoints {
            let listening = transport::listen(endpoint, &setup).await;
            let listening = listening.map_err(|error| cannot_listen(endpoint, error))?;
            listeners.extend(listening.listeners);
            if transport::is_wildcard(endpoint) {
                wildcards.extend(listening.published.first().cloned());
            }
            published.extend(listening.published);
        }
        let limit = limits.adapter_dispatch_limit;
        let limit = u32::try_from(limit.clamp(1, Semaphore::MAX_PERMITS));
        let core = AdapterCore {
            environment: communicator.core().environment().clone(),
            owner: communicator.owner(),
            bound: published.clone(),
            wildcards,
            places: listeners.iter().filter_map(|it| it.place()).collect(),
            refuses_given: AtomicBool::new(false),
            published: RwLock::new(with_offer(published, communicator)),
            servants: RwLock::default(),
            servants_version: AtomicU64::new(0),
            admissions: Arc::new(Admissions::of_adapter(&settings)),
            names: AdapterNames::new(
                settings.adapter_id.as_deref(),
                settings.replica_group_id.as_deref(),
            ),
            is_registered: tokio::sync::Mutex::default(),
            settings: limits,
            counters,
            budget: Arc::new(AdapterBudget::new(limit.unwrap_or(u32::MAX))),
            is_active: AtomicBool::new(false),
            is_held: watch::Sender::new(false),
            state: Mutex::new(ListenState {
                listeners,
                ..ListenState::default()
            }),
        };
        Ok(Self {
            core: Arc::new(core),
            communicator: communicator.clone(),
        })
    }

    /// The communicator that made it.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// The endpoints on which the adapter listens, with the ports that the system picked. A wildcard appears as the
    /// address of each interface.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.core.bound
    }

    /// Returns true if the adapter listens at all addresses of the machine, with the port and protocol of this endpoint.
    pub fn listens_everywhere(&self, endpoint: &Endpoint) -> bool {
        let place = |endpoint: &Endpoint| (endpoint.port(), endpoint.is_datagram());
        let mut wildcards = self.core.wildcards.iter();
        wildcards.any(|wildcard| place(wildcard) == place(endpoint))
    }

    /// Refuses calls by proxies of this communicator that peers have given: see [`Proxy::as_given`]. Do this for an adapter
    /// whose objects do more than what any client may ask for, before the communicator calls objects that clients name.
    pub fn refuse_given(&self) {
        self.core.refuses_given.store(true, Ordering::Relaxed);
    }

    /// How many connections the adapter has, and its counts since it was made.
    pub fn counts(&self) -> AdapterCounts {
        self.core.counters.counts(self.core.admissions.count())
    }

    /// The endpoints in the proxies of this adapter: the listening endpoints, unless [`Adapter::publish`] has replaced
    /// them.
    pub fn published_endpoints(&self) -> Vec<Endpoint> {
        let published = self.core.published.read();
        published.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the endpoints in proxies made from now on. Use it when a firewall or a proxy server forwards to this
    /// adapter, or to publish a host name instead of addresses.
    ///
    /// # Errors
    /// [`AdapterError::Endpoints`] if the text is not a list of endpoints.
    #[doc(alias = "setPublishedEndpoints")]
    pub fn publish(&self, endpoints: &str) -> Result<(), AdapterError> {
        let parsed = parsed_of(endpoints, parse_published_endpoints)?;
        let endpoints = with_offer(parsed, &self.communicator);
        let published = self.core.published.write();
        *published.unwrap_or_else(PoisonError::into_inner) = endpoints;
        if self.core.has_address() {
            self.communicator.core().note_addressed(&self.core);
        }
        Ok(())
    }

    /// Registers a servant for an identity, and returns a proxy to it.
    ///
    /// # Errors
    /// [`AdapterError::AlreadyRegistered`], or an identity that cannot be parsed or has no name.
    pub fn add(
        &self,
        identity: impl IntoIdentity,
        servant: impl Dispatcher,
    ) -> Result<Proxy, AdapterError> {
        self.add_facet(identity, "", servant)
    }

    /// Registers a servant for a facet of an identity, and returns a proxy to it.
    ///
    /// # Errors
    /// See [`Adapter::add`].
    pub fn add_facet(
        &self,
        identity: impl IntoIdentity,
        facet: &str,
        servant: impl Dispatcher,
    ) -> Result<Proxy, AdapterError> {
        let identity = identity.into_identity()?;
        if identity.name.is_empty() {
            return Err(AdapterError::EmptyIdentity);
        }
        let servant: Arc<dyn Dispatcher> = Arc::new(servant);
        self.core.servants_mut().add(&identity, facet, &servant)?;
        Ok(self.proxy_with_facet(identity, facet))
    }

    /// Registers a servant for all identities of a category that have no servant of their own; the
    /// empty category stands for all categories.
    ///
    /// # Errors
    /// [`AdapterError::AlreadyRegistered`].
    pub fn add_default(
        &self,
        category: &str,
        servant: impl Dispatcher,
    ) -> Result<(), AdapterError> {
        let servant: Arc<dyn Dispatcher> = Arc::new(servant);
        self.core.servants_mut().add_default(category, &servant)
    }

    /// Removes the servant of an identity's facet. Returns whether there was one.
    pub fn remove(&self, identity: &Identity, facet: &str) -> bool {
        let removed = self.core.servants_mut().remove(identity, facet);
        removed.is_some()
    }

    /// Removes the default servant of a category. Returns whether there was one.
    pub fn remove_default(&self, category: &str) -> bool {
        let removed = self.core.servants_mut().remove_default(category);
        removed.is_some()
    }

    /// Removes the servants of all facets of an identity, and returns them with their facets.
    #[doc(alias = "removeAllFacets")]
    pub fn remove_all_facets(&self, identity: &Identity) -> Vec<(String, Arc<dyn Dispatcher>)> {
        self.core.servants_mut().remove_all(identity)
    }

    /// The servant of an identity's facet. Default servants do not count.
    pub fn find(&self, identity: &Identity, facet: &str) -> Option<Arc<dyn Dispatcher>> {
        let facets = self.find_all_facets(identity).into_iter();
        let mut servants = facets.filter(|(known, _)| known == facet);
        servants.next().map(|(_, servant)| servant)
    }

    /// The servants of all facets of an identity, with their facets.
    #[doc(alias = "findAllFacets")]
    pub fn find_all_facets(&self, identity: &Identity) -> Vec<(String, Arc<dyn Dispatcher>)> {
        self.core.servants().facets(identity)
    }

    /// The default servant of a category.
    #[doc(alias = "findDefaultServant")]
    pub fn find_default(&self, category: &str) -> Option<Arc<dyn Dispatcher>> {
        self.core.servants().default_servant(category)
    }

    /// Registers a locator for all identities of a category that have neither a servant nor a
    /// default servant; the empty category stands for all categories.
    ///
    /// # Errors
    /// [`AdapterError::AlreadyRegistered`].
    #[doc(alias = "addServantLocator")]
    pub fn add_locator(
        &self,
        category: &str,
        locator: impl ServantLocator,
    ) -> Result<(), AdapterError> {
        let locator: Arc<dyn ServantLocator> = Arc::new(locator);
        self.core.servants_mut().add_locator(category, &locator)
    }

    /// Removes the locator of a category and deactivates it. Returns whether there was one.
    #[doc(alias = "removeServantLocator")]
    pub fn remove_locator(&self, category: &str) -> bool {
        let locator = self.core.servants_mut().remove_locator(category);
        if let Some(locator) = &locator {
            locator.deactivate(category);
        }
        locator.is_some()
    }

    /// The locator of a category.
    #[doc(alias = "findServantLocator")]
    pub fn find_locator(&self, category: &str) -> Option<Arc<dyn ServantLocator>> {
        self.core.servants().locator(category)
    }

    /// Wraps every dispatch that begins from now on. The new interceptor is the innermost.
    pub fn intercept(&self, interceptor: impl DispatchInterceptor) {
        let mut servants = self.core.servants_mut();
        push_interceptor(&mut servants.interceptors, Arc::new(interceptor));
    }

    /// A proxy to an object of this adapter. The object need not have a servant.
    pub fn proxy(&self, identity: Identity) -> Proxy {
        self.proxy_with_facet(identity, "")
    }

    /// Starts to accept connections, or goes on after [`Adapter::hold`]. Further calls do nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime, unless the communicator is blocking.
    pub fn activate(&self) {
        let tasks = self.communicator.core().environment().tasks();
        let mut state = self.core.lock_state();
        let is_active = !state.is_deactivated;
        self.core.is_active.store(is_active, Ordering::Relaxed);
        self.core.release(&mut state);
        for listener in std::mem::take(&mut state.listeners) {
            let core = Arc::downgrade(&self.core);
            let settings = self.core.settings.clone();
            let is_held = self.core.is_held.subscribe();
            let accepting = accepting::accept(listener, core, settings, is_held);
            let accepting = tasks.runtime().spawn(accepting);
            state.accepting.push(accepting.abort_handle());
            // The communicator's shutdown waits until the port is free again.
            tasks.spawn(async move {
                let _ = accepting.await;
            });
        }
    }

    /// Stops reading. The connections of the adapter begin no more dispatches and read no further, and no more connections
    /// are accepted, so the peers have to wait. Dispatches under way end, and their replies leave. [`Adapter::activate`]
    /// goes on where the adapter stopped, and loses nothing. [`Adapter::deactivate`] ends the hold, too.
    ///
    /// A connection that is given the adapter ([`Connection::set_adapter`]) stops at the first request of its peer, and
    /// the replies behind that request wait as well. Calls within the communicator skip the wire and are not held.
    /// Datagrams wait as long as the system has room for them.
    pub fn hold(&self) {
        self.core.hold();
    }

    /// Stops accepting connections, frees the ports, and closes the accepted connections. Each connection finishes what
    /// it has begun. The call does not wait. Requests that get no reply after this are surely not executed. The locator
    /// is not notified.
    pub fn deactivate(&self) {
        self.core.deactivate();
        for connection in self.connections() {
            connection.close();
        }
    }

    /// Deactivates the adapter, waits until its connections are closed and their dispatches have ended, and releases
    /// the servants. It waits at most twice the close timeout. A servant of this adapter must not wait for it.
    ///
    /// If the adapter is registered with the locator, it is unregistered first. That, too, takes at most the close
    /// timeout.
    pub async fn destroy(&self) {
        self.unregister().await;
        let connections = self.connections();
        self.deactivate();
        // Another task may have registered the adapter since. From here on no task can.
        self.unregister().await;
        for connection in connections {
            connection.closed().await;
        }
        // Accepted requests without a reply, such as the rest of a batch, must still find their servants.
        let limit = self.core.settings.close_timeout;
        let _ = timeout(limit, self.core.idle()).await;
        self.core.end();
        self.communicator.core().forget_adapter(&self.core);
    }

    fn connections(&self) -> Vec<Arc<ConnectionCore>> {
        let mut connections = self.communicator.core().connections().live();
        connections.retain(|connection| connection.is_of(&self.core));
        connections
    }

    pub(crate) fn core(&self) -> &Arc<AdapterCore> {
        &self.core
    }

    pub(crate) fn from_core(core: Arc<AdapterCore>, communicator: Communicator) -> Self {
        Self { core, communicator }
    }

    fn proxy_with_facet(&self, identity: Identity, facet: &str) -> Proxy {
        let target = match &self.core.names {
            Some(names) => Target::Indirect {
                adapter_id: names.published().to_owned(),
            },
            None => Target::Direct(self.published_endpoints()),
        };
        let mut reference = Reference::new(identity, target);
        facet.clone_into(&mut reference.facet);
        self.communicator.proxy_from(reference)
    }
}

/// Parses the endpoints to listen on.
pub(crate) fn endpoints_of(text: &str) -> Result<Vec<Endpoint>, AdapterError> {
    parsed_of(text, parse_endpoints)
}

fn parsed_of(
    text: &str,
    parse: fn(&str) -> Result<Vec<Endpoint>, ParseReferenceError>,
) -> Result<Vec<Endpoint>, AdapterError> {
    parse(text).map_err(|source| AdapterError::Endpoints {
        endpoints: text.to_owned(),
        source,
    })
}

/// Endpoints, and the compressions that are offered at them.
fn with_offer(mut endpoints: Vec<Endpoint>, communicator: &Communicator) -> Vec<Endpoint> {
    let offer = offer(&communicator.settings().compressions, &endpoints);
    endpoints.extend(offer);
    endpoints
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adapter")
            .field("endpoints", &self.core.bound)
            .finish_non_exhaustive()
    }
}

fn cannot_listen(endpoint: &Endpoint, error: std::io::Error) -> AdapterError {
    let endpoint = endpoint.to_string();
    match error.kind() {
        std::io::ErrorKind::Unsupported => AdapterError::UnsupportedEndpoint { endpoint },
        _ => AdapterError::Listen {
            endpoint,
            source: Arc::new(error),
        },
    }
}

/// Making adapters.
impl Communicator {
    /// Makes an adapter that listens on these endpoints, such as `tcp -h 127.0.0.1 -p 4061`; port 0 picks a free one.
    /// It listens immediately, and accepts connections once it is activated.
    ///
    /// # Errors
    /// [`AdapterError`] if the text is not a list of endpoints, or the system refuses to listen.
    #[doc(alias = "createObjectAdapterWithEndpoints")]
    pub async fn adapter(&self, endpoints: &str) -> Result<Adapter, AdapterError> {
        self.adapter_with(endpoints, AdapterSettings::default())
            .await
    }

    /// Makes an adapter with settings of its own, such as limits, or the id by which a locator finds it.
    ///
    /// # Errors
    /// See [`Communicator::adapter`].
    pub async fn adapter_with(
        &self,
        endpoints: &str,
        settings: AdapterSettings,
    ) -> Result<Adapter, AdapterError> {
        let adapter = Adapter::bind(self, endpoints_of(endpoints)?, settings).await?;
        self.core().add_adapter(adapter.core().clone());
        if self.core().is_shut_down() {
            adapter.core().end();
            self.core().forget_adapter(adapter.core());
            return Err(AdapterError::Shutdown);
        }
        Ok(adapter)
    }

    /// Makes an adapter without endpoints. Peers reach it only over a connection to which it is attached
    /// ([`Connection::set_adapter`](crate::Connection::set_adapter)). Use it in clients that servers call back. You
    /// need not activate it.
    ///
    /// # Errors
    /// [`AdapterError::Shutdown`].
    #[doc(alias = "createObjectAdapter")]
    pub async fn adapter_without_endpoints(&self) -> Result<Adapter, AdapterError> {
        self.adapter("").await
    }
}

impl Current {
    /// The adapter that dispatches the requests of a connection.
    pub fn adapter(&self) -> Adapter {
        let communicator = Communicator::from_owner(self.origin.owner().clone());
        Adapter {
            core: self.origin.adapter().clone(),
            communicator: communicator.expect("the owner of an adapter is a communicator"),
        }
    }
}

impl Connection {
    /// The adapter whose servants answer the peer's requests.
    #[doc(alias = "getAdapter")]
    pub fn adapter(&self) -> Option<Adapter> {
        let core = self.core().adapter()?;
        let communicator = Communicator::from_owner(core.owner()?)?;
        Some(Adapter { core, communicator })
    }

    /// Makes an adapter answer the requests that the peer sends from now on. With `None`, every request gets
    /// `ObjectNotExist`. An adapter without endpoints ([`Communicator::adapter_without_endpoints`]) will do, and you
    /// need not activate it.
    #[doc(alias = "setAdapter")]
    pub fn set_adapter(&self, adapter: Option<&Adapter>) {
        self.core().set_adapter(adapter.map(Adapter::core));
    }
}
