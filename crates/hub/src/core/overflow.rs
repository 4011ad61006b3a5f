//! Decides when to log that a queue is full, and that events go round in a loop.

use std::time::{Duration, Instant};

use super::limits::{OverflowPolicy, QueueLimits};

/// The overflow of a queue, and the notices that are not logged yet.
///
/// A queue can become full and recover many times a second. The beginning and the end of an overflow are logged when
/// they happen, but further overflows within [`QUIET`] are only counted, and logged in one summary.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// While the queue overflows: the number of lost events when that began or was logged last. An overflow ends when
    /// the queue is half empty, so that a subscriber that is always a little too slow is logged once.
    since: Option<u64>,
    /// True if the current overflow has been logged.
    is_logged: bool,
    notice: Option<OverflowNotice>,
    /// Set after the first loss, which few queues ever have.
    recent: Option<Box<RecentNotices>>,
}

/// The notices that were logged recently, and those that were therefore held back.
#[derive(Debug)]
struct RecentNotices {
    /// Until this time, each kind of notice that was logged is held back.
    until: Instant,
    /// True if the beginning of an overflow was logged.
    has_overflow: bool,
    /// True if an event that is too long was logged.
    has_too_long: bool,
    /// True if events that go round in a loop were logged.
    has_looped: bool,
    /// A summary of the notices that were held back. It does not include the losses of the current overflow.
    held_back: OverflowSummary,
    /// True if the shell has been asked to poll the summary.
    is_awaited: bool,
}

/// How long notices of the same kind are held back. If it were shorter, one slow subscriber could fill the log; if it
/// were longer, the log would not show when events were lost.
const QUIET: Duration = Duration::from_secs(10);

/// A notice for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverflowNotice {
    /// The queue is full, and events are lost from now on.
    Began {
        /// Which events are lost.
        policy: OverflowPolicy,
    },
    /// The queue has room again.
    Ended {
        /// The number of events that were lost since the last notice.
        lost: u64,
    },
    /// The queue is full, and the policy ended the subscription.
    Disconnected,
    /// An event was lost because it is longer than the whole queue may be. If an overflow begins with events that were
    /// published together with it, that notice comes instead.
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The maximum bytes of the queue.
        max: usize,
    },
    /// Events were lost because they had passed too many hubs.
    Looped,
}

/// A summary of the notices that were held back for a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OverflowSummary {
    /// How many overflows began.
    pub(crate) count: u64,
    /// How many events were lost in them.
    pub(crate) lost: u64,
    /// How many events were lost because they are longer than the whole queue may be. If they came during an overflow,
    /// they also count in `lost`.
    pub(crate) too_long_count: u64,
    /// How many events were lost because they had passed too many hubs.
    pub(crate) looped_count: u64,
    /// True if the queue is still full. In that case, a notice follows when it has room again.
    pub(crate) lasts: bool,
}

impl Overflow {
    /// Returns true if the queue is overflowing.
    pub(super) fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// The queue is full; `lost` events were lost before. Does nothing if an overflow has begun already.
    pub(super) fn begin(&mut self, policy: OverflowPolicy, lost: u64, now: Instant) {
        if self.since.is_some() {
            return;
        }
        self.since = Some(lost);
        let recent = RecentNotices::at(&mut self.recent, now);
        self.is_logged = !std::mem::replace(&mut recent.has_overflow, true);
        if !self.is_logged {
            recent.held_back.count += 1;
            return;
        }
        let other = self.notice.replace(OverflowNotice::Began { policy });
        if let Some(OverflowNotice::TooLong { .. }) = other {
            recent.held_back.too_long_count += 1;
        }
    }

    /// The queue has room again; `lost` events were lost in all.
    pub(super) fn end(&mut self, lost: u64) {
        let Some(before) = self.since.take() else {
            return;
        };
        let lost = lost - before;
        match &mut self.recent {
            Some(recent) if !self.is_logged => recent.held_back.lost += lost,
            _ => self.notice = Some(OverflowNotice::Ended { lost }),
        }
    }

    /// The policy ended the subscription.
    pub(super) fn disconnect(&mut self) {
        self.notice = Some(OverflowNotice::Disconnected);
    }

    /// Notes that an event of this length is lost because not even an empty queue has room for it. This notice does not
    /// replace one about an overflow.
    pub(super) fn note_too_long(&mut self, len: usize, limits: &QueueLimits, now: Instant) {
        let recent = RecentNotices::at(&mut self.recent, now);
        let was_logged = std::mem::replace(&mut recent.has_too_long, true);
        if was_logged || self.notice.is_some() {
            recent.held_back.too_long_count += 1;
            return;
        }
        let max = limits.bytes;
        self.notice = Some(OverflowNotice::TooLong { len, max });
    }

    /// Notes that this many events are lost because they had passed too many hubs. The notice says only that this
    /// happens: the number of such events depends on how they came.
    pub(super) fn note_looped(&mut self, count: u64, now: Instant) {
        let recent = RecentNotices::at(&mut self.recent, now);
        let was_logged = std::mem::replace(&mut recent.has_looped, true);
        if was_logged || self.notice.is_some() {
            recent.held_back.looped_count += count;
            return;
        }
        self.notice = Some(OverflowNotice::Looped);
    }

    /// The notice since the last call. After each notice, the shell calls [`Overflow::await_summary`].
    pub(super) fn poll_notice(&mut self) -> Option<OverflowNotice> {
        self.notice.take()
    }

    /// Asks the shell to poll the summary after this time, unless it has been asked already.
    pub(super) fn await_summary(&mut self) -> Option<Duration> {
        let recent = self.recent.as_mut()?;
        let is_awaited = std::mem::replace(&mut recent.is_awaited, true);
        (!is_awaited).then_some(QUIET)
    }

    /// Returns the summary of the notices that were held back. If there is one, the shell polls again after the same
    /// time. `lost` events were lost in all.
    pub(super) fn poll_summary(&mut self, lost: u64, now: Instant) -> Option<OverflowSummary> {
        let recent = self.recent.as_mut()?;
        let mut summary = std::mem::take(&mut recent.held_back);
        if summary == OverflowSummary::default() {
            recent.is_awaited = false;
            // The shell does not poll again, so that the next notice is logged immediately.
            recent.forget();
            return None;
        }
        if let Some(since) = &mut self.since {
            summary.lasts = true;
            if !std::mem::replace(&mut self.is_logged, true) {
                summary.lost += lost - std::mem::replace(since, lost);
            }
        }
        recent.until = now + QUIET;
        recent.has_overflow = summary.count > 0 || summary.lasts;
        recent.has_too_long = summary.too_long_count > 0;
        recent.has_looped = summary.looped_count > 0;
        Some(summary)
    }
}

impl RecentNotices {
    /// The state at `now`. Notices that were held back stay until the summary is polled.
    fn at(known: &mut Option<Box<Self>>, now: Instant) -> &mut Self {
        let recent = known.get_or_insert_with(|| {
            Box::new(Self {
                until: now,
                has_overflow: false,
                has_too_long: false,
                has_looped: false,
                held_back: OverflowSummary::default(),
                is_awaited: false,
            })
        });
        // The shell never polls at exactly the right time.
        let is_due = recent.is_awaited && recent.held_back != OverflowSummary::default();
        let patience = if is_due { QUIET } else { Duration::ZERO };
        if now >= recent.until + patience {
            recent.forget();
            recent.until = now + QUIET;
            // If the shell has not polled by now, it may never do so.
            recent.is_awaited &= !is_due;
        }
        recent
    }

    /// The next notice of each kind is logged immediately.
    fn forget(&mut self) {
        (self.has_overflow, self.has_too_long, self.has_looped) = (false, false, false);
    }
}
