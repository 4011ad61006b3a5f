//! Dead letters: events that a durable subscription could not deliver, in a durable topic of their own.

use std::fmt;
use std::time::Instant;

use floe::forwarding::HOPS_KEY;

use super::directory::ObjectDirectory;
use super::durable::{DeadLetterTopic, Reader};
use super::one_line::OneLine;
use crate::core::durable::{Absence, LEVEL_KEY, NUMBER_KEY, PUBLISHER_KEY};
use crate::core::{HOPS_MAX, LIFESPAN_KEY, next_hop, value_of, with_entries};

/// The fate of an event that could not be delivered. It needs no further attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeadLetter {
    /// It is an event of the topic for dead letters.
    Stored,
    /// The log has dropped it.
    Trimmed,
    /// It has been a dead letter too often.
    HopLimit,
}

/// How often an event becomes a dead letter. Each letter goes to all subscriptions of its topic, and each of them may refuse
/// it: if dead letters come back to their topic, the letters of one event multiply with each round.
const TIMES_MAX: u32 = 3;

/// The key of the context entry that counts how often an event has become a dead letter.
const TIMES_KEY: &str = "floe.deadTimes";

/// How often an event has become a dead letter. Only a hub writes the entry: anything but a number counts as the maximum.
fn times(event: &[u8]) -> u32 {
    let times = value_of(event, TIMES_KEY).map(std::str::from_utf8);
    times.map_or(0, |times| {
        let times = times.ok().and_then(|times| times.parse().ok());
        times.unwrap_or(TIMES_MAX)
    })
}

/// Refuses the events that programs have pulled and not acknowledged in time.
pub(super) async fn refuse_late_pulls(reader: &Reader, directory: &ObjectDirectory) {
    let reason = "its acknowledgement did not come in time";
    while let Some((sequence, attempts)) = reader.refuse_late_pulls(Instant::now()) {
        settle(reader, directory, sequence, attempts, reason).await;
    }
}

/// Stores an event as a dead letter that a program has pulled. If that fails, it is delivered again.
pub(super) async fn settle(
    reader: &Reader,
    directory: &ObjectDirectory,
    sequence: u64,
    attempts: u32,
    reason: &str,
) {
    match store(reader, directory, sequence, attempts, reason).await {
        Ok(_) => reader.handle_acknowledged([sequence].into_iter()),
        Err(error) => {
            reader.handle_undead(sequence, Absence::WAIT_MAX);
            tracing::error!("event {sequence} cannot become a dead letter: {error}");
        }
    }
}

/// Stores an event as a dead letter: the event, with its origin and the reason in its context, is published to another
/// topic.
///
/// # Errors
/// Why it is not stored.
pub(super) async fn store(
    reader: &Reader,
    directory: &ObjectDirectory,
    sequence: u64,
    attempts: u32,
    reason: &str,
) -> Result<DeadLetter, String> {
    let Some((time, event)) = reader.event(sequence).await? else {
        return Ok(DeadLetter::Trimmed);
    };
    let target = reader.dead_letter_topic();
    let name = target.as_ref().map_or("", |target| target.name());
    // Who has chosen the topic may have lost the right to publish there.
    let allowed = target.as_ref().map_or(Ok(()), DeadLetterTopic::check);
    allowed.map_err(|error| {
        format!("the subscription may not publish to {name:?}, which it has chosen: {error}")
    })?;
    let topic = directory.topic(name);
    let Some(topic) = topic.filter(|topic| topic.log().is_some()) else {
        return Err(format!(
            "there is no durable topic {name:?}: create it with `floe topic create --durable`"
        ));
    };
    let next_hop = next_hop(event.as_bytes()).map_err(|error| error.to_string())?;
    let Some(hops) = next_hop else {
        tracing::warn!(
            "dropped event {sequence} of topic {:?}: it has been a dead letter {HOPS_MAX} times; break the cycle of \
             floe.deadLetters",
            reader.topic()
        );
        return Ok(DeadLetter::HopLimit);
    };
    let times = times(event.as_bytes());
    if times >= TIMES_MAX {
        tracing::warn!(
            "dropped event {sequence} of topic {:?}: it has become a dead letter {TIMES_MAX} times; break the cycle of \
             floe.deadLetters",
            reader.topic()
        );
        return Ok(DeadLetter::HopLimit);
    }
    let text = |value: &dyn fmt::Display| value.to_string();
    let origin = [
        ("floe.deadTopic", reader.topic().to_owned()),
        ("floe.deadSubscription", reader.name().to_owned()),
        ("floe.deadSequence", text(&sequence)),
        ("floe.deadTime", text(&time.0)),
        ("floe.deadAttempts", text(&attempts)),
        ("floe.deadReason", text(&OneLine(reason))),
        (TIMES_KEY, text(&(times + 1))),
        (HOPS_KEY, text(&hops)),
    ];
    // These entries were meant for the topic of the event. Its number would make another subscription's dead letter a
    // duplicate. If the event is a dead letter already, it gets another origin.
    let mut removed = vec![LEVEL_KEY, PUBLISHER_KEY, NUMBER_KEY, LIFESPAN_KEY];
    removed.extend(origin.iter().map(|(key, _)| *key));
    let letter = with_entries(event.as_bytes(), &removed, &origin);
    let letter = letter.map_err(|error| error.to_string())?;
    let published = topic.publish(letter.into(), false, Instant::now());
    let stored = published.done().await.map_err(|error| error.to_string());
    stored.map(|()| {
        reader.note_dead_letter();
        DeadLetter::Stored
    })
}
