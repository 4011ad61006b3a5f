//! The servants of an adapter, and the look-up for a request, which a connection caches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Weak};

use floe_wire::message::{IncomingRequest, RequestFailed, SystemException};
use floe_wire::reference::Identity;

use super::interceptor::{DispatchInterceptor, DispatchInterceptors, NextDispatch};
use super::servant_locator::{LocatingDispatcher, ServantLocator};
use super::{DispatchSlot, Dispatcher, RequestParts, Requests};
use crate::error::AdapterError;

/// Servants by identity and facet, and default servants by category.
///
/// A request goes to the first of these that exists: the servant of its identity and facet, the default servant of its
/// category, the default servant of the empty category, the locator of its category, the locator of the empty category.
///
/// The table is changed under a lock. It never drops a servant itself, because the servant's destructor may use the
/// table again.
#[derive(Default)]
pub(crate) struct Servants {
    /// Servants of identities without a category: nearly all.
    uncategorized: Names,
    /// Servants by category, name and facet, so that a look-up needs no owned identity.
    by_category: HashMap<String, Names>,
    defaults: HashMap<String, Arc<dyn Dispatcher>>,
    locators: HashMap<String, Arc<dyn ServantLocator>>,
    /// The interceptors that wrap every dispatch.
    pub(crate) interceptors: DispatchInterceptors,
}

type Names = HashMap<String, Facets>;

/// Few objects have more than one facet: a list is the fastest map.
pub(crate) type Facets = Vec<(String, Arc<dyn Dispatcher>)>;

impl Servants {
    pub(crate) fn add(
        &mut self,
        identity: &Identity,
        facet: &str,
        servant: &Arc<dyn Dispatcher>,
    ) -> Result<(), AdapterError> {
        let names = match &*identity.category {
            "" => &mut self.uncategorized,
            category => self.by_category.entry(category.to_owned()).or_default(),
        };
        let facets = names.entry(identity.name.clone()).or_default();
        if facets.iter().any(|(known, _)| known == facet) {
            let what = match facet {
                "" => format!("\"{identity}\""),
                facet => format!("facet \"{facet}\" of \"{identity}\""),
            };
            return Err(AdapterError::AlreadyRegistered { what });
        }
        facets.push((facet.to_owned(), servant.clone()));
        Ok(())
    }

    pub(crate) fn add_default(
        &mut self,
        category: &str,
        servant: &Arc<dyn Dispatcher>,
    ) -> Result<(), AdapterError> {
        match self.defaults.entry(category.to_owned()) {
            Entry::Occupied(_) => {
                let what = format!("all identities of category \"{category}\"");
                Err(AdapterError::AlreadyRegistered { what })
            }
            Entry::Vacant(entry) => {
                entry.insert(servant.clone());
                Ok(())
            }
        }
    }

    pub(crate) fn remove(
        &mut self,
        identity: &Identity,
        facet: &str,
    ) -> Option<Arc<dyn Dispatcher>> {
        let names = self.names_mut(&identity.category)?;
        let facets = names.get_mut(&identity.name)?;
        let at = facets.iter().position(|(known, _)| known == facet)?;
        let (_, removed) = facets.remove(at);
        if facets.is_empty() {
            names.remove(&identity.name);
        }
        if names.is_empty() {
            self.by_category.remove(&identity.category);
        }
        Some(removed)
    }

    pub(crate) fn remove_default(&mut self, category: &str) -> Option<Arc<dyn Dispatcher>> {
        self.defaults.remove(category)
    }

    /// Removes all facets of an identity.
    pub(crate) fn remove_all(&mut self, identity: &Identity) -> Facets {
        let Some(names) = self.names_mut(&identity.category) else {
            return Facets::new();
        };
        let facets = names.remove(&identity.name).unwrap_or_default();
        if names.is_empty() {
            self.by_category.remove(&identity.category);
        }
        facets
    }

    /// All facets of an identity.
    pub(crate) fn facets(&self, identity: &Identity) -> Facets {
        let names = self.names(&identity.category);
        let facets = names.and_then(|names| names.get(&identity.name));
        facets.cloned().unwrap_or_default()
    }

    pub(crate) fn default_servant(&self, category: &str) -> Option<Arc<dyn Dispatcher>> {
        self.defaults.get(category).cloned()
    }

    pub(crate) fn add_locator(
        &mut self,
        category: &str,
        locator: &Arc<dyn ServantLocator>,
    ) -> Result<(), AdapterError> {
        match self.locators.entry(category.to_owned()) {
            Entry::Occupied(_) => {
                let what = format!("all identities of category \"{category}\", as a locator");
                Err(AdapterError::AlreadyRegistered { what })
            }
            Entry::Vacant(entry) => {
                entry.insert(locator.clone());
                Ok(())
            }
        }
    }

    pub(crate) fn remove_locator(&mut self, category: &str) -> Option<Arc<dyn ServantLocator>> {
        self.locators.remove(category)
    }

    pub(crate) fn locator(&self, category: &str) -> Option<Arc<dyn ServantLocator>> {
        self.locators.get(category).cloned()
    }

    /// Deactivates all locators.
    pub(crate) fn deactivate_locators(&self) {
        for (category, locator) in &self.locators {
            locator.deactivate(category);
        }
    }

    fn names(&self, category: &str) -> Option<&Names> {
        match category {
            "" => Some(&self.uncategorized),
            category => self.by_category.get(category),
        }
    }

    fn names_mut(&mut self, category: &str) -> Option<&mut Names> {
        match category {
            "" => Some(&mut self.uncategorized),
            category => self.by_category.get_mut(category),
        }
    }

    /// The servant of a request, behind all interceptors.
    pub(crate) fn find(
        &self,
        request: &IncomingRequest,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let servant = self.find_servant(request);
        match &self.interceptors {
            None => servant.map_err(|missing| missing.with_target(&request.target())),
            Some(interceptors) => Ok(Arc::new(InterceptedServant {
                interceptors: interceptors.clone(),
                servant,
            })),
        }
    }

    /// The errors name no target, because an entry found here also serves other operations.
    fn find_servant(
        &self,
        request: &IncomingRequest,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let names = self.names(request.category());
        let facets = names.and_then(|names| names.get(request.name()));
        let servant = facets.and_then(|facets| {
            facets
                .iter()
                .find(|(facet, _)| is_same(facet, request.facet()))
                .map(|(_, servant)| servant)
        });
        let servant = servant
            .or_else(|| self.defaults.get(request.category()))
            .or_else(|| self.defaults.get(""));
        if let Some(servant) = servant {
            return Ok(servant.clone());
        }
        let missing = match facets {
            Some(_) => SystemException::FacetNotExist(RequestFailed::default()),
            None => SystemException::ObjectNotExist(RequestFailed::default()),
        };
        let locator = self.locators.get(request.category());
        match locator.or_else(|| self.locators.get("")) {
            Some(locator) => Ok(Arc::new(LocatingDispatcher {
                locator: locator.clone(),
                missing,
            })),
            None => Err(missing),
        }
    }
}

/// A servant behind the interceptors of its adapter.
struct InterceptedServant {
    interceptors: Arc<[Arc<dyn DispatchInterceptor>]>,
    servant: Result<Arc<dyn Dispatcher>, SystemException>,
}

impl Dispatcher for InterceptedServant {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let next = NextDispatch::new(self.interceptors.clone(), self.servant.clone());
            next.dispatch(request)
        });
    }
}

/// Returns true if two texts are equal.
///
/// Most categories and facets are empty, and an empty string has a dangling pointer. The comparison of some C libraries
/// reads there anyway, under a mask, which stalls processors for a hundred nanoseconds.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

/// The dispatcher found last, for further requests to the same object. Only its adapter keeps it alive.
#[derive(Default)]
pub(crate) struct ServantCache {
    dispatcher: Option<Weak<dyn Dispatcher>>,
    /// The version of the adapter's servants at the time of the look-up.
    version: u64,
    /// Identity and facet as encoded on the wire.
    target: Vec<u8>,
}

impl ServantCache {
    /// Finds the dispatcher of a request.
    #[inline]
    pub(crate) fn find(
        &mut self,
        parts: &RequestParts,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let adapter = parts.current.origin.adapter();
        // Read before the look-up, so that a change during the look-up is found the next time.
        let version = adapter.servants_version();
        let request = &parts.current.request;
        if self.version == version
            && self.target == request.target_bytes()
            && let Some(known) = self.dispatcher.as_ref().and_then(Weak::upgrade)
        {
            return Ok(known);
        }
        let dispatcher = adapter.servants().find(request)?;
        self.dispatcher = Some(Arc::downgrade(&dispatcher));
        self.version = version;
        self.target.clear();
        self.target.extend_from_slice(request.target_bytes());
        Ok(dispatcher)
    }

    /// Returns the version of the adapter's servants at the time of the look-up.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn forget(&mut self) {
        self.dispatcher = None;
    }
}
