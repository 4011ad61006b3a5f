//! When an event that a durable subscription has not acknowledged is delivered again, and how often.

use std::time::Duration;

/// The rules of redelivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Redelivery {
    /// How long an acknowledgement may take; `None` waits for ever.
    pub(crate) deadline: Option<Duration>,
    /// The wait before the second attempt. It doubles with each attempt.
    pub(crate) back_off_min: Duration,
    /// The longest wait between two attempts.
    pub(crate) back_off_max: Duration,
    /// The number of attempts before an event becomes a dead letter; `None` tries for ever.
    pub(crate) attempts_max: Option<u32>,
}

impl Default for Redelivery {
    /// Events are tried for ever: an event becomes a dead letter only if the subscriber asks for it.
    fn default() -> Self {
        Self {
            deadline: Some(Duration::from_secs(60)),
            back_off_min: Duration::from_millis(100),
            back_off_max: Duration::from_secs(30),
            attempts_max: None,
        }
    }
}

impl Redelivery {
    /// The wait after this many attempts have failed; `None` if that was the last one.
    pub(super) fn wait_after(&self, attempts: u32) -> Option<Duration> {
        if self.attempts_max.is_some_and(|max| attempts >= max) {
            return None;
        }
        let doublings = attempts.saturating_sub(1).min(31);
        let wait = self.back_off_min.saturating_mul(1 << doublings);
        Some(wait.min(self.back_off_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_maximum_and_ends_after_the_last_attempt() {
        let rules = Redelivery {
            back_off_min: Duration::from_secs(1),
            back_off_max: Duration::from_secs(5),
            attempts_max: Some(5),
            ..Redelivery::default()
        };
        let waits: Vec<_> = (1..=5).map(|attempts| rules.wait_after(attempts)).collect();
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(
            waits,
            [seconds(1), seconds(2), seconds(4), seconds(5), None]
        );
        let for_ever = Redelivery {
            attempts_max: None,
            ..rules
        };
        assert_eq!(for_ever.wait_after(u32::MAX), seconds(5));
    }
}
