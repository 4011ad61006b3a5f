//! The administrative interface of the hub: status and counts.

use std::sync::Arc;

use floe::{Current, InvokeError};
use floe_access::Action;

use super::answer::{Answer, PAGE_COUNT};
use super::topic_for;
use crate::contracts::floe::{
    Backpressure, HubAdmin, HubStatus, IceStormNoSuchTopicError, TopicInfo, TopicPage, TopicStatus,
    TopicTotals, TopicTotalsSeq,
};
use crate::service::count::number;
use crate::service::destroyed_topics::TopicCounts;
use crate::service::observe::status;
use crate::service::registry::Registry;
use crate::service::topic::Topic;

pub(super) struct HubAdminServant {
    registry: Arc<Registry>,
}

impl HubAdminServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }

    /// Checks that the caller may observe the hub.
    fn check(&self, current: &Current) -> Result<(), InvokeError> {
        Ok(self.registry.guard().check(current, Action::Observe, "")?)
    }

    /// A topic, if the caller may observe it.
    fn topic(&self, name: &str, current: &Current) -> Result<Arc<Topic>, IceStormNoSuchTopicError> {
        topic_for(&self.registry, name, Action::Observe, current)
    }
}

impl HubAdmin for HubAdminServant {
    async fn topic_info(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicInfo, IceStormNoSuchTopicError> {
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::whole(current, "subscribers", PAGES);
        let counts = counts_of(&topic, &mut answer).await;
        let mut info = status::info_of_topic(&topic, &counts);
        for subscriber in topic.subscribers() {
            let subscriber = status::of_subscriber(&self.registry, &subscriber).info;
            answer.add(&subscriber)?;
            info.subscribers.push(subscriber);
            answer.pause().await;
        }
        Ok(info)
    }

    async fn status(&self, current: &Current) -> Result<HubStatus, InvokeError> {
        self.check(current)?;
        let mut status = status::of_hub_alone(&self.registry);
        let mut answer = Answer::whole(current, "topics", "topicsAfter");
        for topic in self.registry.directory().topics() {
            let totals = status::totals(&topic, &counts_of(&topic, &mut answer).await);
            answer.add(&totals)?;
            status.topics.push(totals);
            answer.pause().await;
        }
        Ok(status)
    }

    async fn totals(&self, current: &Current) -> Result<TopicTotals, InvokeError> {
        self.check(current)?;
        let mut answer = Answer::page();
        let mut counting = self.registry.directory().counting();
        while let Some(count) = counting.step() {
            // Count the topic itself, so that many empty topics also give way.
            answer.pause_after(count.max(1)).await;
        }
        Ok(status::topic_totals(String::new(), &counting.finish()))
    }

    async fn topic_status(
        &self,
        name: String,
        current: &Current,
    ) -> Result<TopicStatus, IceStormNoSuchTopicError> {
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::whole(current, "subscribers", PAGES);
        let counts = counts_of(&topic, &mut answer).await;
        let mut status = status::of_topic_alone(&self.registry, &topic, &counts);
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
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::page();
        let counts = match from {
            0 => counts_of(&topic, &mut answer).await,
            // Counting all subscribers for each page would take long if there are many.
            _ => TopicCounts::default(),
        };
        let mut status = status::of_topic_alone(&self.registry, &topic, &counts);
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
            }
            answer.pause().await;
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
        self.check(current)?;
        let last = Some(&name[..]).filter(|name| !name.is_empty());
        let mut answer = Answer::page();
        let mut totals = TopicTotalsSeq::new();
        for topic in self.registry.directory().topics_after(last, PAGE_COUNT) {
            let topic = status::totals(&topic, &counts_of(&topic, &mut answer).await);
            if !answer.fits(&topic) && !totals.is_empty() {
                break;
            }
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
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::whole(current, "subscribers with backpressure", PAGES);
        let mut found = Vec::new();
        for subscriber in topic.subscribers() {
            if let Some(backpressure) = status::backpressure_of(&self.registry, &subscriber) {
                answer.add(&backpressure)?;
                found.push(backpressure);
            }
            answer.pause().await;
        }
        Ok(found)
    }
}

/// The counts of a topic. If it has many subscribers, other connections have their turn in between.
async fn counts_of(topic: &Arc<Topic>, answer: &mut Answer) -> TopicCounts {
    let mut counting = topic.counting();
    while let Some(count) = counting.step() {
        answer.pause_after(count).await;
    }
    TopicCounts::with(topic, counting.finish())
}

/// The operation that returns subscribers in pages.
const PAGES: &str = "topicPage";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::pace::LOOKED_AT_MAX;
    use crate::service::pace::tests::pauses;
    use crate::service::subscriber::{ReadyQueue, Subscriber};

    #[tokio::test]
    async fn other_tasks_run_while_many_subscribers_of_a_topic_are_counted() {
        let topic = Topic::new("t".to_owned(), None, None);
        let ready = Arc::<ReadyQueue>::default();
        for _ in 0..2 * LOOKED_AT_MAX {
            topic.add(Subscriber::unreachable(&ready));
        }
        let given_way = pauses(counts_of(&topic, &mut Answer::page())).await;
        // They are held first, and then counted.
        assert!(given_way >= 4, "{given_way}");
    }
}
