//! Subscriptions of JMS, as consumers ask for them when they attach.

use crate::terminus::{Durability, Source, capability};

/// The subscription of a consumer.
///
/// Its name is that of the link. A client that shares a subscription puts a bar and more behind the name, because the names of
/// its links must differ: `group|volatile1`, `group|volatile2`.
///
/// Source: OASIS, "AMQP JMS Mapping" (working draft 9), 4; observed: Qpid JMS 2.10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The name by which it is found again; none if it is the consumer's own and ends with it.
    pub name: Option<String>,
    /// True if it outlives the consumer.
    pub is_durable: bool,
    /// True if several consumers share its messages.
    pub is_shared: bool,
    /// True if the name holds for all clients; otherwise it holds within the client id, which is the container's.
    pub is_global: bool,
}

impl Subscription {
    /// The subscription that a consumer asks for by the name of its link and its source.
    pub fn of(link_name: &str, source: &Source) -> Self {
        let is_durable = source.durable != Durability::None;
        let is_shared = source.has(&capability::SHARED);
        Self {
            name: (is_durable || is_shared).then(|| Self::name_of(link_name).to_owned()),
            is_durable,
            is_shared,
            is_global: source.has(&capability::GLOBAL),
        }
    }

    /// The name of a subscription in the name of a link, as in the attach without a source that unsubscribes it.
    pub fn name_of(link_name: &str) -> &str {
        link_name.split('|').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_share_a_subscription_have_its_name_in_front() {
        let mut source = Source::at("work");
        source.capabilities = vec![capability::TOPIC, capability::SHARED];
        let volatile = Subscription {
            name: Some("group".to_owned()),
            is_durable: false,
            is_shared: true,
            is_global: false,
        };
        for name in ["group|volatile1", "group|volatile2"] {
            assert_eq!(Subscription::of(name, &source), volatile);
        }
        source.capabilities.push(capability::GLOBAL);
        source.durable = Durability::UnsettledState;
        let durable = Subscription {
            is_durable: true,
            is_global: true,
            ..volatile
        };
        assert_eq!(Subscription::of("group|global2", &source), durable);
    }

    #[test]
    fn the_name_of_a_plain_consumer_names_no_subscription() {
        let subscription = Subscription::of("qpid-jms:receiver:1", &Source::at("news"));
        assert_eq!(subscription.name, None);
    }
}
