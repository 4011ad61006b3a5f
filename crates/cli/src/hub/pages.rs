//! Long answers of a hub, read in pages.
//!
//! A hub that is hostile or broken may give pages without end. So each page must go on where the one before ended, and
//! all pages together have a limit.

use floe_hub::contracts::floe::{
    Backpressure, DurableTopicStatus, HubAdminProxy, IceStormNoSuchTopicError, SubscriberStatus,
    TopicPage, TopicStatus, TopicTotals,
};

use super::HubArgument;
use crate::exit::{Exit, Failure};
use crate::peer::ANSWER_SIZE_MAX;

/// All topics.
///
/// # Errors
/// The hub does not tell or does not answer, or its pages make no sense.
pub(super) async fn topics(
    admin: &HubAdminProxy,
    hub: &HubArgument,
) -> Result<Vec<TopicTotals>, Failure> {
    let mut topics: Vec<TopicTotals> = Vec::new();
    let mut size = PagesSize::default();
    loop {
        let last = topics.last().map(|topic| topic.name.as_str());
        let page = admin.topics_after(last.unwrap_or_default()).await;
        let page = page.map_err(|error| hub.unanswered(error.into()))?;
        if page.is_empty() {
            return Ok(topics);
        }
        check_order(last, &page)?;
        size.add(page.iter().map(topic_len).sum())?;
        // Only a topic with an empty name, which is the first, cannot be named as the last of a page.
        let is_all = page.last().is_some_and(|topic| topic.name.is_empty());
        topics.extend(page);
        if is_all {
            return Ok(topics);
        }
    }
}

/// The whole of a topic, however many subscribers it has, of which the first page is there.
///
/// # Errors
/// The pages make no sense. The inner error: there is no such topic any more, or the hub does not answer.
pub(super) async fn rest_of_topic(
    admin: &HubAdminProxy,
    name: &str,
    first: TopicPage,
    hub: &HubArgument,
) -> Result<Result<TopicStatus, IceStormNoSuchTopicError>, Failure> {
    let TopicPage {
        mut status,
        mut next,
    } = first;
    let mut size = PagesSize::default();
    while next != 0 {
        let page = match admin.topic_page(name, next).await {
            Ok(page) => page,
            Err(IceStormNoSuchTopicError::Invoke(error)) => {
                return Err(hub.unanswered(error.into()));
            }
            Err(error) => return Ok(Err(error)),
        };
        if page.next != 0 && page.next <= next {
            return Err(no_sense(format_args!(
                "expected a page of subscribers that leads beyond {next}, got one that leads to {}",
                page.next
            )));
        }
        let added = &page.status.subscribers;
        size.add(added.iter().map(subscriber_len).sum::<usize>() + size_of::<TopicPage>())?;
        status.subscribers.extend(page.status.subscribers);
        next = page.next;
    }
    Ok(Ok(status))
}

/// All backpressure of a topic, of which the first page is there.
///
/// # Errors
/// The pages make no sense. The inner error: there is no such topic any more, or the hub does not answer.
pub(super) async fn rest_of_backpressure(
    admin: &HubAdminProxy,
    name: &str,
    first: (Vec<Backpressure>, i64),
    hub: &HubArgument,
) -> Result<Result<Vec<Backpressure>, IceStormNoSuchTopicError>, Failure> {
    let (mut all, mut next) = first;
    let mut size = PagesSize::default();
    while next != 0 {
        let (page, behind) = match admin.backpressure_page(name, next).await {
            Ok(page) => page,
            Err(IceStormNoSuchTopicError::Invoke(error)) => {
                return Err(hub.unanswered(error.into()));
            }
            Err(error) => return Ok(Err(error)),
        };
        if behind != 0 && behind <= next {
            return Err(no_sense(format_args!(
                "expected a page of backpressure that leads beyond {next}, got one that leads to {behind}"
            )));
        }
        let len = |own: &Backpressure| size_of_val(own) + own.publishers.len() * HELD_LEN;
        size.add(page.iter().map(len).sum::<usize>() + size_of::<TopicPage>())?;
        all.extend(page);
        next = behind;
    }
    Ok(Ok(all))
}

/// About the memory of a publisher that is held back.
const HELD_LEN: usize = 128;

/// All durable topics with all their subscriptions, of which the first page is there.
///
/// # Errors
/// The hub does not answer, or its pages make no sense.
pub(super) async fn durable_topics(
    admin: &HubAdminProxy,
    first: Vec<DurableTopicStatus>,
    hub: &HubArgument,
) -> Result<Vec<DurableTopicStatus>, Failure> {
    let mut topics: Vec<DurableTopicStatus> = Vec::new();
    let (mut size, mut page) = (PagesSize::default(), first);
    while !page.is_empty() {
        for mut topic in page {
            let before = topics.last().map(|topic| topic.name.as_str());
            if before.is_some_and(|before| topic.name.as_str() <= before) {
                return Err(no_sense(format_args!(
                    "expected a page of durable topics behind `{}`, got `{}`",
                    before.unwrap_or_default(),
                    topic.name
                )));
            }
            size.add(durable_len(&topic))?;
            rest_of_durable(admin, &mut topic, &mut size, hub).await?;
            topics.push(topic);
        }
        let last = topics.last().map_or("", |topic| topic.name.as_str());
        if last.is_empty() {
            // Only a topic with an empty name, which is the first, cannot be named as the last of a page.
            break;
        }
        let next = admin.durable_topics_after(last).await;
        page = next.map_err(|error| hub.unanswered(error.into()))?;
    }
    Ok(topics)
}

/// Adds the subscriptions of a durable topic that did not fit into a page.
///
/// # Errors
/// The hub does not answer, or its pages make no sense.
pub(super) async fn rest_of_durable(
    admin: &HubAdminProxy,
    topic: &mut DurableTopicStatus,
    size: &mut PagesSize,
    hub: &HubArgument,
) -> Result<(), Failure> {
    while topic.has_more {
        let last = topic.subscriptions.last();
        let after = last.map_or("", |last| last.name.as_str()).to_owned();
        let page = match admin.durable_topic(&topic.name, &after).await {
            Ok(page) => page,
            // It was removed meanwhile.
            Err(IceStormNoSuchTopicError::NoSuchTopic(_)) => break,
            Err(IceStormNoSuchTopicError::Invoke(error)) => {
                return Err(hub.unanswered(error.into()));
            }
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        };
        let Some(more) = page.into_iter().next() else {
            break;
        };
        size.add(durable_len(&more))?;
        let mut before = after.as_str();
        for subscription in &more.subscriptions {
            if subscription.name.as_str() <= before {
                return Err(no_sense(format_args!(
                    "expected a page of subscriptions behind `{before}`, got `{}`",
                    subscription.name
                )));
            }
            before = &subscription.name;
        }
        topic.has_more = more.has_more && !more.subscriptions.is_empty();
        topic.subscriptions.extend(more.subscriptions);
    }
    topic.has_more = false;
    Ok(())
}

/// The topics of a page come in the order of their names, all behind the last one of the page before.
fn check_order<'a>(mut before: Option<&'a str>, page: &'a [TopicTotals]) -> Result<(), Failure> {
    for topic in page {
        let name = topic.name.as_str();
        if let Some(before) = before.filter(|before| name <= *before) {
            return Err(no_sense(format_args!(
                "expected a page of topics behind `{before}`, got `{name}`"
            )));
        }
        before = Some(name);
    }
    Ok(())
}

/// The memory of all pages that were read.
#[derive(Default)]
pub(super) struct PagesSize(usize);

impl PagesSize {
    /// All pages together may be as long as one answer.
    const MAX: usize = ANSWER_SIZE_MAX;

    fn add(&mut self, len: usize) -> Result<(), Failure> {
        self.0 = self.0.saturating_add(len);
        match self.0 <= Self::MAX {
            true => Ok(()),
            false => Err(no_sense(format_args!(
                "expected pages of at most {} MiB in all, got more",
                Self::MAX >> 20
            ))),
        }
    }
}

fn topic_len(topic: &TopicTotals) -> usize {
    size_of::<TopicTotals>() + topic.name.len()
}

fn durable_len(topic: &DurableTopicStatus) -> usize {
    let subscriptions = topic.subscriptions.iter().map(|own| {
        let members = own.members.iter().map(|it| it.subscriber.len() + 32);
        size_of_val(own) + own.name.len() + own.dead_letter_topic.len() + members.sum::<usize>()
    });
    size_of::<DurableTopicStatus>() + topic.name.len() + subscriptions.sum::<usize>()
}

fn subscriber_len(status: &SubscriberStatus) -> usize {
    let info = &status.info;
    let qos = info.qos.iter().map(|(key, value)| key.len() + value.len());
    let text = info.subscriber.to_string();
    size_of::<SubscriberStatus>() + text.len() + qos.sum::<usize>()
}

fn no_sense(what: impl std::fmt::Display) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("the hub gave pages that make no sense: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: &[&str]) -> Vec<TopicTotals> {
        let topic = |name: &&str| TopicTotals {
            name: (*name).to_owned(),
            ..TopicTotals::default()
        };
        names.iter().map(topic).collect()
    }

    #[test]
    fn topics_of_a_page_come_behind_those_of_the_page_before() {
        for (before, names) in [
            (None, &["", "a", "b"][..]),
            (Some("b"), &["c"]),
            (None, &[]),
        ] {
            assert!(check_order(before, &page(names)).is_ok(), "{names:?}");
        }
        for (before, names) in [
            (Some("b"), &["b"][..]),
            (Some("b"), &["a"]),
            (Some("b"), &["c", "c"]),
            (None, &["b", "a"]),
        ] {
            assert!(check_order(before, &page(names)).is_err(), "{names:?}");
        }
    }

    #[test]
    fn all_pages_together_have_a_limit() {
        let mut size = PagesSize::default();
        assert!(size.add(PagesSize::MAX).is_ok());
        assert!(size.add(1).is_err());
    }
}
