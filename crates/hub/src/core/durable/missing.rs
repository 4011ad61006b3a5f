//! Events that were meant for a subscription, and that the log does not have any more.

use std::fmt;

use crate::core::log::GapReason;

/// Events that a subscription will never get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingEvents {
    pub(crate) count: u64,
    pub(crate) reason: GapReason,
}

/// Says it in the log of the hub, behind the name of the subscription.
impl fmt::Display for MissingEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, reason } = self;
        let events = match count {
            1 => "event",
            _ => "events",
        };
        let why = match reason {
            GapReason::Expired => {
                "the retention of the topic overtook it; let its program run, or keep more events"
            }
            GapReason::Damaged => "the disk has lost or changed them",
        };
        write!(f, "lost {count} {events}: {why}")
    }
}
