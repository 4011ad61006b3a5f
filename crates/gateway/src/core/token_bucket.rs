//! A limit on the rate of requests, with room for bursts.

use ::core::time::Duration;

/// Lets through `rate` requests a second, and up to a second's worth of them in a burst. Times are measured from any
/// fixed moment.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// Requests a second.
    rate: u32,
    /// Requests that may pass now, in billionths.
    tokens: u64,
    last: Duration,
}

const TOKEN: u64 = 1_000_000_000;

impl TokenBucket {
    /// A full bucket. A rate of 0 counts as 1.
    pub(crate) fn new(rate: u32, now: Duration) -> Self {
        let rate = rate.max(1);
        Self {
            rate,
            tokens: u64::from(rate) * TOKEN,
            last: now,
        }
    }

    /// Takes a token, if there is one. Returns whether the request may pass.
    pub(crate) fn take(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.last).min(Duration::from_secs(1));
        self.last = self.last.max(now);
        let (rate, passed) = (u64::from(self.rate), passed.as_nanos() as u64);
        self.tokens = (self.tokens + rate * passed).min(rate * TOKEN);
        let may_pass = self.tokens >= TOKEN;
        if may_pass {
            self.tokens -= TOKEN;
        }
        may_pass
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = TokenBucket::new(10, Duration::ZERO);
        let burst = (0..20).filter(|_| bucket.take(Duration::ZERO)).count();
        assert_eq!(burst, 10);
        assert!(!bucket.take(Duration::from_millis(99)));
        assert!(bucket.take(Duration::from_millis(100)));
        assert!(!bucket.take(Duration::from_millis(100)));
    }

    proptest! {
        #[test]
        fn no_more_pass_than_a_burst_and_the_rate(
            rate in 1u32..1000, steps in prop::collection::vec(0u64..50, 1..300)
        ) {
            let mut bucket = TokenBucket::new(rate, Duration::ZERO);
            let mut now = Duration::ZERO;
            let mut passed = 0;
            for step in steps {
                now += Duration::from_millis(step);
                passed += u64::from(bucket.take(now));
            }
            let limit = u64::from(rate) + u64::from(rate) * now.as_millis() as u64 / 1000;
            prop_assert!(passed <= limit);
        }
    }
}
