//! The topics of a broker: which one a message means.

use std::sync::Arc;
use std::time::SystemTime;

use super::topic::{Event, Topic};
use crate::hub::Port;
use crate::soap::codec::Document;
use crate::soap::message::{Fault, Message, NotificationFault, date_time};

/// All topics.
#[derive(Debug)]
pub(super) struct Topics {
    list: Vec<Arc<Topic>>,
}

impl Topics {
    pub(super) fn new(ports: Vec<Port>, namespace: &str) -> Self {
        let topics = ports.into_iter();
        let topics = topics.map(|it| Arc::new(Topic::new(it, namespace)));
        Self {
            list: topics.collect(),
        }
    }

    /// Reads all events of a Notify: if one is none, none is published.
    pub(super) fn events(
        &self,
        document: &Document<'_>,
        messages: &[Message],
    ) -> Result<Vec<(Arc<Topic>, Event)>, Fault> {
        let event = |message: &Message| {
            let topic = match &message.topic {
                Some(name) => self.find(Some(name), |it| it.port().direction().is_in())?,
                None => self.find(None, |it| {
                    it.port().direction().is_in() && it.has(document, message.event)
                })?,
            };
            let event = topic.read(document, message.event)?;
            Ok((topic, event))
        };
        messages.iter().map(event).collect()
    }

    /// The topic of this name, or the only one; of those for which something holds.
    pub(super) fn find(
        &self,
        name: Option<&str>,
        holds: impl Fn(&Topic) -> bool,
    ) -> Result<Arc<Topic>, Fault> {
        let mut known = self.list.iter().filter(|it| holds(it));
        let list = || {
            let names: Vec<&str> = self
                .list
                .iter()
                .map(|it| it.port().name())
                .take(20)
                .collect();
            names.join(", ")
        };
        let Some(name) = name else {
            return match (known.next(), known.next()) {
                (Some(topic), None) => Ok(topic.clone()),
                _ => Err(Fault::notification(
                    NotificationFault::InvalidTopicExpression,
                    date_time(SystemTime::now()),
                    format!(
                        "expected a topic, because there is not exactly one that it could be of: {}",
                        list()
                    ),
                )),
            };
        };
        // A topic expression may be a name with a prefix.
        let bare = name.rsplit_once(':').map_or(name, |(_, bare)| bare);
        let all: Vec<_> = known.collect();
        let found = [name, bare].into_iter().find_map(|it| {
            let mut all = all.iter();
            all.find(|topic| topic.port().name() == it)
        });
        found.map(|it| Arc::clone(it)).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            Fault::notification(
                NotificationFault::TopicNotSupported,
                date_time(SystemTime::now()),
                format!(
                    "expected a topic that leads this way, one of {}, got {shown:?}",
                    list()
                ),
            )
        })
    }
}
