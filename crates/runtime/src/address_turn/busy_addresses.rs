//! How many addresses are busy at a time, so that they share the time that others wait for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts the addresses whose connections keep a communicator busy, in windows of [`WINDOW`].
///
/// ```text
/// 0        32                      48                     64
/// | window | count in this window | count in the last one |
/// ```
#[derive(Debug)]
pub(super) struct BusyAddresses {
    started: Instant,
    state: AtomicU64,
}

/// The window in which an address was counted last.
#[derive(Debug, Default)]
pub(super) struct CountedWindow {
    /// Its number and one, or zero if there is none.
    following: AtomicU64,
}

const WINDOW: Duration = Duration::from_millis(20);
/// As many busy addresses have their whole time. If there are more, each has less, so that all together take no longer.
const WHOLE_TURNS: u32 = 10;

impl Default for BusyAddresses {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            state: AtomicU64::new(0),
        }
    }
}

impl BusyAddresses {
    /// Notes that an address is busy, at most once in a window.
    pub(super) fn note(&self, counted: &CountedWindow, now: Instant) {
        let since = now.saturating_duration_since(self.started);
        // It begins anew after years.
        let window = (since.as_millis() / WINDOW.as_millis()) as u32;
        let following = u64::from(window) + 1;
        if counted.following.load(Ordering::Relaxed) == following
            || counted.following.swap(following, Ordering::Relaxed) == following
        {
            return;
        }
        let count = |state| Some(Counts::of(state).with_one_more(window).packed());
        let _ = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    /// The part of a turn that each may use: `whole` if few are busy.
    pub(super) fn share(&self, whole: Duration) -> Duration {
        let Counts { now, before, .. } = Counts::of(self.state.load(Ordering::Relaxed));
        match u32::from(now.max(before)) {
            ..=WHOLE_TURNS => whole,
            count => whole.saturating_mul(WHOLE_TURNS) / count,
        }
    }
}

#[derive(Clone, Copy)]
struct Counts {
    window: u32,
    now: u16,
    before: u16,
}

impl Counts {
    fn of(state: u64) -> Self {
        Self {
            window: (state >> 32) as u32,
            now: (state >> 16) as u16,
            before: state as u16,
        }
    }

    fn packed(self) -> u64 {
        u64::from(self.window) << 32 | u64::from(self.now) << 16 | u64::from(self.before)
    }

    fn with_one_more(self, window: u32) -> Self {
        let (now, before) = match window.wrapping_sub(self.window) {
            0 => (self.now, self.before),
            1 => (0, self.now),
            _ => (0, 0),
        };
        Self {
            window,
            now: now.saturating_add(1),
            before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(1);

    #[test]
    fn busy_addresses_share_the_time_that_others_wait() {
        let busy_addresses = BusyAddresses::default();
        let now = busy_addresses.started;
        let counted: Vec<_> = (0..200).map(|_| CountedWindow::default()).collect();
        for (count, counted) in counted.iter().enumerate() {
            let expected = match count {
                0..=10 => TURN,
                count => TURN * 10 / count as u32,
            };
            assert_eq!(busy_addresses.share(TURN), expected, "{count}");
            busy_addresses.note(counted, now);
            busy_addresses.note(counted, now);
        }
        // A window later, it is not forgotten, and after another one it is.
        busy_addresses.note(&counted[0], now + WINDOW);
        assert_eq!(busy_addresses.share(TURN), TURN / 20);
        busy_addresses.note(&counted[0], now + 2 * WINDOW);
        assert_eq!(busy_addresses.share(TURN), TURN);
    }

    #[test]
    fn any_number_of_busy_addresses_has_a_share() {
        let busy_addresses = BusyAddresses::default();
        (0..70_000)
            .for_each(|_| busy_addresses.note(&CountedWindow::default(), busy_addresses.started));
        assert_eq!(busy_addresses.share(TURN), TURN * 10 / u32::from(u16::MAX));
        assert!(busy_addresses.share(Duration::MAX) > TURN);
    }
}
