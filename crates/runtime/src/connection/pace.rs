//! Who is first where events are answered: those who get them, or those who published them.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How fast events follow each other whose publisher waits for answers.
#[derive(Default)]
pub(super) struct Pace {
    /// When the events before these came.
    before: Option<Instant>,
}

impl Pace {
    /// A publisher whose next event comes within this time sends one after the other: it is longer than the
    /// way of an event to a few dozen subscribers and back.
    const PRESSING_TIME: Duration = Duration::from_millis(1);

    /// Whether the publisher of events that came at this time, and are answered, sends one after the other. It then
    /// hears of them first, and makes the next while these are sent on: more come through. An event that comes
    /// alone is sent on first: it is there sooner.
    pub(super) fn is_pressing(&mut self, came: Instant) -> bool {
        let before = self.before.replace(came);
        before.is_some_and(|before| came.saturating_duration_since(before) < Self::PRESSING_TIME)
    }
}

/// Lets those tasks run that are ready.
pub(super) async fn let_others_run() {
    let mut have_run = false;
    // Not tokio's: that asks the system for more that is ready first.
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
    fn events_that_follow_one_another_are_pressing_and_one_that_comes_alone_is_not() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let after_millis = |millis| start + Duration::from_micros((millis * 1000.0) as u64);
        assert!(!pace.is_pressing(start));
        assert!(pace.is_pressing(after_millis(0.9)));
        assert!(pace.is_pressing(after_millis(1.8)));
        assert!(!pace.is_pressing(after_millis(2.8)));
        assert!(pace.is_pressing(after_millis(2.9)));
    }
}
