//! Slows login attempts, so that no client can try many passwords.

use std::collections::HashMap;
use std::hash::Hash;

use ::core::time::Duration;

/// Counts failed logins by a key, such as the client's address or the user, and says how long the next attempt waits.
/// Three failures without a wait would give:
///
/// ```text
/// failures    1, 2, 3   4        5        6     ...   9 and more
/// next wait   none      250 ms   500 ms   1 s         8 s
/// ```
///
/// A failure counts for [`MEMORY`]. Times are measured from any fixed moment.
#[derive(Debug)]
pub(crate) struct LoginThrottle<K> {
    /// Failures without a wait.
    free: u32,
    failures: HashMap<K, Failures>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Duration,
    /// The time of the last attempt that was made to wait.
    slot: Duration,
}

/// The error if too many attempts wait already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyAttempts;

/// The first wait. Each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait. It delays a user whose name an attacker tries, too, so it is short.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// The longest wait behind other attempts with the same key.
const QUEUE_MAX: Duration = Duration::from_secs(30);
/// How long a failure counts.
pub(crate) const MEMORY: Duration = Duration::from_secs(600);
/// The largest number of keys. Beyond it, the one that failed least recently is forgotten.
pub(crate) const KEYS_MAX: usize = 10_000;

impl<K: Eq + Hash + Clone> LoginThrottle<K> {
    /// The first `free` failures cost no wait.
    pub(crate) fn new(free: u32) -> Self {
        Self {
            free,
            failures: HashMap::new(),
        }
    }

    /// How long the next attempt with this key waits.
    pub(crate) fn wait(&self, key: &K, now: Duration) -> Duration {
        let failures = self.failures.get(key);
        let failures = failures.filter(|failures| now.saturating_sub(failures.last) < MEMORY);
        let costly = failures.map_or(0, |failures| failures.count.saturating_sub(self.free));
        match costly {
            0 => Duration::ZERO,
            _ => FIRST_WAIT
                .saturating_mul(1 << (costly - 1).min(10))
                .min(WAIT_MAX),
        }
    }

    /// Reserves the next time at which an attempt with this key may begin, and returns how long the attempt waits for it.
    /// Attempts that come at the same time begin one after another.
    ///
    /// # Errors
    /// The attempt would begin too late.
    pub(crate) fn reserve(&mut self, key: &K, now: Duration) -> Result<Duration, TooManyAttempts> {
        let wait = self.wait(key, now);
        let Some(failures) = self.failures.get_mut(key).filter(|_| !wait.is_zero()) else {
            return Ok(Duration::ZERO);
        };
        let slot = failures.slot.max(now) + wait;
        match slot - now > QUEUE_MAX {
            true => Err(TooManyAttempts),
            false => {
                failures.slot = slot;
                Ok(slot - now)
            }
        }
    }

    /// Notes that an attempt has failed.
    pub(crate) fn failed(&mut self, key: &K, now: Duration) {
        let is_old = |failures: &Failures| now.saturating_sub(failures.last) >= MEMORY;
        if self.failures.len() >= KEYS_MAX && !self.failures.contains_key(key) {
            self.failures.retain(|_, failures| !is_old(failures));
        }
        if self.failures.len() >= KEYS_MAX && !self.failures.contains_key(key) {
            let oldest = self
                .failures
                .iter()
                .min_by_key(|(_, failures)| failures.last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.failures.remove(&oldest);
            }
        }
        let failures = self.failures.entry(key.clone()).or_insert(Failures {
            count: 0,
            last: now,
            slot: now,
        });
        if is_old(failures) {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
    }

    /// Notes that an attempt has succeeded, so that earlier failures no longer count.
    pub(crate) fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5000);

    fn after(failures: u32) -> LoginThrottle<&'static str> {
        let mut throttle = LoginThrottle::new(3);
        for _ in 0..failures {
            throttle.failed(&"joe", NOW);
        }
        throttle
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let wait = |failures| after(failures).wait(&"joe", NOW).as_millis();
        let waits: Vec<_> = (0..12).map(wait).collect();
        let expected = [0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 8000, 8000, 8000];
        assert_eq!(waits, expected);
        assert_eq!(wait(100_000), 8000);
        assert_eq!(after(9).wait(&"jane", NOW), Duration::ZERO);
    }

    #[test]
    fn attempts_at_the_same_time_begin_one_after_another() {
        let mut throttle = after(5);
        let waits: Vec<_> = (0..3)
            .map(|_| throttle.reserve(&"joe", NOW).expect("a time").as_millis())
            .collect();
        assert_eq!(waits, [500, 1000, 1500]);
        assert_eq!(throttle.reserve(&"jane", NOW), Ok(Duration::ZERO));
        while throttle.reserve(&"joe", NOW).is_ok() {}
        let later = throttle.reserve(&"joe", NOW + QUEUE_MAX);
        assert_eq!(later, Ok(Duration::from_millis(500)));
    }

    #[test]
    fn a_success_or_time_forgives() {
        let mut throttle = after(9);
        assert_eq!(throttle.wait(&"joe", NOW + MEMORY), Duration::ZERO);
        throttle.failed(&"joe", NOW + MEMORY);
        assert_eq!(throttle.wait(&"joe", NOW + MEMORY), Duration::ZERO);
        let mut throttle = after(9);
        throttle.succeeded(&"joe");
        assert_eq!(throttle.wait(&"joe", NOW), Duration::ZERO);
    }

    #[test]
    fn many_keys_take_no_more_memory_than_the_limit() {
        let mut throttle = LoginThrottle::new(3);
        for key in 0..KEYS_MAX + 10 {
            let at = NOW + Duration::from_nanos(key as u64);
            for _ in 0..5 {
                throttle.failed(&key, at);
            }
        }
        assert_eq!(throttle.failures.len(), KEYS_MAX);
        assert_eq!(throttle.wait(&0, NOW), Duration::ZERO);
        assert!(throttle.wait(&(KEYS_MAX + 9), NOW) > Duration::ZERO);
    }
}
