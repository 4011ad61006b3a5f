//! The administrative interface of the hub: status and counts.

use std::sync::Arc;
use std::time::Duration;

use floe::contracts::ice::StringSeq;
use floe::{Current, InvokeError, SystemException};
use floe_access::Action;

use super::answer::{Answer, PAGE_COUNT};
use super::topic_for;
use crate::blocking_work::{self, WorkKind};
use crate::contracts::floe::{
    Backpressure, DurableTopicStatus, DurableTopicStatusSeq, HubAdmin, HubOverview, HubStatus,
    IceStormNoSuchTopicError, RecentLoss, TopicInfo, TopicPage, TopicStatus, TopicTotals,
    TopicTotalsSeq,
};
use crate::log::LogError;
use crate::service::count::{self, number};
use crate::service::destroyed_topics::TopicCounts;
use crate::service::observe::{durable, loss_watch, status};
use crate::service::pace::STEP;
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

    /// A durable topic with as many of its subscriptions behind a name as fit; `None` if it is not durable, and `Some(None)` if it
    /// does not fit. The first topic of a page always fits.
    async fn durable_page(
        &self,
        topic: &Arc<Topic>,
        after: &str,
        answer: &mut Answer,
        is_first: bool,
    ) -> Result<Option<Option<DurableTopicStatus>>, InvokeError> {
        let Some(log) = topic.log().filter(|log| log.is_durable()).cloned() else {
            return Ok(None);
        };
        let (own, after) = (topic.clone(), after.to_owned());
        let registry = self.registry.clone();
        let (mut status, readers) =
            reading(move || durable::of_topic(&own, &log, registry.directory(), &after)).await?;
        if !answer.fits(&status) && !is_first {
            return Ok(Some(None));
        }
        let counts = topic.reader_counts();
        for reader in readers {
            let subscribers = counts.get(reader.name()).copied().unwrap_or(0);
            let subscription =
                reading(move || durable::of_subscription(&reader, subscribers)).await?;
            let is_full = status.subscriptions.len() >= PAGE_COUNT || !answer.fits(&subscription);
            if is_full && !(is_first && status.subscriptions.is_empty()) {
                // A client would take a topic without a subscription for one that has none to begin with.
                status.has_more = true;
                return Ok(Some(
                    (is_first || !status.subscriptions.is_empty()).then_some(status),
                ));
            }
            status.subscriptions.push(subscription);
            answer.pause().await;
        }
        Ok(Some(Some(status)))
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

    async fn overview(&self, since: i64, current: &Current) -> Result<HubOverview, InvokeError> {
        self.check(current)?;
        let registry = &self.registry;
        loss_watch::look(registry).await;
        let since = Duration::from_micros(u64::try_from(since).unwrap_or(0));
        let recent = registry.recent_losses().within(since);
        let totals = self.totals(current).await?;
        let mut answer = Answer::page();
        let mut losses = Vec::new();
        for place in recent.places {
            let loss = RecentLoss {
                topic: place.place.topic,
                subscriber: place.place.subscriber,
                lost: count::losses(place.lost),
                age: status::micros(place.last.elapsed()),
            };
            if !answer.fits(&loss) {
                break;
            }
            losses.push(loss);
        }
        let mut dead_letters = 0;
        for topic in registry.directory().topics() {
            for reader in topic.log().into_iter().flat_map(|log| log.all_named()) {
                dead_letters += reader.dead_letter_count();
            }
            answer.pause_after(1).await;
        }
        let hub = status::of_hub_alone(registry);
        Ok(HubOverview {
            uptime: hub.uptime,
            connections: hub.connections,
            connections_refused: hub.connections_refused,
            recently_refused: number(recent.refused),
            topics: i32::try_from(registry.directory().topic_count()).unwrap_or(i32::MAX),
            dead_letters: number(dead_letters),
            totals,
            losses,
            recently_lost: count::losses(recent.sum),
        })
    }

    async fn durable_topics_after(
        &self,
        name: String,
        current: &Current,
    ) -> Result<DurableTopicStatusSeq, InvokeError> {
        self.check(current)?;
        let mut answer = Answer::page();
        let mut found = DurableTopicStatusSeq::new();
        let mut last: Option<Arc<str>> =
            Some(name.into()).filter(|name: &Arc<str>| !name.is_empty());
        loop {
            let topics = self
                .registry
                .directory()
                .topics_after(last.as_deref(), STEP);
            let Some(behind) = topics.last() else {
                return Ok(found);
            };
            last = Some(behind.shared_name().clone());
            for topic in topics {
                answer.pause_after(1).await;
                let Some(status) = self
                    .durable_page(&topic, "", &mut answer, found.is_empty())
                    .await?
                else {
                    continue;
                };
                let Some(status) = status else {
                    return Ok(found);
                };
                found.push(status);
            }
        }
    }

    async fn durable_topic(
        &self,
        name: String,
        after: String,
        current: &Current,
    ) -> Result<DurableTopicStatusSeq, IceStormNoSuchTopicError> {
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::page();
        let status = self.durable_page(&topic, &after, &mut answer, true).await?;
        Ok(status.flatten().into_iter().collect())
    }

    async fn backpressure_page(
        &self,
        name: String,
        from: i64,
        current: &Current,
    ) -> Result<(Vec<Backpressure>, i64), IceStormNoSuchTopicError> {
        let topic = self.topic(&name, current)?;
        let mut answer = Answer::page();
        let mut found = Vec::new();
        let mut next = Some(u64::try_from(from).unwrap_or(0));
        while let Some(from) = next
            && found.len() < PAGE_COUNT
        {
            let (page, behind) = topic.page(from, 1);
            let present = page.first().filter(|it| !it.is_gone());
            let backpressure = present.and_then(|it| status::backpressure_of(&self.registry, it));
            if let Some(backpressure) = backpressure {
                // A page has one at least, so that the next one makes progress.
                if !answer.fits(&backpressure) && !found.is_empty() {
                    break;
                }
                found.push(backpressure);
            }
            answer.pause().await;
            next = behind;
        }
        Ok((found, next.map_or(0, number)))
    }

    async fn storage_problems(&self, current: &Current) -> Result<StringSeq, InvokeError> {
        self.check(current)?;
        let registry = self.registry.clone();
        let found = reading(move || Ok(registry.storage_problems())).await?;
        let mut answer = Answer::page();
        let found = found.into_iter().take(PROBLEMS_MAX);
        Ok(found.take_while(|text| answer.fits(text)).collect())
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

/// Runs work that may wait for the disk, where a thread may block.
async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LogError> + Send + 'static,
) -> Result<T, InvokeError> {
    let error = match blocking_work::run(WorkKind::Read, work).await {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Err(SystemException::UnknownException(error).into())
}

/// The most problems in an answer: a full disk is one for each durable topic.
const PROBLEMS_MAX: usize = 100;

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
