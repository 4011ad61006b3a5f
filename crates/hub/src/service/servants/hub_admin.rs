//! The administrative interface of the hub: status and counts.

use std::sync::Arc;

use floe::contracts::ice_storm::NoSuchTopic;
use floe::{Current, InvokeError};
use floe_access::Action;

use super::answer::{Answer, PAGE_COUNT, Pace, STEP};
use crate::contracts::floe::{
    Backpressure, HubAdmin, HubStatus, IceStormNoSuchTopicError, TopicInfo, TopicPage, TopicStatus,
    TopicTotals, TopicTotalsSeq,
};
use crate::service::count::number;
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
        let mut info = status::info_of_topic(&topic);
        let mut answer = Answer::whole(current, "subscribers", PAGES);
        for subscriber in topic.subscribers() {
            let subscriber = status::of_subscriber(&self.registry, &subscriber).info;
            answer.add(&subscriber)?;
            info.subscribers.push(subscriber);
            answer.pause().await;
        }
        Ok(info)
    }

    async fn status(&self, current: &Current) -> Result<HubStatus, InvokeError> {
        self.check(current, "")?;
        let mut status = status::of_hub_alone(&self.registry);
        let mut answer = Answer::whole(current, "topics", "topicsAfter");
        let mut pace = Pace::default();
        loop {
            let last = status.topics.last().map(|topic| &topic.name[..]);
            let topics = self.registry.directory().topics_after(last, STEP);
            if topics.is_empty() {
                return Ok(status);
            }
            for topic in topics {
                let totals = status::totals(&topic);
                answer.add(&totals)?;
                pace.pause(count_of(&totals)).await;
                status.topics.push(totals);
            }
            answer.pause().await;
        }
    }

    async fn totals(&self, current: &Current) -> Result<TopicTotals, InvokeError> {
        self.check(current, "")?;
        let (topics, mut all) = self.registry.directory().topics_and_destroyed();
        let (mut subscribers, mut pace) = (0, Pace::default());
        for topic in &topics {
            let count = status::add(&mut all, topic);
            subscribers += count;
            pace.pause(count).await;
        }
        Ok(status::topic_totals(String::new(), subscribers, &all))
    }

    async fn topic_status(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicStatus, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        let Some(topic) = self.registry.directory().topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        let mut status = status::of_topic_alone(&self.registry, &topic);
        let mut answer = Answer::whole(current, "subscribers", PAGES);
        for subscriber in topic.subscribers() {
            let subscriber = status::of_subscriber(&self.registry, &subscriber);
            answer.add(&subscriber)?;
            status.subscribers.push(subscriber);
            answer.pause().await;
        }
        Ok(status)
    }

    async fn topic_page(
        &self,
        name: String,
        from: i64,
        current: &Current,
    ) -> Result<TopicPage, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        let Some(topic) = self.registry.directory().topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        let mut status = status::of_topic_alone(&self.registry, &topic);
        let mut answer = Answer::page();
        let mut next = Some(u64::try_from(from).unwrap_or(0));
        while let Some(from) = next
            && status.subscribers.len() < PAGE_COUNT
        {
            let (page, behind) = topic.page(from, 1);
            if let Some(subscriber) = page.first().filter(|it| !it.is_gone()) {
                let subscriber = status::of_subscriber(&self.registry, subscriber);
                // A page has one at least, so that the next one makes progress.
                if !answer.fits(&subscriber) && !status.subscribers.is_empty() {
                    break;
                }
                status.subscribers.push(subscriber);
                answer.pause().await;
            }
            next = behind;
        }
        let next = next.map_or(0, number);
        Ok(TopicPage { status, next })
    }

    async fn topics_after(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicTotalsSeq, InvokeError> {
        self.check(current, "")?;
        let last = Some(&name[..]).filter(|name| !name.is_empty());
        let mut answer = Answer::page();
        let (mut totals, mut pace) = (TopicTotalsSeq::new(), Pace::default());
        for topic in self.registry.directory().topics_after(last, PAGE_COUNT) {
            let topic = status::totals(&topic);
            if !answer.fits(&topic) && !totals.is_empty() {
                break;
            }
            pace.pause(count_of(&topic)).await;
            totals.push(topic);
            answer.pause().await;
        }
        Ok(totals)
    }

    async fn backpressure(
        &self,
        name: String,
        current: &Current,
    ) -> Result<Vec<Backpressure>, IceStormNoSuchTopicError> {
        self.check(current, &name)?;
        let Some(topic) = self.registry.directory().topic(&name) else {
            return Err(NoSuchTopic { name }.into());
        };
        let mut answer = Answer::whole(current, "subscribers with backpressure", PAGES);
        let mut found = Vec::new();
        for chunk in topic.subscribers().chunks(STEP) {
            for subscriber in chunk {
                if let Some(backpressure) = status::backpressure_of(&self.registry, subscriber) {
                    answer.add(&backpressure)?;
                    found.push(backpressure);
                }
            }
            if chunk.len() == STEP {
                answer.give_way().await;
            }
        }
        Ok(found)
    }
}

/// How many subscribers were looked at for the totals of a topic.
fn count_of(totals: &TopicTotals) -> usize {
    usize::try_from(totals.subscribers).unwrap_or(0)
}

/// What gives subscribers in pages.
const PAGES: &str = "topicPage";
