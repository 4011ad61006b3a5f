//! Which servant a request is for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use floe_wire::message::{IncomingRequest, SystemException};
use floe_wire::reference::Identity;

use super::Dispatcher;
use crate::error::AdapterError;

/// Servants by identity and facet, and default servants by category.
///
/// A request goes to the servant of its identity and facet, else to the default servant of its
/// category, else to that of the empty category.
#[derive(Default)]
pub(crate) struct Servants {
    /// By category, name and facet, so that a look-up needs no owned identity.
    by_category: HashMap<String, HashMap<String, Facets>>,
    defaults: HashMap<String, Arc<dyn Dispatcher>>,
}

/// Few objects have more than one facet: a list is the fastest map.
type Facets = Vec<(String, Arc<dyn Dispatcher>)>;

impl Servants {
    pub(super) fn add(
        &mut self,
        identity: &Identity,
        facet: &str,
        servant: Arc<dyn Dispatcher>,
    ) -> Result<(), AdapterError> {
        let names = self
            .by_category
            .entry(identity.category.clone())
            .or_default();
        let facets = names.entry(identity.name.clone()).or_default();
        if facets.iter().any(|(known, _)| known == facet) {
            let what = match facet {
                "" => format!("\"{identity}\""),
                facet => format!("facet \"{facet}\" of \"{identity}\""),
            };
            return Err(AdapterError::AlreadyRegistered { what });
        }
        facets.push((facet.to_owned(), servant));
        Ok(())
    }

    pub(super) fn add_default(
        &mut self,
        category: &str,
        servant: Arc<dyn Dispatcher>,
    ) -> Result<(), AdapterError> {
        match self.defaults.entry(category.to_owned()) {
            Entry::Occupied(_) => {
                let what = format!("all identities of category \"{category}\"");
                Err(AdapterError::AlreadyRegistered { what })
            }
            Entry::Vacant(entry) => {
                entry.insert(servant);
                Ok(())
            }
        }
    }

    pub(super) fn remove(&mut self, identity: &Identity, facet: &str) -> bool {
        let Some(names) = self.by_category.get_mut(&identity.category) else {
            return false;
        };
        let Some(facets) = names.get_mut(&identity.name) else {
            return false;
        };
        let count = facets.len();
        facets.retain(|(known, _)| known != facet);
        let is_removed = facets.len() < count;
        if facets.is_empty() {
            names.remove(&identity.name);
        }
        if names.is_empty() {
            self.by_category.remove(&identity.category);
        }
        is_removed
    }

    pub(super) fn remove_default(&mut self, category: &str) -> bool {
        self.defaults.remove(category).is_some()
    }

    pub(super) fn find(
        &self,
        request: &IncomingRequest,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let names = self.by_category.get(request.category());
        let facets = names.and_then(|names| names.get(request.name()));
        let servant = facets.and_then(|facets| {
            facets
                .iter()
                .find(|(facet, _)| facet == request.facet())
                .map(|(_, servant)| servant)
        });
        let servant = servant
            .or_else(|| self.defaults.get(request.category()))
            .or_else(|| self.defaults.get(""));
        servant.cloned().ok_or_else(|| match facets {
            Some(_) => SystemException::FacetNotExist(request.target()),
            None => SystemException::ObjectNotExist(request.target()),
        })
    }
}
