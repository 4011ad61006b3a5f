//! The reader of a subscription that is about to begin.

use std::sync::Arc;

use floe_access::Caller;

use super::Registry;
use crate::core::durable::Reading;
use crate::core::{DeliveryMode, OUTSTANDING_LIMIT, Qos};
use crate::error::ChangeError;
use crate::service::durable::{DeadLetterTopic, Reader, TopicLog};
use crate::service::topic::Topic;
use crate::service::user_accounts::{Counted, UserName};

/// A reader with the rules that a subscription asks for. They come into force with [`NewReader::put_in_force`]. If this
/// is dropped before, a new durable subscription is forgotten, and an existing one keeps its rules.
pub(super) struct NewReader {
    log: Arc<TopicLog>,
    reader: Arc<Reader>,
    reading: Reading,
    dead_letters: Option<DeadLetterTopic>,
    pending_max: usize,
    /// True if the durable subscription did not exist.
    is_new: bool,
}

impl Registry {
    /// The reader of the log of a topic for a subscription of this user; `None` if it gets events as they are published. `chooser` has
    /// chosen the topic for dead letters. It may wait for the disk. The caller has begun a change.
    pub(super) fn new_reader(
        &self,
        topic: &Topic,
        qos: &Qos,
        user: Option<&UserName>,
        chooser: Option<Arc<Caller>>,
    ) -> Result<Option<NewReader>, ChangeError> {
        let Some(reading) = &qos.reading else {
            return Ok(None);
        };
        let can_read = |log: &&Arc<TopicLog>| log.is_durable() || reading.name.is_none();
        let Some(log) = topic.log().filter(can_read) else {
            return Err(ChangeError::NotDurable(topic.name().to_owned()));
        };
        let pending_max = match (reading.is_shared, qos.delivery) {
            (
                false,
                DeliveryMode::Twoway {
                    outstanding_max, ..
                },
            ) => outstanding_max,
            _ => OUTSTANDING_LIMIT,
        };
        let name = reading.name.as_ref();
        let is_new = name.is_some_and(|name| log.named(name).is_none());
        if is_new {
            let limits = &self.live_settings().limits;
            self.usage().check_durable_subscriptions(limits)?;
            self.users().check(Counted::DurableSubscriptions, user, 0)?;
        }
        let mut reading = reading.clone();
        let deadline = &mut reading.redelivery.deadline;
        *deadline = deadline.or(self.live_settings().send_timeout);
        // What the hub chooses itself is for the dead letters of this topic alone.
        let chooser = chooser.filter(|_| reading.chosen_dead_letters().is_some());
        let permit = chooser.map(|chooser| (self.guard.clone(), chooser));
        let dead_letters = reading.dead_letters_of(topic.name());
        Ok(Some(NewReader {
            dead_letters: dead_letters.map(|name| DeadLetterTopic::new(name, permit)),
            log: log.clone(),
            reader: log.reader(&reading, user)?,
            reading: *reading,
            pending_max,
            is_new,
        }))
    }
}

impl NewReader {
    /// Puts the rules in force, and returns the reader.
    pub(super) fn put_in_force(mut self) -> Arc<Reader> {
        self.is_new = false;
        let dead_letters = self.dead_letters.take();
        self.reader
            .configure(&self.reading, self.pending_max, dead_letters);
        self.reader.clone()
    }
}

impl Drop for NewReader {
    fn drop(&mut self) {
        if self.is_new
            && let Err(error) = self.log.forget(self.reader.name())
        {
            tracing::error!("{error}");
        }
    }
}
