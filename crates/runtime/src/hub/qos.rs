//! Quality of service: how a hub delivers to a subscriber.

use std::collections::BTreeMap;
use std::time::Duration;

use floe_wire::reference::InvocationMode;

/// How a hub delivers to a subscriber.
///
/// What is not said is as the hub does it by default. [`Qos::overflow`], [`Qos::queue_events`],
/// [`Qos::queue_bytes`] and [`Qos::outstanding`] are known to Floe hubs; IceStorm ignores them.
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
    /// Several requests at a time, each answered. The default.
    #[default]
    Twoway,
    /// One request at a time, each answered: the order holds even if an event must be sent again.
    Ordered,
    /// Requests without an answer. The hub does not notice that a subscriber is slow or gone as early, and events
    /// under way are lost when a connection breaks.
    Oneway,
    /// The same, collected for a while (a second by default) and sent as one message.
    Batch,
}

/// Failed deliveries that the hub tolerates before it ends the subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "retryCount")]
pub enum Retries {
    /// This many. The default is 0: a failure ends the subscription, which is then made again.
    Limited(u32),
    /// Any number. After each failure the hub drops events for a while.
    Unlimited,
}

/// What a Floe hub does when the queue of the subscriber is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// Drops the events that have waited longest.
    DropOldest,
    /// Drops the event that does not fit.
    DropNewest,
    /// Lets publishers wait that have asked for it, and drops the events of others that do not fit.
    Block,
    /// Ends the subscription, which is then made again.
    Disconnect,
}

impl Qos {
    /// What the hub does by default, with answered requests.
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

    /// How many answered requests may be under way at a time, at least 1; 5 by default. Known to Floe hubs.
    #[must_use]
    pub fn outstanding(self, count: usize) -> Self {
        self.entry("floe.outstanding", count.max(1).to_string())
    }

    /// What happens when the queue is full. Known to Floe hubs.
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

    /// How many events may wait in the queue, at least 1, within the limit of the hub. Known to Floe hubs.
    #[must_use]
    pub fn queue_events(self, count: usize) -> Self {
        self.entry("floe.queueEvents", count.max(1).to_string())
    }

    /// How many bytes may wait in the queue, at least 1, within the limit of the hub. Known to Floe hubs.
    #[must_use]
    pub fn queue_bytes(self, count: usize) -> Self {
        self.entry("floe.queueBytes", count.max(1).to_string())
    }

    /// How long the hub remembers what a locator said of the subscriber, in whole seconds; `None` for ever.
    #[must_use]
    pub fn locator_cache_timeout(self, timeout: Option<Duration>) -> Self {
        let seconds = timeout.map_or("-1".to_owned(), |timeout| timeout.as_secs().to_string());
        self.entry("locatorCacheTimeout", seconds)
    }

    /// Whether the hub uses the connection used last, or selects an endpoint of the subscriber for each event.
    #[must_use]
    pub fn connection_cached(self, is_cached: bool) -> Self {
        self.entry("connectionCached", if is_cached { "1" } else { "0" })
    }

    /// An entry that has no method here.
    #[must_use]
    pub fn entry(mut self, key: &str, value: impl Into<String>) -> Self {
        self.entries.insert(key.to_owned(), value.into());
        self
    }

    /// The entries as they are sent.
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

    /// Whether a published event leaves the hub soon, and not with the next batch.
    pub(super) fn is_prompt(&self) -> bool {
        self.delivery != Delivery::Batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_is_the_text_that_hubs_know() {
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
    fn the_delivery_chosen_last_counts() {
        let qos = Qos::new()
            .delivery(Delivery::Ordered)
            .delivery(Delivery::Batch);
        assert!(qos.entries().is_empty());
        assert_eq!(qos.mode(), InvocationMode::BatchOneway);
    }
}
