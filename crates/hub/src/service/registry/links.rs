//! Links between topics begin and end.

use std::sync::Arc;

use floe::{Communicator, Identity};

use super::Registry;
use crate::core::OUTSTANDING_LIMIT;
use crate::core::durable::Reading;
use crate::error::ChangeError;
use crate::service::durable::Reader;
use crate::service::one_line::OneLine;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::service::topic_link::TopicLink;
use crate::store::{Change, StoredLink};

impl Registry {
    /// Links a topic to another one.
    pub(crate) fn link(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        link: StoredLink,
        communicator: &Communicator,
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let identity = &link.topic.identity;
        let former = topic.find(identity);
        if former.as_ref().is_some_and(|former| !former.is_gone()) {
            return Err(ChangeError::LinkExists);
        }
        let what = "topic name and identity of the other topic";
        self.check_len(what, topic.name(), identity)?;
        self.usage().check_links(&self.live_settings().limits)?;
        let change = Change::Link {
            topic: topic.name(),
            link: &link,
        };
        self.replace(&mut changes, topic, former.as_slice(), &[change])?;
        // A new link begins with new events, whatever an earlier one has left.
        forget_position(topic, identity);
        let (shown, cost) = (OneLine(identity), link.cost);
        let name = topic.name();
        tracing::info!("linked topic {name:?} to \"{shown}\" at cost {cost}");
        self.add_link(topic, link, communicator);
        Ok(())
    }

    /// Removes a link.
    pub(crate) fn unlink(&self, topic: &Topic, identity: &Identity) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let found = topic.find(identity).filter(|found| found.link().is_some());
        let link = found.ok_or(ChangeError::NoSuchLink)?;
        self.remove(&mut changes, topic, &[link])?;
        forget_position(topic, identity);
        Ok(())
    }

    pub(super) fn add_link(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        link: StoredLink,
        communicator: &Communicator,
    ) {
        let instance = &self.settings().instance_name;
        let link = TopicLink::new(link, instance, &self.guard, |reference| {
            communicator.proxy_from(reference)
        });
        let (name, settings) = (topic.shared_name(), self.queue_settings());
        let reader = link_reader(topic, &link.topic().reference().identity);
        let link = Subscriber::new_link(name, link, &settings, self.deliveries.ready());
        self.add_recipient(topic, Arc::new(link.with_reader(reader)));
    }
}

/// The reader of a link of a durable topic, which continues at its position, or begins with new events.
fn link_reader(topic: &Topic, identity: &Identity) -> Option<Arc<Reader>> {
    let log = topic.log().filter(|log| log.is_durable())?;
    let reading = Reading::of_link(&OneLine(identity).to_string());
    match log.reader(&reading, None) {
        Ok(reader) => {
            reader.configure(&reading, OUTSTANDING_LIMIT, None);
            Some(reader)
        }
        Err(error) => {
            tracing::error!(
                "the link of topic {:?} to \"{}\" has no position, and loses events while the other topic is away: {error}",
                topic.name(),
                OneLine(identity)
            );
            None
        }
    }
}

fn forget_position(topic: &Topic, identity: &Identity) {
    let name = Reading::name_of_link(&OneLine(identity).to_string());
    let forgotten = topic.log().map(|log| log.forget(&name));
    if let Some(Err(error)) = forgotten {
        tracing::error!("{error}");
    }
}
