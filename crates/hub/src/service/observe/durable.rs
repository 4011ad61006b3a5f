//! The logs of durable topics, and how far their subscriptions are behind. All of it is found out when somebody asks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::status::micros;
use crate::contracts::floe::{DurableMember, DurableSubscriptionStatus, DurableTopicStatus};
use crate::core::durable::MembersReport;
use crate::core::log::{EventTime, Retention};
use crate::log::LogError;
use crate::service::count::number;
use crate::service::directory::ObjectDirectory;
use crate::service::durable::{Reader, SubscriptionLag, TopicLog};
use crate::service::topic::Topic;

/// The log of a durable topic, without subscriptions, and those of its subscriptions that are behind this name. It may wait
/// for the disk.
///
/// # Errors
/// [`LogError`] if the operating system failed.
pub(crate) fn of_topic(
    topic: &Arc<Topic>,
    log: &TopicLog,
    directory: &ObjectDirectory,
    after: &str,
) -> Result<(DurableTopicStatus, Vec<Arc<Reader>>), LogError> {
    let readers = log.all_named();
    let contents = log.contents();
    let Retention {
        age, bytes, events, ..
    } = log.retention();
    let now = EventTime::now();
    let dead_letters = readers
        .iter()
        .map(|reader| reader.dead_letter_count())
        .sum();
    let status = DurableTopicStatus {
        name: topic.name().to_owned(),
        first: number(contents.first),
        next: number(contents.next),
        events: number(contents.events),
        bytes: number(contents.bytes),
        age: micros(log.age(now)?),
        events_max: events.map_or(0, number),
        bytes_max: bytes.map_or(0, number),
        age_max: age.map_or(0, micros),
        unwritten: number(contents.lost),
        dead_letters: number(dead_letters),
        kept_dead_letters: number(kept_dead_letters(topic, &readers, directory)),
        subscriptions: Vec::new(),
        has_more: false,
    };
    let readers = readers.into_iter().filter(|it| it.name() > after);
    Ok((status, readers.collect()))
}

/// The events of the topics for the dead letters of a topic. A subscription that had no subscriber since the hub started is taken for one
/// with the hub's own choice.
fn kept_dead_letters(topic: &Topic, readers: &[Arc<Reader>], directory: &ObjectDirectory) -> u64 {
    let chosen = readers.iter().filter_map(|reader| reader.dead_letters());
    let names: BTreeSet<_> = chosen.chain([format!("{}.dead", topic.name())]).collect();
    let topics = names.iter().filter_map(|name| directory.topic(name));
    let kept = topics.filter_map(|topic| Some(topic.log()?.contents().events));
    kept.sum()
}

/// A durable subscription. It may wait for the disk.
///
/// # Errors
/// [`LogError`] if the operating system failed.
pub(crate) fn of_subscription(
    reader: &Reader,
    subscribers: usize,
) -> Result<DurableSubscriptionStatus, LogError> {
    let SubscriptionLag {
        progress,
        behind,
        pending,
        dropped,
        bytes,
        age,
    } = reader.lag(EventTime::now())?;
    let MembersReport {
        subscribers: present,
        away,
        was_there,
    } = reader.members();
    let members = present.into_iter().map(|(subscriber, away)| DurableMember {
        subscriber,
        away: away.map_or(0, at_least_one),
    });
    Ok(DurableSubscriptionStatus {
        name: reader.name().to_owned(),
        position: number(progress.floor),
        pending: number(pending),
        behind: number(behind),
        dropped: number(dropped),
        lag_bytes: number(bytes),
        lag_age: micros(age),
        subscribers: i32::try_from(subscribers).unwrap_or(i32::MAX),
        members: members.collect(),
        away: away.map_or(0, at_least_one),
        // Who acknowledged something was there.
        is_away_since_start: away.is_some() && !was_there && progress.acknowledged == 0,
        expired: number(progress.expired),
        dead_letter_topic: reader.dead_letters().unwrap_or_default(),
    })
}

/// Microseconds of somebody who is away: 0 would say that it is there.
fn at_least_one(away: Duration) -> i64 {
    micros(away).max(1)
}
