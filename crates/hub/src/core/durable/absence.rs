//! How long the hub waits between attempts to reach a subscriber that is absent.

use std::time::Duration;

/// The attempts to reach a durable subscriber since it was last present. Each wait is twice the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Absence {
    attempts: u32,
}

impl Absence {
    const WAIT_MIN: Duration = Duration::from_millis(50);
    /// The longest wait between two attempts.
    pub(crate) const WAIT_MAX: Duration = Duration::from_secs(5);

    /// Returns true if the last attempt failed.
    pub(crate) fn is_absent(&self) -> bool {
        self.attempts > 0
    }

    /// How many attempts failed.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// An attempt failed. Returns the wait before the next one.
    pub(crate) fn handle_failure(&mut self) -> Duration {
        let doublings = self.attempts.min(16);
        self.attempts = self.attempts.saturating_add(1);
        Self::WAIT_MAX.min(Self::WAIT_MIN * (1 << doublings))
    }

    /// Notes that the subscriber is present. Returns true if it was absent.
    pub(crate) fn handle_success(&mut self) -> bool {
        std::mem::take(&mut self.attempts) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_to_its_maximum_and_begins_again_when_the_subscriber_was_there() {
        let mut absence = Absence::default();
        assert!(!absence.is_absent() && !absence.handle_success());
        let millis = [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
        for wait in millis {
            assert_eq!(absence.handle_failure(), Duration::from_millis(wait));
        }
        for _ in 0..100 {
            assert_eq!(absence.handle_failure(), Absence::WAIT_MAX);
        }
        assert!(absence.is_absent() && absence.handle_success());
        assert_eq!(absence.handle_failure(), Absence::WAIT_MIN);
    }
}
