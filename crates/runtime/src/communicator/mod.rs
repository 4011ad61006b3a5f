//! The communicator: it owns what the proxies, adapters and connections of a program share.
//!
//! It joins its parts and hands them out. `crate::proxy` makes proxies of it, `crate::adapter` makes adapters, and
//! `crate::shutdown` ends it. `batches.rs` has the proxies that have collected requests.

mod batches;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use floe_wire::reference::{Reference, Target};

pub(crate) use batches::{Batches, CollectedBatch, FlushFuture};

use crate::connection::Connections;
use crate::dispatch::AdapterCore;
use crate::environment::{Environment, Owner};
use crate::implicit_context::ImplicitContext;
use crate::locator_cache::LocatorCache;
use crate::router::Routers;
use crate::settings::Settings;
use crate::transport::ListeningPlace;

/// Makes proxies and adapters; a clone is the same communicator.
///
/// Use it inside a tokio runtime. It owns its adapters: they serve until it is shut down, or until its last clone,
/// proxy and [`Adapter`](crate::Adapter) handle is gone. Then its connections close, too. [`Communicator::shutdown`]
/// does this in order and waits for it. (A servant that holds a proxy or an adapter of its own communicator keeps the
/// communicator alive until the shutdown.)
#[derive(Clone)]
#[doc(alias = "Ice.Communicator")]
pub struct Communicator {
    core: Arc<CommunicatorCore>,
}

impl Communicator {
    /// Makes a communicator with default settings.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// Makes a communicator with other settings.
    pub fn with_settings(settings: Settings) -> Self {
        Self {
            core: CommunicatorCore::new(settings, false),
        }
    }

    /// Makes a communicator whose callers and own threads do the reading and writing.
    pub(crate) fn blocking(settings: Settings) -> Self {
        Self {
            core: CommunicatorCore::new(settings, true),
        }
    }

    /// The communicator's limits and timeouts.
    pub fn settings(&self) -> &Arc<Settings> {
        self.core.environment.settings()
    }

    /// How many compressed streams its connections have now; [`Settings::compression_streams_max`] limits them.
    pub fn compression_streams(&self) -> usize {
        self.core.environment.compression_streams().open()
    }

    /// The context that is sent with each request of each proxy.
    #[doc(alias = "getImplicitContext")]
    pub fn implicit_context(&self) -> &ImplicitContext {
        &self.core.implicit_context
    }

    /// The handle by which the communicator's parts hold it.
    pub(crate) fn owner(&self) -> Weak<Owner> {
        let owner: Weak<CommunicatorCore> = Arc::downgrade(&self.core);
        owner
    }

    pub(crate) fn core(&self) -> &Arc<CommunicatorCore> {
        &self.core
    }

    /// The communicator behind the handle that its parts hold; `None` if the handle is of another type.
    pub(crate) fn from_owner(owner: Arc<Owner>) -> Option<Self> {
        let core = owner.downcast().ok()?;
        Some(Self { core })
    }

    /// The communicator that a decoder has as its context.
    pub(crate) fn of_context(context: &Owner) -> Option<Self> {
        match context.downcast_ref::<CommunicatorCore>() {
            Some(core) => core.own.upgrade().map(|core| Self { core }),
            None => context.downcast_ref::<Self>().cloned(),
        }
    }
}

impl Default for Communicator {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}

/// State that all clones of a communicator share.
pub(crate) struct CommunicatorCore {
    own: Weak<Self>,
    environment: Arc<Environment>,
    connections: Arc<Connections>,
    locator_cache: LocatorCache,
    routers: Routers,
    adapters: Mutex<Vec<Arc<AdapterCore>>>,
    /// Those of the adapters that have endpoints or names. Each subscription over its own connection has an adapter without
    /// either, and a call must not look at thousands of them.
    addressed: Mutex<Vec<Arc<AdapterCore>>>,
    /// True once the communicator has had an adapter. Before that, no call is collocated.
    has_adapters: AtomicBool,
    implicit_context: ImplicitContext,
    batches: Batches,
}

impl CommunicatorCore {
    fn new(settings: Settings, is_blocking: bool) -> Arc<Self> {
        let environment = Arc::new(Environment::new(settings, is_blocking));
        Arc::new_cyclic(|own: &Weak<Self>| Self {
            own: own.clone(),
            connections: Arc::new(Connections::new(environment.clone(), own.clone())),
            environment,
            locator_cache: LocatorCache::default(),
            routers: Routers::default(),
            adapters: Mutex::default(),
            addressed: Mutex::default(),
            has_adapters: AtomicBool::new(false),
            implicit_context: ImplicitContext::default(),
            batches: Batches::default(),
        })
    }

    pub(crate) fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        self.environment.settings()
    }

    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Returns the cache of the locator's answers about objects and adapters.
    pub(crate) fn locator_cache(&self) -> &LocatorCache {
        &self.locator_cache
    }

    /// The state of its routers.
    pub(crate) fn routers(&self) -> &Routers {
        &self.routers
    }

    pub(crate) fn batches(&self) -> &Batches {
        &self.batches
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.environment.is_shut_down()
    }

    pub(crate) fn add_adapter(&self, adapter: Arc<AdapterCore>) {
        if adapter.has_address() {
            self.note_addressed(&adapter);
        }
        self.adapters().push(adapter);
        self.has_adapters.store(true, Ordering::Relaxed);
    }

    /// Notes that an adapter has endpoints or names, so that calls look there for their objects.
    pub(crate) fn note_addressed(&self, adapter: &Arc<AdapterCore>) {
        let mut addressed = self.addressed();
        if !addressed.iter().any(|known| Arc::ptr_eq(known, adapter)) {
            addressed.push(adapter.clone());
        }
    }

    pub(crate) fn forget_adapter(&self, adapter: &Arc<AdapterCore>) {
        self.adapters().retain(|known| !Arc::ptr_eq(known, adapter));
        self.addressed()
            .retain(|known| !Arc::ptr_eq(known, adapter));
    }

    /// The adapter that holds an object, if it is one of this communicator's.
    pub(crate) fn adapter_of(&self, reference: &Reference) -> Option<Arc<AdapterCore>> {
        if !self.has_adapters.load(Ordering::Relaxed) {
            return None;
        }
        let adapters = match reference.target {
            // Any adapter may have its servant.
            Target::WellKnown => self.adapters(),
            Target::Direct(_) | Target::Indirect { .. } => self.addressed(),
        };
        let mut hosts = adapters.iter().filter(|a| a.hosts(reference));
        hosts.next().cloned()
    }

    fn addressed(&self) -> MutexGuard<'_, Vec<Arc<AdapterCore>>> {
        self.addressed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an adapter that refuses calls by given proxies listens at such a place.
    pub(crate) fn refuses_given_at(&self, is_there: &dyn Fn(&ListeningPlace) -> bool) -> bool {
        let adapters = self.adapters();
        let mut refusing = adapters.iter().filter(|it| it.refuses_given());
        refusing.any(|adapter| adapter.places.iter().any(is_there))
    }

    pub(crate) fn adapters(&self) -> MutexGuard<'_, Vec<Arc<AdapterCore>>> {
        self.adapters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end_adapters(&self) {
        let adapters = std::mem::take(&mut *self.adapters());
        self.addressed().clear();
        for adapter in adapters {
            adapter.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::dispatch_fn;
    use crate::proxy::TypedProxy;

    #[tokio::test]
    async fn calls_look_only_at_adapters_to_which_a_proxy_can_lead() {
        let communicator = Communicator::new();
        let bare = communicator.adapter_without_endpoints().await.unwrap();
        let listening = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let addressed_count = || communicator.core().addressed().len();
        assert_eq!(addressed_count(), 1);
        // Nothing listens there, so the call arrives only if it does not leave the communicator.
        bare.publish("tcp -h 127.0.0.1 -p 1").unwrap();
        bare.publish("tcp -h 127.0.0.1 -p 2").unwrap();
        assert_eq!(addressed_count(), 2);
        let object = bare.add("object", dispatch_fn(|request| request.returned_nothing()));
        bare.activate();
        object.unwrap().ice_ping().await.unwrap();
        bare.destroy().await;
        listening.destroy().await;
        assert_eq!(addressed_count(), 0);
    }
}
