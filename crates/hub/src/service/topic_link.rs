//! The other end of a link.

use std::sync::Arc;

use floe::{Adapter, Identity, Proxy, Reference, SystemException};
use floe_access::{Action, Caller};

use super::guard::Guard;
use crate::core::{Cost, named_topic, topic_name};
use crate::store::{StoredCaller, StoredLink};

/// The topic that a link leads to, and what the link costs.
pub(crate) struct TopicLink {
    topic: Proxy,
    receiver: LinkReceiver,
    cost: Cost,
    /// Asks the rules about a link within the hub: whether its maker may publish there, now.
    permit: Option<(Arc<Guard>, Arc<Caller>)>,
}

/// The object that receives the events of a link.
enum LinkReceiver {
    /// A topic of the same hub, looked up by name for each delivery. Its events need no call.
    Local(String),
    /// The link receiver of a topic in any event service.
    Remote(Proxy),
}

impl TopicLink {
    /// Restores a link from the store. `bind` makes a proxy from a reference.
    pub(crate) fn new(
        stored: StoredLink,
        instance_name: &str,
        guard: &Arc<Guard>,
        bind: impl Fn(Reference) -> Proxy,
    ) -> Self {
        let StoredLink {
            mut topic,
            receiver,
            cost,
            maker,
        } = stored;
        let receiver = match receiver {
            Some(receiver) => LinkReceiver::Remote(bind(receiver)),
            None => {
                let name = named_topic(&topic.identity.name).to_owned();
                // The hub may have had another instance name when the link was stored.
                topic.identity = Identity::with_category(topic_name(&name), instance_name);
                LinkReceiver::Local(name)
            }
        };
        Self {
            topic: bind(topic),
            receiver,
            cost: Cost(cost),
            permit: maker.map(|StoredCaller(maker)| (guard.clone(), maker)),
        }
    }

    /// Checks that the maker of a link within the hub may publish to this topic under the rules of this moment. Another hub
    /// asks its own rules about what this hub sends.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn check_publish(&self, topic: &str) -> Result<(), SystemException> {
        match &self.permit {
            Some((guard, maker)) => guard.check_caller(maker, Action::Publish, topic),
            None => Ok(()),
        }
    }

    /// The topic at the other end. For a topic of the same hub, its endpoints may be those at which the hub listened when
    /// the link was made.
    pub(crate) fn topic(&self) -> &Proxy {
        &self.topic
    }

    /// The topic at the other end, as a hub that listens at `adapter` names it.
    pub(crate) fn topic_from(&self, adapter: &Adapter) -> Proxy {
        match &self.receiver {
            LinkReceiver::Local(_) => adapter.proxy(self.topic.reference().identity.clone()),
            LinkReceiver::Remote(_) => self.topic.clone(),
        }
    }

    /// The name of the topic at the other end, if it is in the same hub.
    pub(crate) fn local_name(&self) -> Option<&str> {
        match &self.receiver {
            LinkReceiver::Local(name) => Some(name),
            LinkReceiver::Remote(_) => None,
        }
    }

    /// The object that receives the events, if they leave the hub; otherwise the topic.
    pub(crate) fn receiver(&self) -> &Proxy {
        match &self.receiver {
            LinkReceiver::Local(_) => &self.topic,
            LinkReceiver::Remote(receiver) => receiver,
        }
    }

    /// The cost of the link.
    pub(crate) fn cost(&self) -> Cost {
        self.cost
    }

    /// The name of the topic at the other end.
    pub(crate) fn name(&self) -> &str {
        named_topic(&self.topic.reference().identity.name)
    }
}
