//! Losses to a full queue: since when there are any, and what people are to be told of them.

use std::time::{Duration, Instant};

use super::limits::{OverflowPolicy, QueueLimits};

/// Whether events are being lost because the queue is full, and what is not told of it yet.
///
/// A queue may be full and not full many times a second. So an overflow is told of when it begins and when it ends, and
/// those that begin within [`QUIET`] are told of together when that is over.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// How many events had been lost when it began, or was told of last, while it lasts: until the queue is half empty, so
    /// that a subscriber that is always a little too slow is told of once.
    since: Option<u64>,
    /// Whether people know of the one that lasts.
    is_told: bool,
    notice: Option<OverflowNotice>,
    /// There as soon as something was lost, which few queues ever come to.
    lately: Option<Box<Lately>>,
}

/// What was told lately, and what was not for that reason.
#[derive(Debug)]
struct Lately {
    /// Until when nothing of a kind is told that was told already.
    until: Instant,
    /// Whether it was told that an overflow began.
    has_overflow: bool,
    /// Whether it was told that an event was too long.
    has_too_long: bool,
    /// What was not told; of the overflow that lasts not what was lost.
    untold: OverflowSummary,
    /// Whether somebody is to come for the summary.
    is_awaited: bool,
}

/// How long after a line on a subscriber's queue no other of its kind comes. Shorter, a log would be full of one that is
/// too slow; longer, nobody would see when its losses were.
const QUIET: Duration = Duration::from_secs(10);

/// What is worth telling people of a full queue, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverflowNotice {
    /// The queue is full: from now on events are lost, by this policy.
    Began {
        /// Which.
        policy: OverflowPolicy,
    },
    /// There is room again, after so many events were lost.
    Ended {
        /// How many, since people were told that there are losses.
        lost: u64,
    },
    /// The queue is full, and the subscription has ended for that.
    Disconnected,
    /// An event was lost that is longer than all that may wait, in bytes. If an overflow begins with those that were
    /// published together with it, that is told instead.
    TooLong {
        /// How long it is.
        len: usize,
        /// How long the events may be together that wait.
        max: usize,
    },
}

/// What happened to a queue that was not told as it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OverflowSummary {
    /// How many overflows began.
    pub(crate) count: u64,
    /// How many events were lost in them.
    pub(crate) lost: u64,
    /// How many events were lost that were longer than all that may wait: those that came while an overflow lasted are
    /// among what was lost in that, too.
    pub(crate) too_long_count: u64,
    /// Whether the queue is full still. It is told then when there is room again.
    pub(crate) lasts: bool,
}

impl Overflow {
    /// Whether events are being lost.
    pub(super) fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// Events are lost from now on, by this policy, after so many that were lost before; nothing if they are already.
    pub(super) fn begin(&mut self, policy: OverflowPolicy, lost: u64, now: Instant) {
        if self.since.is_some() {
            return;
        }
        self.since = Some(lost);
        let lately = Lately::at(&mut self.lately, now);
        self.is_told = !std::mem::replace(&mut lately.has_overflow, true);
        if !self.is_told {
            lately.untold.count += 1;
            return;
        }
        let other = self.notice.replace(OverflowNotice::Began { policy });
        if let Some(OverflowNotice::TooLong { .. }) = other {
            lately.untold.too_long_count += 1;
        }
    }

    /// There is room again, and so many were lost in all.
    pub(super) fn end(&mut self, lost: u64) {
        let Some(before) = self.since.take() else {
            return;
        };
        let lost = lost - before;
        match &mut self.lately {
            Some(lately) if !self.is_told => lately.untold.lost += lost,
            _ => self.notice = Some(OverflowNotice::Ended { lost }),
        }
    }

    /// The subscription has ended for it.
    pub(super) fn disconnect(&mut self) {
        self.notice = Some(OverflowNotice::Disconnected);
    }

    /// An event of this length is lost, for which an empty queue has no room either. It does not take the place of what
    /// tells that an overflow began or ended.
    pub(super) fn note_too_long(&mut self, len: usize, limits: &QueueLimits, now: Instant) {
        let lately = Lately::at(&mut self.lately, now);
        let was_told = std::mem::replace(&mut lately.has_too_long, true);
        if was_told || self.notice.is_some() {
            lately.untold.too_long_count += 1;
            return;
        }
        let max = limits.bytes;
        self.notice = Some(OverflowNotice::TooLong { len, max });
    }

    /// What is worth telling people since the last call. After each of them somebody is to ask when to come for a summary.
    pub(super) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.notice.take()
    }

    /// After how long whoever asks is to come for a summary, if nobody is to already.
    pub(super) fn await_summary(&mut self) -> Option<Duration> {
        let lately = self.lately.as_mut()?;
        let is_awaited = std::mem::replace(&mut lately.is_awaited, true);
        (!is_awaited).then_some(QUIET)
    }

    /// What was not told, if there is anything; then there may be more after the same time. So many were lost in all.
    pub(super) fn poll_summary(&mut self, lost: u64, now: Instant) -> Option<OverflowSummary> {
        let lately = self.lately.as_mut()?;
        let mut summary = std::mem::take(&mut lately.untold);
        if summary == OverflowSummary::default() {
            lately.is_awaited = false;
            // Nobody is to come for what begins from now on, so it is told as it does.
            (lately.has_overflow, lately.has_too_long) = (false, false);
            return None;
        }
        if let Some(since) = &mut self.since {
            summary.lasts = true;
            if !std::mem::replace(&mut self.is_told, true) {
                summary.lost += lost - std::mem::replace(since, lost);
            }
        }
        lately.until = now + QUIET;
        lately.has_overflow = summary.count > 0 || summary.lasts;
        lately.has_too_long = summary.too_long_count > 0;
        Some(summary)
    }
}

impl Lately {
    /// As it is now. What was not told stays until somebody comes for it.
    fn at(known: &mut Option<Box<Self>>, now: Instant) -> &mut Self {
        let lately = known.get_or_insert_with(|| {
            Box::new(Self {
                until: now,
                has_overflow: false,
                has_too_long: false,
                untold: OverflowSummary::default(),
                is_awaited: false,
            })
        });
        // Who comes for the summary is never there at the very moment.
        let is_due = lately.is_awaited && lately.untold != OverflowSummary::default();
        let patience = if is_due { QUIET } else { Duration::ZERO };
        if now >= lately.until + patience {
            (lately.has_overflow, lately.has_too_long) = (false, false);
            lately.until = now + QUIET;
            // Who has not come by now may never do so.
            lately.is_awaited &= !is_due;
        }
        lately
    }
}
