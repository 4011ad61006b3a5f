//! The finder returns the topic manager to clients that do not know the instance name. A transient IceStorm has no
//! finder, but a hub always has one: tools that know only a host and a port need it.

use std::sync::Arc;

use floe::contracts::ice_storm::{Finder, TopicManagerProxy};
use floe::{Current, InvokeError};

use super::topic_manager::topic_manager_proxy;
use crate::service::registry::Registry;

pub(super) struct FinderServant {
    registry: Arc<Registry>,
}

impl FinderServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }
}

impl Finder for FinderServant {
    async fn get_topic_manager(&self, current: &Current) -> Result<TopicManagerProxy, InvokeError> {
        Ok(topic_manager_proxy(&self.registry, current))
    }
}
