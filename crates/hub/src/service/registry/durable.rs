//! Durable topics begin, are maintained, and end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use floe_access::Caller;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::Registry;
use super::new_reader::NewReader;
use super::new_topic::NewTopic;
use super::subscriptions::former_readers;
use crate::blocking_work::{self, WorkKind};
use crate::core::Qos;
use crate::error::{ChangeError, StoreError};
use crate::service::durable::TopicLog;
use crate::service::topic::Topic;
use crate::service::user_accounts::UserName;
use crate::store::{Change, StoredTopic};

/// How often logs are maintained.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

impl Registry {
    /// Returns true if a topic is durable: the settings say so, or there is a log of it.
    pub(super) fn is_durable(&self, topic: &str) -> bool {
        self.live_settings().durable_topics.contains_key(topic) || self.logs.has(topic)
    }

    /// The log of a topic, opened or created, if it is durable or `is_wanted` so, or remembers events in memory.
    pub(super) fn log_of(
        &self,
        topic: &str,
        is_wanted: bool,
    ) -> Result<Option<Arc<TopicLog>>, StoreError> {
        let settings = self.live_settings();
        let log = match settings.history_of(topic) {
            _ if is_wanted || self.is_durable(topic) => {
                self.logs.open(topic, &settings.durable_of(topic))?
            }
            Some(history) => {
                let publishers = self.logs.counts().publishers().clone();
                let catch_up = self.deliveries.ready().catch_up();
                TopicLog::in_memory(topic, history, catch_up, publishers)
            }
            None => return Ok(None),
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(maintain(Arc::downgrade(&log)));
        }
        Ok(Some(log))
    }

    /// The log of a topic that the store has.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be opened, or is gone and the settings do not accept damage.
    pub(super) fn stored_log(
        &self,
        stored: &StoredTopic,
    ) -> Result<Option<Arc<TopicLog>>, StoreError> {
        let (name, is_durable) = (&stored.name[..], stored.is_durable);
        if is_durable && let Err(error) = self.logs.check_present(name) {
            if !self.settings().accept_damage {
                return Err(error);
            }
            tracing::error!("the log of the durable topic {name:?} was gone, and begins anew");
        }
        let log = self.log_of(name, is_durable)?;
        if !is_durable && log.as_ref().is_some_and(|log| log.is_durable()) {
            // An earlier hub did not store it, or the settings made it so.
            let change = Change::CreateTopic {
                topic: name,
                user: stored.user.as_deref(),
                is_durable: true,
            };
            self.apply(&mut self.lock_changes(), &[change])?;
        }
        Ok(log)
    }

    /// Creates the durable topics of the settings that do not exist.
    pub(super) fn create_durable_topics(&self) -> Result<(), StoreError> {
        let settings = self.live_settings();
        for name in settings.durable_topics.keys() {
            if self.directory.topic(name).is_some() {
                continue;
            }
            let text = |refusal: ChangeError| {
                StoreError::new(format!("the settings name a durable topic: {refusal}"))
            };
            self.check_topic_name(name).map_err(text)?;
            self.logs.clear(name)?;
            let log = self.log_of(name, true)?;
            let mut changes = self.lock_changes();
            let change = Change::CreateTopic {
                topic: name,
                user: None,
                is_durable: true,
            };
            self.apply(&mut changes, &[change])?;
            tracing::info!("created durable topic {name:?}, which the settings name");
            self.add_topic(name.clone(), log, None);
        }
        Ok(())
    }

    /// Begins a durable subscription that is pulled, or continues the one with this name. `chooser` has chosen the topic for dead
    /// letters.
    pub(crate) fn open_pull(
        &self,
        topic: &Topic,
        qos: &Qos,
        user: Option<UserName>,
        chooser: Option<Arc<Caller>>,
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let name = qos.reading.as_ref().and_then(|it| it.name.as_deref());
        let known = topic
            .log()
            .zip(name)
            .and_then(|(log, name)| log.named(name));
        if let Some(known) = known.filter(|known| known.is_sticky()) {
            return Err(ChangeError::KeyDiffers(known.name().to_owned()));
        }
        let leaving = former_readers(topic, None, qos)?;
        let dead_letters = self.new_dead_letters(topic, qos, user.clone())?;
        let reader = self.new_reader(topic, qos, user.as_ref(), chooser)?;
        let create: Vec<_> = dead_letters.iter().map(NewTopic::change).collect();
        self.replace(&mut changes, topic, &leaving, &create)?;
        drop(dead_letters.map(NewTopic::add));
        drop(reader.map(NewReader::put_in_force));
        Ok(())
    }

    /// Forgets the position of a durable subscription, and ends the subscriptions of its subscribers.
    pub(crate) fn forget(
        &self,
        topic: &Topic,
        log: &TopicLog,
        name: &str,
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        self.remove(&mut changes, topic, &topic.find_reader(name))?;
        Ok(log.forget(name)?)
    }

    /// The topic for the dead letters of a subscription, which is to be created with it; `None` if it exists, or the
    /// subscription has no dead letters. The caller has begun a change.
    pub(super) fn new_dead_letters(
        &self,
        topic: &Topic,
        qos: &Qos,
        user: Option<UserName>,
    ) -> Result<Option<NewTopic<'_>>, ChangeError> {
        let reading = qos.reading.as_ref().filter(|_| topic.is_durable());
        let name = reading.and_then(|reading| reading.dead_letters_of(topic.name()));
        let Some(name) = name else {
            return Ok(None);
        };
        match self.directory.topic(&name) {
            Some(known) if known.is_durable() => Ok(None),
            Some(_) => Err(ChangeError::NotDurable(name)),
            None => self.new_topic(name, true, user).map(Some),
        }
    }

    /// Refuses further events for all logs, and syncs them. It waits for the disk.
    pub(super) fn close_logs(&self) {
        for topic in self.directory.topics() {
            if let Some(log) = topic.log() {
                log.close();
            }
        }
    }
}

/// Maintains a log as long as there is one.
async fn maintain(log: Weak<TopicLog>) {
    loop {
        sleep(MAINTENANCE_INTERVAL).await;
        let Some(log) = log.upgrade() else {
            return;
        };
        // If the runtime is shutting down, the log is closed.
        let _ = blocking_work::run(WorkKind::Maintenance, move || log.maintain()).await;
    }
}
