//! The administrative interface of the hub: status and counts.

use std::sync::Arc;

use floe::contracts::ice_storm::NoSuchTopic;
use floe::{Current, InvokeError};
use floe_access::Action;

use super::answer::{Answer, PAGE_COUNT, Pace, STEP, TOPIC_WEIGHT};
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
        let counts = counts_of(&topic, &mut Pace::default()).await;
        let mut info = status::info_of_topic(&topic, &counts);
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
                let totals = status::totals(&topic, &counts_of(&topic, &mut pace).await);
                answer.add(&totals)?;
                status.topics.push(totals);
            }
            answer.pause().await;
        }
    }

    async fn totals(&self, current: &Current) -> Result<TopicTotals, InvokeError> {
        self.check(current, "")?;
        let directory = self.registry.directory();
        let mut pace = Pace::of_topics(directory.topic_count()).await;
        let (topics, mut all) = directory.topics_and_destroyed();
        for topic in &topics {
            all += counts_of(topic, &mut pace).await;
        }
        Ok(status::topic_totals(String::new(), &all))
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
        let counts = counts_of(&topic, &mut Pace::default()).await;
        let mut status = status::of_topic_alone(&self.registry, &topic, &counts);
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
        let counts = counts_of(&topic, &mut Pace::default()).await;
        let mut status = status::of_topic_alone(&self.registry, &topic, &counts);
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
            let topic = status::totals(&topic, &counts_of(&topic, &mut pace).await);
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

/// The counts of a topic. If it has many subscribers, other connections have their turn in between.
async fn counts_of(topic: &Topic, pace: &mut Pace) -> TopicCounts {
    let (mut totals, recipients) = topic.ended_and_recipients();
    // A topic without subscribers is looked at, too.
    pace.pause(TOPIC_WEIGHT).await;
    for some in recipients.chunks(STEP) {
        some.iter().for_each(|it| totals.add(it));
        pace.pause(some.len()).await;
    }
    TopicCounts::with(topic, totals)
}

/// What gives subscribers in pages.
const PAGES: &str = "topicPage";

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::time::Instant;

    use super::*;
    use crate::service::destroyed_topics::tests::events;
    use crate::service::servants::answer::LOOKED_AT_MAX;
    use crate::service::subscriber::{ReadyQueue, Subscriber};

    #[tokio::test]
    async fn totals_of_many_subscribers_give_way_and_count_each_once() {
        let topic = Topic::new("t".to_owned(), None, None);
        let ready = Arc::<ReadyQueue>::default();
        let count = 4 * LOOKED_AT_MAX;
        let subscribers: Vec<_> = (0..count)
            .map(|_| Subscriber::unreachable(&ready))
            .collect();
        subscribers.iter().for_each(|it| topic.add(it.clone()));
        let published = topic.publish(events(1), false, Instant::now());
        published.done().await.expect("a topic without a log");
        let mut pace = Pace::default();
        let mut counting = pin!(counts_of(&topic, &mut pace));
        let mut given_way = 0;
        let counts = poll_fn(|context| {
            let polled = counting.as_mut().poll(context);
            if polled.is_pending() {
                // Subscribers that leave meanwhile count neither twice nor not at all.
                for it in [&subscribers[given_way], &subscribers[count - 1 - given_way]] {
                    assert!(topic.remove(it));
                    topic.settle(it);
                }
                given_way += 1;
            }
            polled
        });
        let counts = counts.await;
        assert!(given_way >= 4, "{given_way}");
        assert_eq!(counts.totals.accounts.offered, count as u64);
    }
}
