//! The adapters at which a hub listens.

use floe::settings::AdapterSettings;
use floe::{Adapter, Communicator, Endpoint};
use tokio::runtime::Handle;

use crate::error::HubError;
use crate::settings::HubSettings;

/// The adapters of a hub. They stop listening when this is dropped.
pub(super) struct Listeners {
    /// All objects, or those that no other adapter has.
    pub(super) main: Adapter,
    /// Publisher objects, if they have an adapter of their own.
    pub(super) publish: Option<Adapter>,
    /// The administrative object, if there is one.
    pub(super) admin: Option<Adapter>,
}

/// How many requests of one connection may be in dispatch. While a publisher is held back, its connection is read up to
/// this limit, or 256 KiB of events. That is enough to go on without a pause, and few enough that publishers who wait
/// for replies do not wait long behind one that does not.
const DISPATCH_LIMIT: usize = 16;

impl Listeners {
    /// Opens all adapters, or none.
    pub(super) async fn open(
        communicator: &Communicator,
        settings: &HubSettings,
    ) -> Result<Self, HubError> {
        warn_of_names(settings, communicator.settings().locator.is_some());
        let mut listeners = Self {
            main: communicator
                .adapter_with(
                    &settings.listen,
                    limited(settings.main_adapter(), communicator),
                )
                .await?,
            publish: None,
            admin: None,
        };
        match listeners.open_others(communicator, settings).await {
            Ok(()) => Ok(listeners),
            Err(error) => {
                listeners.destroy().await;
                Err(error)
            }
        }
    }

    async fn open_others(
        &mut self,
        communicator: &Communicator,
        settings: &HubSettings,
    ) -> Result<(), HubError> {
        check_answers(&self.main)?;
        publish(&self.main, settings.published_endpoints.as_deref())?;
        if let Some(listen) = &settings.publish_listen {
            let names = limited(settings.publish_adapter(), communicator);
            let adapter = communicator.adapter_with(listen, names);
            self.publish = Some(adapter.await?);
        }
        match &self.publish {
            Some(adapter) => publish(adapter, settings.publish_published_endpoints.as_deref())?,
            None if settings.has_publish_adapter() => return Err(HubError::NothingPublished),
            None => {}
        }
        if let Some(admin) = &settings.admin {
            self.admin = Some(communicator.adapter(&admin.listen).await?);
        }
        Ok(())
    }

    /// Registers the adapters that have an id with the locator. If the locator refuses one, none stays registered.
    ///
    /// # Errors
    /// [`HubError::Adapter`].
    pub(super) async fn register(&self) -> Result<(), HubError> {
        for adapter in self.all() {
            if let Err(error) = adapter.register().await {
                self.unregister().await;
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Removes the adapters from the locator.
    pub(super) async fn unregister(&self) {
        for adapter in self.all() {
            adapter.unregister().await;
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Adapter> {
        let others = [&self.publish, &self.admin].into_iter().flatten();
        std::iter::once(&self.main).chain(others)
    }

    /// Destroys all adapters at the same time, so that the peers of one do not wait for the peers of another.
    pub(super) async fn destroy(&self) {
        let destroy = async |adapter: &Option<Adapter>| {
            if let Some(adapter) = adapter {
                adapter.destroy().await;
            }
        };
        tokio::join!(
            self.main.destroy(),
            destroy(&self.publish),
            destroy(&self.admin)
        );
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        let runtime = Handle::try_current();
        for adapter in self.all() {
            adapter.deactivate();
            if let Ok(runtime) = &runtime {
                let adapter = adapter.clone();
                runtime.spawn(async move { adapter.destroy().await });
            }
        }
    }
}

/// Warns of adapter names that have no effect, as in Ice, or that make proxies which lead nowhere.
fn warn_of_names(settings: &HubSettings, has_locator: bool) {
    for (names, prefix) in [
        (settings.main_adapter(), ""),
        (settings.publish_adapter(), "publish-"),
    ] {
        match (names.adapter_id, names.replica_group_id) {
            (None, Some(group)) => tracing::warn!(
                "{prefix}replica-group-id \"{group}\" has no effect without {prefix}adapter-id"
            ),
            (Some(id), _) if !has_locator => tracing::warn!(
                "proxies of the hub name the adapter \"{id}\", and clients cannot find it without a locator: set one \
                 (--locator), or leave {prefix}adapter-id out"
            ),
            _ => {}
        }
    }
}

/// Adds the limit of dispatches to these settings.
fn limited(settings: AdapterSettings, communicator: &Communicator) -> AdapterSettings {
    let limit = communicator.settings().dispatch_limit.min(DISPATCH_LIMIT);
    let mut settings = settings;
    settings.dispatch_limit = Some(limit);
    settings
}

/// Checks that the hub can answer: a datagram has no reply. Publishers may use udp beside another transport.
fn check_answers(main: &Adapter) -> Result<(), HubError> {
    let endpoints = main.endpoints();
    let is_datagram = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Udp(_));
    match !endpoints.is_empty() && endpoints.iter().all(is_datagram) {
        true => {
            let endpoints: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
            let endpoints = endpoints.join(":");
            Err(HubError::OnlyDatagrams { endpoints })
        }
        false => Ok(()),
    }
}

/// Puts these endpoints into the proxies of an adapter.
fn publish(adapter: &Adapter, endpoints: Option<&str>) -> Result<(), HubError> {
    let Some(endpoints) = endpoints else {
        return Ok(());
    };
    adapter.publish(endpoints)?;
    let leads_nowhere = |endpoint: &Endpoint| {
        endpoint.host().is_some_and(str::is_empty) || endpoint.port() == Some(0)
    };
    let published = adapter.published_endpoints();
    match published.into_iter().find(leads_nowhere) {
        Some(endpoint) => Err(HubError::Published {
            endpoint: endpoint.to_string(),
        }),
        None => Ok(()),
    }
}
