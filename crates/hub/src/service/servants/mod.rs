//! The objects that peers invoke.
//!
//! - `objects.rs`: finds the object of a request among all topics
//! - `publisher.rs`: publisher objects: any request is an event
//! - `link_receiver.rs`: receiving ends of links
//! - `topic.rs`, `topic_manager.rs`, `finder.rs`: IceStorm's interfaces
//! - `hub_admin.rs`: the hub's own
//! - `metrics_admin.rs`: metrics, on an adapter of its own

mod finder;
mod hub_admin;
mod link_receiver;
mod metrics_admin;
mod objects;
mod publisher;
mod topic;
mod topic_manager;

use std::sync::Arc;

use floe::contracts::ice_storm::FinderDispatcher;
use floe::{Adapter, AdapterError, Identity};

use super::observe::metrics::Metrics;
use super::registry::Registry;
use crate::contracts::floe::HubAdminDispatcher;
use crate::contracts::ice_mx::MetricsAdminDispatcher;
use crate::settings::AdminSettings;
use finder::FinderServant;
use hub_admin::HubAdminServant;
use metrics_admin::MetricsAdminServant;
use objects::{Objects, Reach};

/// Registers all servants of a hub.
pub(super) fn register(adapter: &Adapter, registry: &Arc<Registry>) -> Result<(), AdapterError> {
    let category = &registry.settings().instance_name;
    adapter.add_default(category, Objects::new(registry, Reach::All))?;
    let finder = FinderServant::new(registry);
    adapter.add(FINDER, FinderDispatcher::new(finder))?;
    let admin = HubAdminServant::new(registry);
    adapter.add(HUB_ADMIN, HubAdminDispatcher::new(admin))?;
    Ok(())
}

/// Registers publisher objects on an adapter of their own, where there is nothing else.
pub(super) fn register_publishers(
    adapter: &Adapter,
    registry: &Arc<Registry>,
) -> Result<(), AdapterError> {
    let category = &registry.settings().instance_name;
    adapter.add_default(category, Objects::new(registry, Reach::Publishers))?;
    Ok(())
}

/// Registers the administrative object on an adapter where there is nothing else.
pub(super) fn register_admin(
    adapter: &Adapter,
    registry: &Arc<Registry>,
    settings: &AdminSettings,
) -> Result<(), AdapterError> {
    let identity = Identity::with_category("admin", &settings.instance_name);
    let servant = MetricsAdminServant::new(Metrics::new(registry, settings));
    let servant = Arc::new(MetricsAdminDispatcher::new(servant));
    let of_service = format!("IceBox.Service.{}.Metrics", settings.service_name);
    for facet in ["Metrics", &of_service] {
        adapter.add_facet(identity.clone(), facet, servant.clone())?;
    }
    Ok(())
}

/// Takes publisher objects away from an adapter of their own.
pub(super) fn unregister_publishers(adapter: &Adapter, registry: &Arc<Registry>) {
    adapter.remove_default(&registry.settings().instance_name);
}

/// Takes all servants of a hub away.
pub(super) fn unregister(adapter: &Adapter, registry: &Arc<Registry>) {
    adapter.remove_default(&registry.settings().instance_name);
    for identity in [FINDER, HUB_ADMIN] {
        let identity = identity.parse().expect("it has a name");
        adapter.remove(&identity, "");
    }
}

/// Identity of the finder, whatever the instance is called.
const FINDER: &str = "IceStorm/Finder";
/// Identity of the object that tells of the hub: [`contracts::floe::HubAdminProxy`](crate::contracts::floe::HubAdminProxy).
pub const HUB_ADMIN: &str = "Floe/HubAdmin";
