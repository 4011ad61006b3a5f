//! How fast readers that are far behind may read while the hub has live traffic.

use std::time::{Duration, Instant};

/// Divides the time of a hub between live events and readers that are far behind.
///
/// Without live traffic, such readers read as fast as they can. Beside live traffic, they read in short turns, and all of
/// them together take a share of the processors. Each turn has a cost: the time for which it keeps a processor busy. The
/// next turn begins when the share has paid for it, as in a generic cell rate algorithm.
///
/// The share alone could be less than what is published. A [`Chase`] therefore gives each reader some turns without a
/// wait, so that it comes nearer to the end of its log whatever the live traffic is.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// How many processors the hub has.
    processors: u32,
    /// How many live events there were when a reader asked last; `None` before the first one asks.
    live_count: Option<u64>,
    /// Until when the live traffic counts as going on.
    live_until: Option<Instant>,
    /// When all turns so far are paid for.
    paid_at: Option<Instant>,
    /// The cost of the last turn. The next one is expected to cost as much.
    last_cost: Duration,
}

/// How much a reader may read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// As much as it wants.
    Free,
    /// A short turn. Its cost is noted with [`Chase::handle_busy`].
    Short,
    /// Nothing before this time.
    At(Instant),
}

impl Throttle {
    /// Beside live traffic, readers take one part in this many of the time of all processors.
    const PARTS: u32 = 10;
    /// Traffic is live if events are not further apart than this.
    const LIVE_GAP: Duration = Duration::from_secs(1);
    /// A reader waits no longer than this, however expensive the turns before were. A slow disk is not a busy processor.
    const WAIT_MAX: Duration = Duration::from_millis(20);

    /// The throttle of a hub that has this many processors.
    pub(crate) fn new(processors: usize) -> Self {
        Self {
            processors: u32::try_from(processors).unwrap_or(u32::MAX).max(1),
            live_count: None,
            live_until: None,
            paid_at: None,
            last_cost: Duration::ZERO,
        }
    }

    /// Decides how much a reader that is far behind may read. `live_count` is the number of live events up to now.
    pub(crate) fn poll(&mut self, chase: &mut Chase, live_count: u64, now: Instant) -> Turn {
        let before = self.live_count.replace(live_count);
        if before.is_some_and(|before| before != live_count) {
            self.live_until = Some(now + Self::LIVE_GAP);
        }
        self.settle(chase, now);
        if self.live_until.is_none_or(|until| until <= now) {
            self.live_until = None;
            self.paid_at = None;
            return Turn::Free;
        }
        match self.paid_at.filter(|paid_at| *paid_at > now) {
            Some(paid_at) if !chase.is_owed_a_turn() => Turn::At(paid_at),
            _ => {
                // Readers that ask before the cost of this turn is known wait for it.
                chase.begin_turn(self.last_cost);
                self.spend(self.last_cost, now);
                Turn::Short
            }
        }
    }

    /// The last turn of a reader has ended, if it had one.
    fn settle(&mut self, chase: &mut Chase, now: Instant) {
        let cost = std::mem::take(&mut chase.cost);
        if let Some(expected) = chase.expected.take() {
            self.last_cost = cost;
            self.spend(cost.saturating_sub(expected), now);
        }
    }

    fn spend(&mut self, cost: Duration, now: Instant) {
        let wait = cost.saturating_mul(Self::PARTS) / self.processors;
        let from = self.paid_at.map_or(now, |paid_at| paid_at.max(now));
        self.paid_at = Some((from + wait).min(now + Self::WAIT_MAX));
    }
}

/// How one reader comes nearer to the end of its log. For each event that comes into the log, the reader may read two
/// without a wait.
#[derive(Debug, Default)]
pub(crate) struct Chase {
    /// The number of successive reads that were ended by their limits, and not by the end of the log.
    full_reads: u32,
    /// Where the log ended when the reader asked last; `None` before it asks first.
    end: Option<u64>,
    /// How many events it may read without a wait.
    owed: u64,
    /// The expected cost of its current turn; `None` outside of short turns.
    expected: Option<Duration>,
    /// For how long its current turn has kept a processor busy.
    cost: Duration,
}

impl Chase {
    /// A short turn has at most this many events, so that a live event does not wait long for its end.
    pub(crate) const TURN_EVENTS: usize = 128;
    /// At most this many events are owed. As many come into a log within [`Throttle::WAIT_MAX`] if it gets 400,000 in a
    /// second.
    const OWED_MAX: u64 = 128 * Self::TURN_EVENTS as u64;

    /// A reader is far behind if this many successive reads did not reach the end of its log.
    const FULL_READS_MIN: u32 = 16;

    /// Notes that a read took this long. `is_full` is true if its limits ended it, and false if the end of the log did.
    pub(crate) fn handle_read(&mut self, is_full: bool, took: Duration) {
        if !is_full {
            *self = Self::default();
            return;
        }
        self.full_reads = self.full_reads.saturating_add(1);
        self.handle_busy(took);
    }

    /// Returns true if it is far behind, so that it must ask [`Throttle::poll`].
    pub(crate) fn is_far_behind(&self) -> bool {
        self.full_reads >= Self::FULL_READS_MIN
    }

    /// Returns true if it may read while the events of its last read are delivered. A short turn must be paid for
    /// first.
    pub(crate) fn may_read_ahead(&self) -> bool {
        self.is_far_behind() && self.expected.is_none()
    }

    /// The log ends at this sequence now.
    pub(crate) fn handle_end(&mut self, end: u64) {
        let before = self.end.replace(end).unwrap_or(end);
        let came = end.saturating_sub(before).saturating_mul(2);
        self.owed = self.owed.saturating_add(came).min(Self::OWED_MAX);
    }

    /// Notes that its events kept a processor busy for this long.
    pub(crate) fn handle_busy(&mut self, busy: Duration) {
        self.cost += busy;
    }

    fn is_owed_a_turn(&self) -> bool {
        self.owed >= Self::TURN_EVENTS as u64
    }

    fn begin_turn(&mut self, expected: Duration) {
        self.owed = self.owed.saturating_sub(Self::TURN_EVENTS as u64);
        self.expected = Some(expected);
    }
}

#[cfg(test)]
mod tests;
