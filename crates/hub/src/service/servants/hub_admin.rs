//! What the hub tells of itself.

use std::sync::Arc;

use floe::Current;
use floe::contracts::ice_storm::NoSuchTopic;

use crate::contracts::floe::{
    HubAdmin, HubAdminTopicInfoError, SubscriberInfo, SubscriberState, TopicInfo,
};
use crate::core;
use crate::service::count::{losses, number};
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;

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
    ) -> Result<TopicInfo, HubAdminTopicInfoError> {
        let Some(topic) = self.registry.topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        let accounts = topic.accounts();
        let subscribers = topic.subscribers();
        Ok(TopicInfo {
            name,
            published: number(topic.published()),
            delivered: number(accounts.delivered),
            lost: losses(accounts.lost),
            subscribers: subscribers.iter().map(|s| subscriber_info(s)).collect(),
        })
    }
}

fn subscriber_info(subscriber: &Subscriber) -> SubscriberInfo {
    let snapshot = subscriber.snapshot();
    SubscriberInfo {
        subscriber: Some(subscriber.proxy().clone()),
        qos: subscriber.qos_text().clone(),
        state: match snapshot.state {
            core::State::Online => SubscriberState::Online,
            core::State::Offline => SubscriberState::Offline,
            core::State::Failed | core::State::Gone => SubscriberState::Failed,
        },
        offered: number(snapshot.accounts.offered),
        delivered: number(snapshot.accounts.delivered),
        lost: losses(snapshot.accounts.lost),
        queued: number(snapshot.queued),
        queued_bytes: number(snapshot.queued_bytes),
        outstanding: number(snapshot.outstanding),
    }
}
