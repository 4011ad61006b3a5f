//! Quality of service: how a hub delivers to a subscriber.

use std::collections::BTreeMap;
use std::time::Duration;

use floe_wire::reference::InvocationMode;

/// How a hub delivers to a subscriber.
///
/// An option that you do not set has the hub's default. Only Floe hubs know [`Qos::patience`], [`Qos::overflow`],
/// [`Qos::queue_events`], [`Qos::queue_bytes`] and [`Qos::outstanding`]; IceStorm ignores them.
///
/// ```
/// use floe::hub::{Delivery, Overflow, Qos};
///
/// let qos = Qos::new()
///     .delivery(Delivery::Ordered)
///     .overflow(Overflow::Block)
///     .queue_events(10_000);
/// assert_eq!(qos.entries()["reliability"], "ordered");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(alias = "IceStorm.QoS")]
pub struct Qos {
    delivery: Delivery,
    entries: BTreeMap<String, String>,
}

/// How the hub sends events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "reliability")]
pub enum Delivery {
    /// Several requests at a time, each answered; a stream answers those of a Floe hub in groups. The default.
    #[default]
    Twoway,
    /// One request at a time, each answered: the order is kept even if an event must be sent again.
    Ordered,
    /// Requests without a reply. The hub notices later that a subscriber is slow or gone, and events under way are lost
    /// when a connection breaks.
    Oneway,
    /// Requests without a reply, collected for a while (a second by default) and sent as one message.
    Batch,
}

/// Failed deliveries that the hub tolerates before it ends the subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "retryCount")]
pub enum Retries {
    /// This many. The default is 0: a failure ends the subscription, and the client subscribes again.
    Limited(u32),
    /// Any number. After each failure the hub drops events for a while.
    Unlimited,
}

/// The action of a Floe hub when the subscriber's queue is full and its patience is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// Drops the oldest events.
    DropOldest,
    /// Drops the new event.
    DropNewest,
    /// Blocks publishers that have asked for it without a limit, and drops new events of the others.
    Block,
    /// Ends the subscription, and the client subscribes again.
    Disconnect,
}

impl Qos {
    /// No options: the hub's defaults, with answered requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// How events are sent.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        match delivery {
            Delivery::Ordered => self.entry("reliability", "ordered"),
            _ => {
                self.entries.remove("reliability");
                self
            }
        }
    }

    /// How many failed deliveries the hub tolerates.
    #[must_use]
    pub fn retries(self, retries: Retries) -> Self {
        match retries {
            Retries::Limited(count) => self.entry("retryCount", count.to_string()),
            Retries::Unlimited => self.entry("retryCount", "-1"),
        }
    }

    /// How many answered requests may be under way at a time, at least 1. By default the number grows by itself from 5
    /// while answers come in order. Floe hubs only.
    #[must_use]
    pub fn outstanding(self, count: usize) -> Self {
        self.entry("floe.outstanding", count.max(1).to_string())
    }

    /// How long publishers may be held back while the queue is full and the subscriber takes no events, in whole
    /// milliseconds and within the patience of the hub; 0 never holds them back. Floe hubs only.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        self.entry("floe.patience", patience.as_millis().to_string())
    }

    /// Sets the action when the queue is full and the patience is over. Floe hubs only.
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        let policy = match overflow {
            Overflow::DropOldest => "drop-oldest",
            Overflow::DropNewest => "drop-newest",
            Overflow::Block => "block",
            Overflow::Disconnect => "disconnect",
        };
        self.entry("floe.overflow", policy)
    }

    /// How many events may wait in the queue, at least 1, within the limit of the hub. Floe hubs only.
    #[must_use]
    pub fn queue_events(self, count: usize) -> Self {
        self.entry("floe.queueEvents", count.max(1).to_string())
    }

    /// How many bytes may wait in the queue, at least 1, within the limit of the hub. Floe hubs only.
    #[must_use]
    pub fn queue_bytes(self, count: usize) -> Self {
        self.entry("floe.queueBytes", count.max(1).to_string())
    }

    /// Makes the subscription durable, at a durable topic: it goes on where the subscription of this name has ended. Its
    /// position survives the subscriber and the hub. Floe hubs only.
    #[must_use]
    pub fn durable(self, name: &str) -> Self {
        self.entry("floe.durable", name)
    }

    /// Where the subscription begins in the log of a durable topic, if it has no position: `beginning`, `new`, `last`,
    /// `-10` for the last ten events, `seq:42`, or `time:2026-01-31T12:00:00Z`. Floe hubs only.
    #[must_use]
    pub fn begin_at(self, position: &str) -> Self {
        self.entry("floe.from", position)
    }

    /// Events that are older when their turn comes are not delivered, and count as lost. It is rounded up to milliseconds. Floe hubs
    /// only.
    #[must_use]
    pub fn lifespan(self, max: Duration) -> Self {
        let millis = max.as_micros().div_ceil(1000).max(1);
        self.entry("floe.lifespan", millis.to_string())
    }

    /// Lets several subscribers share a durable subscription: each event goes to one of them. Floe hubs only.
    #[must_use]
    pub fn shared(self) -> Self {
        self.entry("floe.shared", "yes")
    }

    /// Lets the events of one key go to one of the subscribers that share a durable subscription, one after the other. The key
    /// of an event is the value that its context has for `context_key`. Floe hubs only.
    #[must_use]
    pub fn sticky(self, context_key: &str) -> Self {
        self.shared().entry("floe.sticky", context_key)
    }

    /// How long the hub caches a locator's answer about the subscriber, in whole seconds; `None` caches it for ever.
    #[must_use]
    pub fn locator_cache_timeout(self, timeout: Option<Duration>) -> Self {
        let seconds = timeout.map_or("-1".to_owned(), |timeout| timeout.as_secs().to_string());
        self.entry("locatorCacheTimeout", seconds)
    }

    /// If true, the hub keeps using its last connection. If false, it selects an endpoint of the subscriber for each
    /// event.
    #[must_use]
    pub fn connection_cached(self, is_cached: bool) -> Self {
        self.entry("connectionCached", if is_cached { "1" } else { "0" })
    }

    /// An entry that this type has no method for.
    #[must_use]
    pub fn entry(mut self, key: &str, value: impl Into<String>) -> Self {
        self.entries.insert(key.to_owned(), value.into());
        self
    }

    /// The entries in the form in which they are sent.
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.entries
    }

    /// The mode of the subscriber's proxy.
    pub(super) fn mode(&self) -> InvocationMode {
        match self.delivery {
            Delivery::Twoway | Delivery::Ordered => InvocationMode::Twoway,
            Delivery::Oneway => InvocationMode::Oneway,
            Delivery::Batch => InvocationMode::BatchOneway,
        }
    }

    /// Returns true if replies move a position.
    pub(super) fn is_durable(&self) -> bool {
        self.entries.contains_key("floe.durable")
    }

    /// Returns false if the hub may select a connection for each event.
    pub(super) fn is_connection_cached(&self) -> bool {
        self.entries
            .get("connectionCached")
            .is_none_or(|value| value != "0")
    }

    /// Returns true if an event leaves the hub soon after it is published, and not with the next batch.
    pub(super) fn is_prompt(&self) -> bool {
        self.delivery != Delivery::Batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_the_text_that_hubs_know() {
        let qos = Qos::new()
            .delivery(Delivery::Ordered)
            .retries(Retries::Unlimited)
            .outstanding(0)
            .overflow(Overflow::DropNewest)
            .queue_events(7)
            .queue_bytes(8)
            .locator_cache_timeout(None)
            .connection_cached(false);
        let expected = [
            ("connectionCached", "0"),
            ("floe.outstanding", "1"),
            ("floe.overflow", "drop-newest"),
            ("floe.queueBytes", "8"),
            ("floe.queueEvents", "7"),
            ("locatorCacheTimeout", "-1"),
            ("reliability", "ordered"),
            ("retryCount", "-1"),
        ];
        let entries = qos.entries().iter().map(|(k, v)| (k.as_str(), v.as_str()));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_last_chosen_delivery_wins() {
        let qos = Qos::new()
            .delivery(Delivery::Ordered)
            .delivery(Delivery::Batch);
        assert!(qos.entries().is_empty());
        assert_eq!(qos.mode(), InvocationMode::BatchOneway);
    }
}
