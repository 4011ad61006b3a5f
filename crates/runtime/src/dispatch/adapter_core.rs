//! State that all handles and connections of an adapter share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use floe_wire::reference::{Endpoint, Reference, Target};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::adapter_budget::AdapterBudget;
use super::adapter_names::AdapterNames;
use super::hold::Hold;
use super::servants::Servants;
use crate::admission::{Admissions, Counters};
use crate::environment::{Environment, Owner};
use crate::settings::Settings;
use crate::transport::{Listener, ListeningPlace};

/// State that all clones of an adapter share.
pub(crate) struct AdapterCore {
    pub(crate) environment: Arc<Environment>,
    /// The communicator; gone once the program holds no handle by which it could use the adapter.
    pub(crate) owner: Weak<Owner>,
    /// The listening endpoints, with the ports that the system picked.
    pub(crate) bound: Vec<Endpoint>,
    /// One of these for each endpoint that listens at all addresses.
    pub(crate) wildcards: Vec<Endpoint>,
    /// Where it listens.
    pub(crate) places: Vec<ListeningPlace>,
    /// True if proxies that peers have given must not lead here.
    pub(crate) refuses_given: AtomicBool,
    /// The endpoints in proxies. The lock is held for a copy.
    pub(crate) published: RwLock<Vec<Endpoint>>,
    /// Guards the map of servants. Held for a look-up or a change, never across a wait.
    pub(crate) servants: RwLock<Servants>,
    /// Changes with the map.
    pub(crate) servants_version: AtomicU64,
    /// The settings of its communicator, except where the adapter has its own.
    pub(crate) settings: Arc<Settings>,
    /// The names by which a locator finds the adapter.
    pub(crate) names: Option<AdapterNames>,
    /// True if the adapter may be registered with a locator. Held during a registration.
    pub(crate) is_registered: tokio::sync::Mutex<bool>,
    pub(crate) admissions: Arc<Admissions>,
    pub(crate) counters: Counters,
    /// Limits the dispatches of all connections of the adapter together.
    pub(crate) budget: Arc<AdapterBudget>,
    /// True once the adapter accepts connections and dispatches collocated calls.
    pub(crate) is_active: AtomicBool,
    /// True if it accepts no connections for now; changes while the state is locked.
    pub(crate) is_held: watch::Sender<bool>,
    pub(crate) state: Mutex<ListenState>,
}

/// The listening sockets before activation, and the accepting tasks afterwards.
#[derive(Default)]
pub(crate) struct ListenState {
    pub(crate) listeners: Vec<Box<dyn Listener>>,
    pub(crate) accepting: Vec<AbortHandle>,
    pub(crate) is_deactivated: bool,
    /// There while the adapter is held.
    pub(crate) hold: Option<Hold>,
}

impl AdapterCore {
    /// Returns true if one of these stream endpoints is a bound or a published endpoint.
    pub(crate) fn publishes_any(&self, endpoints: &[Endpoint]) -> bool {
        let published = self
            .published
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let is_own = |e: &Endpoint| self.bound.contains(e) || published.contains(e);
        endpoints.iter().any(|e| !e.is_datagram() && is_own(e))
    }

    /// Returns true if proxies that peers have given must not lead here.
    pub(crate) fn refuses_given(&self) -> bool {
        self.refuses_given.load(Ordering::Relaxed)
    }

    /// Waits until all dispatches of requests from connections have ended.
    pub(crate) async fn idle(&self) {
        let _ = self.budget.take_all().await;
    }

    /// Returns true if the object of this reference is in this adapter and has a servant.
    pub(crate) fn hosts(&self, reference: &Reference) -> bool {
        if !self.is_active.load(Ordering::Relaxed) {
            return false;
        }
        match &reference.target {
            Target::Direct(endpoints) => self.publishes_any(endpoints),
            Target::WellKnown => !self.servants().facets(&reference.identity).is_empty(),
            Target::Indirect { adapter_id } => self.is_named(adapter_id),
        }
    }

    /// Returns true if it has endpoints or names, so that proxies with either can lead here.
    pub(crate) fn has_address(&self) -> bool {
        let published = self.published.read();
        let published = published.unwrap_or_else(PoisonError::into_inner);
        self.names.is_some() || !self.bound.is_empty() || !published.is_empty()
    }

    /// Returns true if proxies that name this adapter id lead here.
    pub(crate) fn is_named(&self, adapter_id: &str) -> bool {
        let names = self.names.as_ref();
        names.is_some_and(|names| names.has(adapter_id))
    }

    pub(crate) fn owner(&self) -> Option<Arc<Owner>> {
        self.owner.upgrade()
    }

    /// Deactivates the adapter for good, and releases its servants with everything that they hold.
    pub(crate) fn end(&self) {
        self.deactivate();
        let ended = std::mem::take(&mut *self.servants_mut());
        ended.deactivate_locators();
    }

    pub(crate) fn deactivate(&self) {
        self.is_active.store(false, Ordering::Relaxed);
        let deactivated = ListenState {
            is_deactivated: true,
            ..ListenState::default()
        };
        let state = std::mem::replace(&mut *self.lock_state(), deactivated);
        for accepting in state.accepting {
            accepting.abort();
        }
    }

    /// Lets its connections begin no further dispatch, and accepts none, until it is released or deactivated.
    pub(crate) fn hold(&self) {
        let mut state = self.lock_state();
        if state.is_deactivated || state.hold.is_some() {
            return;
        }
        state.hold = Some(Hold::of(&self.budget));
        self.is_held.send_replace(true);
    }

    /// Ends the hold. `state` is the locked state of the adapter.
    pub(crate) fn release(&self, state: &mut ListenState) {
        state.hold = None;
        self.is_held.send_replace(false);
    }

    pub(crate) fn is_deactivated(&self) -> bool {
        self.lock_state().is_deactivated
    }

    pub(crate) fn servants(&self) -> RwLockReadGuard<'_, Servants> {
        self.servants.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that differs after each change of the servants.
    pub(crate) fn servants_version(&self) -> u64 {
        self.servants_version.load(Ordering::Acquire)
    }

    pub(crate) fn servants_mut(&self) -> RwLockWriteGuard<'_, Servants> {
        let servants = self.servants.write();
        self.servants_version.fetch_add(1, Ordering::Release);
        servants.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_state(&self) -> MutexGuard<'_, ListenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AdapterCore {
    fn drop(&mut self) {
        self.deactivate();
    }
}
