//! A topic that is about to be created.

use std::sync::Arc;

use super::Registry;
use crate::error::ChangeError;
use crate::service::durable::TopicLog;
use crate::service::topic::Topic;
use crate::service::user_accounts::{Counted, UserName};
use crate::store::Change;

/// A topic that passed all checks, and has its log if it is durable. It exists once the store has it and
/// [`NewTopic::add`] is called. If it is dropped before that, nothing is left of it.
pub(super) struct NewTopic<'a> {
    registry: &'a Registry,
    name: String,
    user: Option<UserName>,
    log: Option<Arc<TopicLog>>,
    /// True if the files of the log are new.
    has_new_files: bool,
}

impl Registry {
    /// Checks whether there may be a topic, and opens or creates its log. The caller has begun a change.
    pub(super) fn new_topic(
        &self,
        name: String,
        is_durable: bool,
        user: Option<UserName>,
    ) -> Result<NewTopic<'_>, ChangeError> {
        if self.directory.topic(&name).is_some() {
            return Err(ChangeError::TopicExists);
        }
        self.check_topic_name(&name)?;
        self.logs.clear(&name)?;
        let (usage, limits) = (self.usage(), self.live_settings().limits);
        usage.check_topics(&limits)?;
        self.users().check(Counted::Topics, user.as_ref(), 0)?;
        if is_durable || self.is_durable(&name) {
            usage.check_durable_topics(&limits)?;
            self.users()
                .check(Counted::DurableTopics, user.as_ref(), 0)?;
        }
        let has_new_files = !self.logs.has(&name);
        // Create the log first: a durable topic must never exist without one.
        let log = self.log_of(&name, is_durable)?;
        Ok(NewTopic {
            registry: self,
            name,
            user,
            has_new_files: has_new_files && log.as_ref().is_some_and(|log| log.is_durable()),
            log,
        })
    }
}

impl NewTopic<'_> {
    /// The change that makes it permanent.
    pub(super) fn change(&self) -> Change<'_> {
        Change::CreateTopic {
            topic: &self.name,
            user: self.user.as_deref(),
            is_durable: self.log.as_ref().is_some_and(|log| log.is_durable()),
        }
    }

    /// Adds the topic, which the store has now.
    pub(super) fn add(mut self) -> Arc<Topic> {
        self.has_new_files = false;
        let log = self.log.take();
        let kind = match log.as_ref().is_some_and(|log| log.is_durable()) {
            true => "durable ",
            false => "",
        };
        tracing::info!("created {kind}topic {:?}", self.name);
        let name = std::mem::take(&mut self.name);
        self.registry.add_topic(name, log, self.user.take())
    }
}

impl Drop for NewTopic<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.log.take().filter(|_| self.has_new_files) {
            log.close();
            self.registry.logs.remove(&self.name);
        }
    }
}
