//! The administrative interface of the hub: status and counts.

use std::sync::Arc;

use floe::contracts::ice_storm::NoSuchTopic;
use floe::{Current, InvokeError};
use floe_access::Action;

use crate::contracts::floe::{
    Backpressure, HubAdmin, HubStatus, IceStormNoSuchTopicError, TopicInfo, TopicStatus,
    TopicTotals,
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

    /// Whether the caller may observe a topic; with an empty name, the hub.
    fn check(&self, current: &Current, topic: &str) -> Result<(), InvokeError> {
        let guard = self.registry.guard();
        Ok(guard.check(current, Action::Observe, topic)?)
    }
}

impl HubAdmin for HubAdminServant {
    async fn topic_info(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicInfo, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        let Some(topic) = self.registry.directory().topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        Ok(status::info_of_topic(&self.registry, &topic))
    }

    async fn status(&self, current: &Current) -> Result<HubStatus, InvokeError> {
        self.check(current, "")?;
        Ok(status::of_hub(&self.registry))
    }

    async fn totals(&self, current: &Current) -> Result<TopicTotals, InvokeError> {
        self.check(current, "")?;
        Ok(status::of_all(&self.registry))
    }

    async fn topic_status(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicStatus, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        match self.registry.directory().topic(&name) {
            Some(topic) => Ok(status::of_topic(&self.registry, &topic)),
            None => Err(NoSuchTopic { name }.into()),
        }
    }

    async fn backpressure(
        &self,
        name: String,
        current: &Current,
    ) -> Result<Vec<Backpressure>, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        match self.registry.directory().topic(&name) {
            Some(topic) => Ok(status::backpressure_of(&self.registry, &topic)),
            None => Err(NoSuchTopic { name }.into()),
        }
    }
}
