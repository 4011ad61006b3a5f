//! Where a link leads.

use floe::{Adapter, Identity, Proxy, Reference};

use super::registry::Registry;
use crate::core::{Cost, named_topic, topic_name};
use crate::store::StoredLink;

/// The other end of a link.
pub(crate) struct Link {
    topic: Proxy,
    end: End,
    cost: Cost,
}

/// Who takes the events.
enum End {
    /// A topic of the same hub, found by its name each time: its events need no call.
    Here(String),
    /// The receiving end of a topic anywhere.
    Receiver(Proxy),
}

impl Link {
    /// The link that is stored so. `bind` makes a proxy of a reference.
    pub(crate) fn new(
        stored: StoredLink,
        registry: &Registry,
        bind: impl Fn(Reference) -> Proxy,
    ) -> Self {
        let StoredLink {
            mut topic,
            receiver,
            cost,
        } = stored;
        let end = match receiver {
            Some(receiver) => End::Receiver(bind(receiver)),
            None => {
                let name = named_topic(&topic.identity.name).to_owned();
                // The hub may be called otherwise than when it was stored.
                let instance = &registry.settings().instance_name;
                topic.identity = Identity::with_category(topic_name(&name), instance);
                End::Here(name)
            }
        };
        Self {
            topic: bind(topic),
            end,
            cost: Cost(cost),
        }
    }

    /// The topic at the other end. If it is one of the same hub, the proxy may have endpoints at
    /// which the hub listened when they were linked.
    pub(crate) fn topic(&self) -> &Proxy {
        &self.topic
    }

    /// The topic at the other end as the hub that listens here knows it.
    pub(crate) fn topic_from(&self, adapter: &Adapter) -> Proxy {
        match &self.end {
            End::Here(_) => adapter.proxy(self.topic.reference().identity.clone()),
            End::Receiver(_) => self.topic.clone(),
        }
    }

    /// The name of that topic, if it is one of the same hub.
    pub(crate) fn name_here(&self) -> Option<&str> {
        match &self.end {
            End::Here(name) => Some(name),
            End::Receiver(_) => None,
        }
    }

    /// The object that takes the events, if they leave the hub; else the topic.
    pub(crate) fn receiver(&self) -> &Proxy {
        match &self.end {
            End::Here(_) => &self.topic,
            End::Receiver(receiver) => receiver,
        }
    }

    /// What it costs.
    pub(crate) fn cost(&self) -> Cost {
        self.cost
    }

    /// The name of the topic at the other end.
    pub(crate) fn name(&self) -> &str {
        named_topic(&self.topic.reference().identity.name)
    }
}
