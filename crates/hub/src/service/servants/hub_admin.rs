//! The administrative interface of the hub: status and counts.

use std::sync::Arc;

use floe::contracts::ice_storm::NoSuchTopic;
use floe::{Current, InvokeError};

use crate::contracts::floe::{
    HubAdmin, HubStatus, IceStormNoSuchTopicError, TopicInfo, TopicStatus, TopicTotals,
};
use crate::service::observe::status;
use crate::service::registry::Registry;

pub(super) struct HubAdminServant {
    registry: Arc<Registry>,
}

impl HubAdminServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }
}

impl HubAdmin for HubAdminServant {
    async fn topic_info(
        &self,
        name: String,
        _current: &Current,
    ) -> Result<TopicInfo, IceStormNoSuchTopicError> {
        let Some(topic) = self.registry.directory().topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        Ok(status::info_of_topic(&self.registry, &topic))
    }

    async fn status(&self, _current: &Current) -> Result<HubStatus, InvokeError> {
        Ok(status::of_hub(&self.registry))
    }

    async fn totals(&self, _current: &Current) -> Result<TopicTotals, InvokeError> {
        Ok(status::of_all(&self.registry))
    }

    async fn topic_status(
        &self,
        name: String,
        _current: &Current,
    ) -> Result<TopicStatus, IceStormNoSuchTopicError> {
        match self.registry.directory().topic(&name) {
            Some(topic) => Ok(status::of_topic(&self.registry, &topic)),
            None => Err(NoSuchTopic { name }.into()),
        }
    }
}
