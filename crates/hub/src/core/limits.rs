//! How much may wait, and what happens to the rest.

use std::str::FromStr;

/// How much may wait for one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "Send.QueueSizeMax")]
pub struct QueueLimits {
    /// Events. Default 100,000: some seconds of a fast publisher.
    pub events: usize,
    /// Bytes of operation, mode, context and parameters. Default 64 MiB. An event that waits in
    /// several queues is held once, and counts in each.
    pub bytes: usize,
    /// What happens when it is too much.
    pub overflow: OverflowPolicy,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 64 * 1024 * 1024,
            overflow: OverflowPolicy::DropOldest,
        }
    }
}

/// What happens when an event does not fit into a queue. In text `drop-oldest`, `drop-newest`,
/// `block` or `disconnect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "Send.QueueSizeMaxPolicy")]
pub enum OverflowPolicy {
    /// The events that wait longest are lost. The default: a subscriber that was slow for a while
    /// goes on with the present.
    #[default]
    #[doc(alias = "DropEvents")]
    DropOldest,
    /// The event that does not fit is lost: what was accepted stays.
    DropNewest,
    /// A publisher that asked for it waits until there is room, and nothing is lost: it publishes
    /// to the facet [`WAITING_FACET`] of the publisher object. The events of others are lost as by
    /// [`OverflowPolicy::DropNewest`], so that what was accepted stays.
    Block,
    /// The subscription ends, and with it all that waits.
    #[doc(alias = "RemoveSubscriber")]
    Disconnect,
}

/// Facet of a publisher object for publishers that wait while the queue of a subscriber with
/// [`OverflowPolicy::Block`] is full. A twoway request is answered when all queues have the event.
pub const WAITING_FACET: &str = "floe.wait";

impl OverflowPolicy {
    /// The policies by their names in text.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("block", Self::Block),
        ("drop-oldest", Self::DropOldest),
        ("drop-newest", Self::DropNewest),
        ("disconnect", Self::Disconnect),
    ];
}

impl FromStr for OverflowPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, policy)| *policy).ok_or_else(|| {
            format!("expected block, drop-oldest, drop-newest or disconnect, got {text:?}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_a_name_and_another_name_is_refused_with_all_of_them() {
        for (name, policy) in OverflowPolicy::NAMES {
            assert_eq!(name.parse(), Ok(policy));
        }
        let error = OverflowPolicy::from_str("drop").unwrap_err();
        assert_eq!(
            error,
            "expected block, drop-oldest, drop-newest or disconnect, got \"drop\""
        );
    }
}
