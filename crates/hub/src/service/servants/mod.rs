//! The objects that peers invoke.
//!
//! - `objects.rs`: finds the object of a request
//! - `publisher.rs`: publisher objects: every request is an event
//! - `link_receiver.rs`: the receiving end of links
//! - `topic.rs`, `topic_manager.rs`, `finder.rs`: IceStorm's interfaces
//! - `durable_topics.rs`: logs, positions, and events that are pulled
//! - `hub_admin.rs`: the hub's own interface
//! - `backup.rs`: copies what the hub keeps on disk
//! - `answer.rs`: how long an answer may be

mod answer;
mod backup;
mod durable_topics;
mod finder;
mod hub_admin;
mod link_receiver;
mod objects;
mod publisher;
mod topic;
mod topic_manager;

use std::sync::Arc;

use floe::contracts::ice_storm::{FinderDispatcher, NoSuchTopic};
use floe::{Adapter, AdapterError, Current, Identity, InvokeError};
use floe_access::Action;
use floe_metrics::MetricsFacet;
use floe_metrics::contracts::ice_mx::MetricsAdminDispatcher;

use super::observe::measured::MeasuredHub;
use super::registry::Registry;
use super::topic::Topic;
use crate::contracts::floe::{BackupDispatcher, DurableTopicsDispatcher, HubAdminDispatcher};
use crate::settings::AdminSettings;
use backup::BackupServant;
use durable_topics::DurableTopicsServant;
use finder::FinderServant;
use hub_admin::HubAdminServant;
use objects::{Objects, Reach};

/// Registers all servants of a hub.
pub(super) fn register(adapter: &Adapter, registry: &Arc<Registry>) -> Result<(), AdapterError> {
    let category = &registry.settings().instance_name;
    adapter.add_default(category, Objects::new(registry, Reach::All))?;
    let finder = FinderServant::new(registry);
    adapter.add(FINDER, FinderDispatcher::new(finder))?;
    let admin = HubAdminServant::new(registry);
    adapter.add(HUB_ADMIN, HubAdminDispatcher::new(admin))?;
    let durable = DurableTopicsServant::new(registry);
    adapter.add(DURABLE_TOPICS, DurableTopicsDispatcher::new(durable))?;
    let backup = BackupServant::new(registry);
    adapter.add(BACKUP, BackupDispatcher::new(backup))?;
    Ok(())
}

/// Registers publisher objects on an adapter that has no other objects.
pub(super) fn register_publishers(
    adapter: &Adapter,
    registry: &Arc<Registry>,
) -> Result<(), AdapterError> {
    let category = &registry.settings().instance_name;
    adapter.add_default(category, Objects::new(registry, Reach::Publishers))?;
    Ok(())
}

/// Registers the administrative object, which gives metrics, on an adapter that has no other objects.
pub(super) fn register_admin(
    adapter: &Adapter,
    registry: &Arc<Registry>,
    settings: &AdminSettings,
) -> Result<(), AdapterError> {
    let identity = Identity::with_category("admin", &settings.instance_name);
    let servant = MetricsFacet::new(MeasuredHub::new(registry, settings), &settings.views);
    let servant = Arc::new(MetricsAdminDispatcher::new(servant));
    let of_service = format!("IceBox.Service.{}.Metrics", settings.service_name);
    for facet in ["Metrics", &of_service] {
        adapter.add_facet(identity.clone(), facet, servant.clone())?;
    }
    Ok(())
}

/// Removes publisher objects from an adapter of their own.
pub(super) fn unregister_publishers(adapter: &Adapter, registry: &Arc<Registry>) {
    adapter.remove_default(&registry.settings().instance_name);
}

/// Removes all servants of a hub.
pub(super) fn unregister(adapter: &Adapter, registry: &Arc<Registry>) {
    adapter.remove_default(&registry.settings().instance_name);
    for identity in [FINDER, HUB_ADMIN, DURABLE_TOPICS, BACKUP] {
        let identity = identity.parse().expect("it has a name");
        adapter.remove(&identity, "");
    }
}

/// The topic with this name, if the caller may do this with it.
fn topic_for<E>(
    registry: &Registry,
    name: &str,
    action: Action,
    current: &Current,
) -> Result<Arc<Topic>, E>
where
    E: From<NoSuchTopic> + From<InvokeError>,
{
    let checked = registry.guard().check(current, action, name);
    checked.map_err(InvokeError::from)?;
    registry.directory().topic(name).ok_or_else(|| {
        let name = name.to_owned();
        NoSuchTopic { name }.into()
    })
}

/// Identity of the finder, with any instance name.
const FINDER: &str = "IceStorm/Finder";
/// Identity of the hub's own administrative object:
/// [`contracts::floe::HubAdminProxy`](crate::contracts::floe::HubAdminProxy).
pub const HUB_ADMIN: &str = "Floe/HubAdmin";
/// Identity of the object for durable topics:
/// [`contracts::floe::DurableTopicsProxy`](crate::contracts::floe::DurableTopicsProxy).
pub const DURABLE_TOPICS: &str = "Floe/DurableTopics";
/// Identity of the object that backs up what the hub keeps on disk:
/// [`contracts::floe::BackupProxy`](crate::contracts::floe::BackupProxy).
pub const BACKUP: &str = "Floe/Backup";
