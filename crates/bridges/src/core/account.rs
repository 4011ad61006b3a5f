//! Counts of one topic of a bridge: events that came in, went out, were refused or lost.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why an event did not cross a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A program of the other world sent something that is no event of the contract.
    Malformed,
    /// The other world cannot say the event, or a value in it.
    CannotBeSaid,
    /// An event of the hub is not one of the contract.
    NotOfContract,
    /// The hub refused the event: an access rule or a limit.
    RefusedByHub,
    /// The hub could not be reached.
    HubAway,
    /// The other world was away, or the subscriber there had gone.
    WorldAway,
    /// A subscriber in the other world got the event, and refused it.
    RefusedThere,
    /// The hub has dropped the event for this subscriber: it was too slow.
    Dropped,
    /// A program of the other world has sent it, and it did not come here.
    Missed,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::CannotBeSaid,
        Self::NotOfContract,
        Self::RefusedByHub,
        Self::HubAway,
        Self::WorldAway,
        Self::RefusedThere,
        Self::Dropped,
        Self::Missed,
    ];

    /// Its name in metrics and lists: `malformed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::CannotBeSaid => "cannot be said",
            Self::NotOfContract => "not of contract",
            Self::RefusedByHub => "refused by hub",
            Self::HubAway => "hub away",
            Self::WorldAway => "world away",
            Self::RefusedThere => "refused there",
            Self::Dropped => "dropped",
            Self::Missed => "missed",
        }
    }

    /// True if events are lost by it, which somebody thinks were sent. The others are refused: the sender knows.
    pub fn is_loss(self) -> bool {
        matches!(
            self,
            Self::CannotBeSaid
                | Self::NotOfContract
                | Self::WorldAway
                | Self::RefusedThere
                | Self::Dropped
                | Self::Missed
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The counts of one topic of a bridge. They only grow.
#[derive(Debug, Default)]
pub struct Account {
    taken_in: AtomicU64,
    sent_out: AtomicU64,
    by_reason: [AtomicU64; Reason::ALL.len()],
}

/// The counts at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Events from the other world that the hub has.
    pub taken_in: u64,
    /// Events of the hub that the other world has. Each subscriber there counts.
    pub sent_out: u64,
    /// Events that did not cross, by reason; those that did not happen are not listed.
    pub not_crossed: Vec<(Reason, u64)>,
}

impl Account {
    /// Counts an event that the hub has.
    pub fn take_in(&self) {
        self.taken_in.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts events that the other world has.
    pub fn send_out(&self, count: u64) {
        self.sent_out.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts events that did not cross.
    pub fn refuse(&self, reason: Reason, count: u64) {
        self.by_reason[reason as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// The counts now.
    pub fn counts(&self) -> Counts {
        let of = |reason: Reason| self.by_reason[reason as usize].load(Ordering::Relaxed);
        let all = Reason::ALL.into_iter().map(|reason| (reason, of(reason)));
        Counts {
            taken_in: self.taken_in.load(Ordering::Relaxed),
            sent_out: self.sent_out.load(Ordering::Relaxed),
            not_crossed: all.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_count() {
        let account = Account::default();
        account.take_in();
        account.send_out(2);
        for (count, reason) in (1..).zip(Reason::ALL) {
            account.refuse(reason, count);
        }
        let counts = account.counts();
        assert_eq!((counts.taken_in, counts.sent_out), (1, 2));
        let expected: Vec<_> = Reason::ALL.into_iter().zip(1..).collect();
        assert_eq!(counts.not_crossed, expected);
    }
}
