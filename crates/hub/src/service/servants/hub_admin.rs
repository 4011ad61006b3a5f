//! What the hub tells of itself.

use std::sync::Arc;

use floe::contracts::ice_storm::NoSuchTopic;
use floe::{Adapter, Current};

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
        current: &Current,
    ) -> Result<TopicInfo, HubAdminTopicInfoError> {
        let Some(topic) = self.registry.topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        let accounts = topic.accounts();
        let subscribers = topic.subscribers();
        Ok(TopicInfo {
            name,
            published: number(topic.published()),
            forwarded: number(topic.forwarded()),
            delivered: number(accounts.delivered),
            lost: losses(accounts.lost),
            subscribers: subscribers
                .iter()
                .map(|subscriber| subscriber_info(subscriber, &current.adapter()))
                .collect(),
        })
    }
}

fn subscriber_info(subscriber: &Subscriber, adapter: &Adapter) -> SubscriberInfo {
    let snapshot = subscriber.snapshot();
    let link = subscriber.link();
    let topic = link.map(|link| link.topic_from(adapter));
    SubscriberInfo {
        subscriber: topic.or_else(|| Some(subscriber.proxy().clone())),
        is_link: link.is_some(),
        cost: link.map_or(0, |link| link.cost().0),
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
