//! Registers an adapter with a locator.

use std::time::Duration;

use floe_wire::reference::{Identity, Reference, Target};
use tokio::time::timeout;

use super::Adapter;
use crate::contracts::ice::{
    AdapterAlreadyActiveOrAdapterNotFoundError as SetError,
    AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError as SetReplicatedError,
    LocatorProxy, LocatorRegistryProxy,
};
use crate::dispatch::AdapterNames;
use crate::error::{AdapterError, RegistrationError};
use crate::proxy::{Proxy, TypedProxy};

/// Limit of a call to the registry when invocations have no timeout: the start of a server must not hang.
const REGISTRY_TIMEOUT: Duration = Duration::from_secs(10);

impl Adapter {
    /// Registers this adapter with the communicator's locator ([`Settings::locator`](crate::Settings::locator)), so
    /// that proxies which name its id ([`AdapterSettings::adapter_id`](crate::settings::AdapterSettings::adapter_id)) lead here.
    /// Ice registers an adapter whenever it is activated. With Floe, call this after [`Adapter::activate`], and again
    /// after [`Adapter::publish`].
    ///
    /// Without an id or a locator, there is nothing to do. Registering makes two calls; each takes the invocation
    /// timeout at most, or 10 s if there is none. If the future is dropped, the adapter may or may not be registered.
    /// [`Adapter::destroy`] and [`Communicator::shutdown`](crate::Communicator::shutdown) unregister it in either case,
    /// and so does [`Adapter::unregister`].
    ///
    /// # Errors
    /// [`AdapterError::Registration`], or [`AdapterError::Deactivated`].
    pub async fn register(&self) -> Result<(), AdapterError> {
        let (Some(names), Some(locator)) = (self.core.names.as_ref(), self.locator()) else {
            return Ok(());
        };
        // Hold the lock until the locator has answered, so that a task which ends the adapter meanwhile has the last
        // word.
        let mut is_registered = self.core.is_registered.lock().await;
        if self.core.is_deactivated() {
            return Err(AdapterError::Deactivated);
        }
        let own = self.direct_proxy(Identity::new("dummy"));
        // Set before the call: the adapter must be unregistered even if this future is dropped, or if only an earlier
        // call succeeded.
        let was_registered = std::mem::replace(&mut *is_registered, true);
        let update = self.update_registry(&locator, names, Some(&own)).await;
        let may_be_registered = match &update {
            Ok(was_updated) => *was_updated,
            Err(error) => error.may_be_registered(),
        };
        *is_registered = was_registered || may_be_registered;
        match update {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::warn!(
                    "the locator {locator} has no registry, so clients cannot find adapter \"{}\" through it",
                    names.id
                );
                Ok(())
            }
            Err(source) => Err(AdapterError::Registration {
                adapter_id: names.id.clone(),
                locator: locator.to_string(),
                source: Box::new(source),
            }),
        }
    }

    /// Unregisters the adapter from the locator, if it was registered. It waits for the locator up to the close
    /// timeout, and logs a warning if the locator did not answer. If the future is dropped, call it again.
    pub async fn unregister(&self) {
        let (Some(names), Some(locator)) = (self.core.names.as_ref(), self.locator()) else {
            return;
        };
        let mut is_registered = self.core.is_registered.lock().await;
        if !*is_registered {
            return;
        }
        let limit = self.communicator.settings().close_timeout;
        let id = &names.id;
        match timeout(limit, self.update_registry(&locator, names, None)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!("could not unregister adapter \"{id}\" from the locator: {error}");
            }
            Err(_) => {
                tracing::warn!(
                    "could not unregister adapter \"{id}\" from the locator within {limit:?}"
                );
            }
        }
        *is_registered = false;
    }

    /// Registers the adapter with the registry of a locator, or unregisters it. Returns false if there is no registry.
    async fn update_registry(
        &self,
        locator: &LocatorProxy,
        names: &AdapterNames,
        proxy: Option<&Proxy>,
    ) -> Result<bool, RegistrationError> {
        let registry = locator.get_registry().await;
        let Some(registry) = registry.map_err(RegistrationError::Invoke)? else {
            return Ok(false);
        };
        let registry = LocatorRegistryProxy::from_proxy(
            registry
                .as_proxy()
                .ice_timeout(Some(self.registry_timeout())),
        );
        let update = match &names.replica_group_id {
            None => {
                let set = registry.set_adapter_direct_proxy(&names.id, proxy).await;
                set.map_err(|error| match error {
                    SetError::AdapterNotFoundException(_) => RegistrationError::UnknownAdapter,
                    SetError::AdapterAlreadyActiveException(_) => RegistrationError::AlreadyActive,
                    SetError::Invoke(error) => RegistrationError::Invoke(error),
                })
            }
            Some(group) => {
                let set = registry.set_replicated_adapter_direct_proxy(&names.id, group, proxy);
                set.await.map_err(|error| match error {
                    SetReplicatedError::AdapterNotFoundException(_) => {
                        RegistrationError::UnknownAdapter
                    }
                    SetReplicatedError::AdapterAlreadyActiveException(_) => {
                        RegistrationError::AlreadyActive
                    }
                    SetReplicatedError::InvalidReplicaGroupIdException(_) => {
                        RegistrationError::UnknownReplicaGroup { id: group.clone() }
                    }
                    SetReplicatedError::Invoke(error) => RegistrationError::Invoke(error),
                })
            }
        };
        update.map(|()| true)
    }

    fn locator(&self) -> Option<LocatorProxy> {
        let locator = self.communicator.settings().locator.clone()?;
        let locator = Proxy::new(locator, Some(self.communicator.clone())).ice_twoway();
        let locator = locator.ice_timeout(Some(self.registry_timeout()));
        Some(LocatorProxy::from_proxy(locator))
    }

    fn registry_timeout(&self) -> Duration {
        let timeout = self.communicator.settings().invocation_timeout;
        timeout.unwrap_or(REGISTRY_TIMEOUT)
    }

    /// Returns true if proxies that name this id lead here: it is the id of the adapter, or of its replica group.
    pub fn is_named(&self, adapter_id: &str) -> bool {
        self.core.is_named(adapter_id)
    }

    /// A proxy to an object of this adapter that contains its endpoints, whatever a locator knows.
    #[doc(alias = "createDirectProxy")]
    pub fn direct_proxy(&self, identity: Identity) -> Proxy {
        let target = Target::Direct(self.published_endpoints());
        self.communicator
            .proxy_from(Reference::new(identity, target))
    }

    /// A proxy to an object of this adapter that names the adapter's own id, even if the adapter is in a replica group.
    /// Without an id it is the same as [`Adapter::proxy`].
    #[doc(alias = "createIndirectProxy")]
    pub fn indirect_proxy(&self, identity: Identity) -> Proxy {
        let Some(names) = &self.core.names else {
            return self.proxy(identity);
        };
        let adapter_id = names.id.clone();
        self.communicator
            .proxy_from(Reference::new(identity, Target::Indirect { adapter_id }))
    }
}
