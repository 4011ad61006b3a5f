//! When replies to events leave: before the events are sent to subscribers, or after that.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Decides when replies to events leave, from how closely the events follow each other.
#[derive(Default)]
pub(super) struct ReplyFlush {
    /// When the previous events came.
    before: Option<Instant>,
}

impl ReplyFlush {
    /// If the next event comes within this time, its publisher sends one event after another. The time is longer than
    /// an event takes to a few dozen subscribers and back.
    const SUCCESSION_MAX: Duration = Duration::from_millis(1);

    /// Returns true if the replies to events that came at this time leave first. Their publisher sends one event after
    /// another, and makes the next one while these are sent to subscribers, which gives more throughput. An event that
    /// comes alone is sent to subscribers before its reply leaves, which gives less latency.
    pub(super) fn answers_first(&mut self, came: Instant) -> bool {
        let before = self.before.replace(came);
        before.is_some_and(|before| came.saturating_duration_since(before) < Self::SUCCESSION_MAX)
    }
}

/// Lets ready tasks run first.
pub(super) async fn run_ready_tasks() {
    let mut have_run = false;
    // This replaces the yield of tokio, which would also ask the system for new events first.
    poll_fn(|context| {
        if std::mem::replace(&mut have_run, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_in_close_succession_are_answered_first() {
        let mut flush = ReplyFlush::default();
        let start = Instant::now();
        let after_millis = |millis| start + Duration::from_micros((millis * 1000.0) as u64);
        assert!(!flush.answers_first(start));
        assert!(flush.answers_first(after_millis(0.9)));
        assert!(flush.answers_first(after_millis(1.8)));
        assert!(!flush.answers_first(after_millis(2.8)));
        assert!(flush.answers_first(after_millis(2.9)));
    }
}
