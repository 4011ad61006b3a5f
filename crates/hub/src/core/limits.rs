//! The limits of a queue, and the policy for events beyond them.

use std::str::FromStr;
use std::time::Duration;

/// How many events may be queued for one subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "Send.QueueSizeMax")]
pub struct QueueLimits {
    /// The number of events. Default 100,000: some seconds of a fast publisher.
    pub events: usize,
    /// Bytes of operation, mode, context and parameters. Default 64 MiB. An event in several queues is stored once, and
    /// counts in each.
    pub bytes: usize,
    /// How long a full queue may hold publishers back, so that nothing is lost while the subscriber is only slower than
    /// they are. The time begins anew whenever the subscriber has taken a hundredth of its queue. If it does not,
    /// `overflow` decides about further events until it takes events again, and for at least 20 times as long. Default
    /// 1 s. Zero never holds a publisher back.
    pub patience: Duration,
    /// Decides which event is lost when one exceeds the limits after the patience is over.
    pub overflow: OverflowPolicy,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 64 * 1024 * 1024,
            patience: Duration::from_secs(1),
            overflow: OverflowPolicy::DropOldest,
        }
    }
}

/// Decides what happens to an event that does not fit into a queue. The names of the policies in text are
/// `drop-oldest`, `drop-newest`, `block` and `disconnect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "Send.QueueSizeMaxPolicy")]
pub enum OverflowPolicy {
    /// The oldest queued events are lost. This is the default: a subscriber that was slow for a while continues with
    /// current events.
    #[default]
    #[doc(alias = "DropEvents")]
    DropOldest,
    /// The event that does not fit is lost. Queued events stay.
    DropNewest,
    /// A publisher that asks for it waits until there is room, however long that takes, and nothing is lost: it
    /// publishes to the facet [`WAITING_FACET`] of the publisher object. Events of other publishers are lost as with
    /// [`OverflowPolicy::DropNewest`] when the patience is over.
    Block,
    /// The subscription ends, and all queued events are lost.
    #[doc(alias = "RemoveSubscriber")]
    Disconnect,
}

/// Facet of a publisher object for publishers that wait without a limit while the queue of a subscriber with
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
    fn each_policy_has_a_name_and_the_error_for_another_name_lists_them() {
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
