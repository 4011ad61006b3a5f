//! Protection against clients that ask too much. Login attempts are slowed, few of them are checked at a time, and
//! rates of requests are limited.
//!
//! An address is what [`ConnectionInfo::remote_network`](floe::ConnectionInfo::remote_network) says.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::core::{LoginThrottle, TokenBucket, TooManyAttempts};
use crate::settings::GatewaySettings;

/// Remembers the attempts and requests of users and addresses.
pub(super) struct Protection {
    started: Instant,
    /// Makes the keys of users.
    hashing: RandomState,
    users: Mutex<LoginThrottle<UserKey>>,
    addresses: Mutex<LoginThrottle<IpAddr>>,
    /// Addresses at which tokens of sessions are guessed.
    resumptions: Mutex<LoginThrottle<IpAddr>>,
    /// Permits of users and addresses that log in.
    login_permits: Mutex<HashMap<ShareKey, Weak<Semaphore>>>,
    /// Permits for checks on a thread of their own, and those of each address among them.
    threads: Arc<Semaphore>,
    threads_of: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
    rates: Mutex<HashMap<ShareKey, Weak<Rate>>>,
}

/// A user, as a hash of the name. Failures are remembered for thousands of names, and a client may send names of any
/// length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct UserKey(u64);

/// The holder of a share: a user or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ShareKey {
    User(UserKey),
    Address(IpAddr),
}

/// The rate of a user or an address, shared by all its sessions.
type Rate = Mutex<TokenBucket>;

/// The rates that a session is subject to.
pub(super) struct Rates {
    started: Instant,
    buckets: Vec<Arc<Rate>>,
}

/// Failed logins of a user without a wait: people mistype passwords.
const USER_FREE: u32 = 3;
/// Failed logins of an address without a wait: many users may share it.
const ADDRESS_FREE: u32 = 20;
/// Unknown tokens of an address without a wait: after a restart of the gateway, all tokens of its clients are unknown.
const RESUMPTIONS_FREE: u32 = 100;
/// Attempts of one user that are checked at a time. The others wait until these have succeeded or failed, so that
/// attempts at the same time cannot avoid the waits.
const USER_CHECKS: usize = 4;
/// Attempts from one address that are checked at a time. Attempts from other addresses need not wait for further ones.
const ADDRESS_CHECKS: usize = 16;

/// Permits for an attempt to log in, or for its thread. They end when this is dropped.
pub(super) struct LoginPermit(#[expect(dead_code, reason = "held")] Vec<OwnedSemaphorePermit>);

impl Protection {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            hashing: RandomState::new(),
            users: Mutex::new(LoginThrottle::new(USER_FREE)),
            addresses: Mutex::new(LoginThrottle::new(ADDRESS_FREE)),
            resumptions: Mutex::new(LoginThrottle::new(RESUMPTIONS_FREE)),
            login_permits: Mutex::default(),
            threads: Arc::new(Semaphore::new(threads_for_checks())),
            threads_of: Mutex::default(),
            rates: Mutex::default(),
        }
    }

    /// How long a login attempt waits.
    ///
    /// # Errors
    /// Too many attempts wait at this address.
    pub(super) fn login_wait(
        &self,
        user: &str,
        address: Option<IpAddr>,
    ) -> Result<Duration, TooManyAttempts> {
        let now = self.started.elapsed();
        let of_user = lock(&self.users).wait(&self.key(user), now);
        let of_address = match address {
            Some(address) => lock(&self.addresses).reserve(&address, now)?,
            None => Duration::ZERO,
        };
        Ok(of_user.max(of_address))
    }

    /// Returns true if the next attempt has to wait.
    pub(super) fn is_slow(&self, user: &str, address: Option<IpAddr>) -> bool {
        let now = self.started.elapsed();
        let of_user = lock(&self.users).wait(&self.key(user), now);
        let of_address = address.map(|address| lock(&self.addresses).wait(&address, now));
        !of_user.max(of_address.unwrap_or_default()).is_zero()
    }

    /// Notes how an attempt has ended. A success of one user forgives nothing to others at the same address: otherwise
    /// an attacker with an account of its own would not be slowed.
    pub(super) fn note_login(&self, user: &str, address: Option<IpAddr>, has_succeeded: bool) {
        let (now, user) = (self.started.elapsed(), self.key(user));
        if has_succeeded {
            lock(&self.users).succeeded(&user);
            return;
        }
        lock(&self.users).failed(&user, now);
        if let Some(address) = address {
            lock(&self.addresses).failed(&address, now);
        }
    }

    /// Waits until this user and this address may have one more password checked. The permit of the address comes
    /// first, so that an address that tries many passwords of a user holds only a few permits of the user.
    pub(super) async fn login_permit(&self, user: &str, address: Option<IpAddr>) -> LoginPermit {
        let address = address.map(|address| (ShareKey::Address(address), ADDRESS_CHECKS));
        let user = (ShareKey::User(self.key(user)), USER_CHECKS);
        let mut held = Vec::new();
        for (key, count) in address.into_iter().chain([user]) {
            held.push(acquire(self.permits_of(key, count)).await);
        }
        LoginPermit(held)
    }

    /// The key of a user's name.
    pub(super) fn key(&self, user: &str) -> UserKey {
        UserKey(self.hashing.hash_one(user))
    }

    fn permits_of(&self, key: ShareKey, count: usize) -> Arc<Semaphore> {
        semaphore_of(&self.login_permits, key, count)
    }

    /// Waits until there is a thread for the check of a password. A check takes tens of milliseconds and megabytes, so
    /// only some of the processor's cores make checks at a time. An address has at most half of these cores. Its other
    /// attempts wait apart, so that attempts from elsewhere do not wait behind them.
    pub(super) async fn thread(&self, address: Option<IpAddr>) -> LoginPermit {
        let mut held = Vec::new();
        if let Some(address) = address {
            let count = threads_for_checks().div_ceil(2);
            held.push(acquire(semaphore_of(&self.threads_of, address, count)).await);
        }
        held.push(acquire(self.threads.clone()).await);
        LoginPermit(held)
    }

    /// How long an attempt to resume a session waits.
    ///
    /// # Errors
    /// Too many attempts wait at this address.
    pub(super) fn resumption_wait(
        &self,
        address: Option<IpAddr>,
    ) -> Result<Duration, TooManyAttempts> {
        let now = self.started.elapsed();
        let wait = |address| lock(&self.resumptions).reserve(&address, now);
        address.map_or(Ok(Duration::ZERO), wait)
    }

    /// Notes that the token of an attempt to resume a session is unknown.
    pub(super) fn note_unknown_token(&self, address: Option<IpAddr>) {
        if let Some(address) = address {
            lock(&self.resumptions).failed(&address, self.started.elapsed());
        }
    }

    /// The rates for a session of this user, from this address.
    pub(super) fn rates(
        &self,
        user: UserKey,
        address: Option<IpAddr>,
        settings: &GatewaySettings,
    ) -> Rates {
        let of_user = settings.user_request_rate;
        let of_user = of_user.map(|rate| (ShareKey::User(user), rate));
        let of_address = settings.address_request_rate.zip(address);
        let of_address = of_address.map(|(rate, address)| (ShareKey::Address(address), rate));
        let mut known = lock(&self.rates);
        let keys = of_user.into_iter().chain(of_address);
        let buckets = keys.map(|(key, rate)| {
            if let Some(bucket) = known.get(&key).and_then(Weak::upgrade) {
                return bucket;
            }
            // There are no more of them in use than sessions.
            if known.len() >= known.capacity() {
                known.retain(|_, bucket| bucket.strong_count() > 0);
            }
            let bucket = Arc::new(Mutex::new(TokenBucket::new(rate, self.started.elapsed())));
            known.insert(key, Arc::downgrade(&bucket));
            bucket
        });
        Rates {
            started: self.started,
            buckets: buckets.collect(),
        }
    }
}

impl Rates {
    /// Returns true if a request may pass now.
    pub(super) fn allow(&self) -> bool {
        let take = |bucket: &Arc<Rate>| lock(bucket).take(self.started.elapsed());
        self.buckets.iter().all(take)
    }
}

/// The semaphore of a key, with `count` permits if it is new.
fn semaphore_of<K: Eq + Hash>(
    all: &Mutex<HashMap<K, Weak<Semaphore>>>,
    key: K,
    count: usize,
) -> Arc<Semaphore> {
    let mut all = lock(all);
    if let Some(known) = all.get(&key).and_then(Weak::upgrade) {
        return known;
    }
    // There are no more of them in use than connections.
    if all.len() >= all.capacity() {
        all.retain(|_, other| other.strong_count() > 0);
    }
    let semaphore = Arc::new(Semaphore::new(count));
    all.insert(key, Arc::downgrade(&semaphore));
    semaphore
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = semaphore.acquire_owned().await;
    permit.expect("it is never closed")
}

/// Half of the cores, so that requests have the others.
fn threads_for_checks() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, |cores| cores.get().div_ceil(2))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_remembered_by_user_without_the_name() {
        let protection = Protection::new();
        let names = ["a", "b"].map(|name| name.repeat(1_000_000));
        for _ in 0..=USER_FREE {
            protection.note_login(&names[0], None, false);
        }
        assert!(protection.is_slow(&names[0], None));
        assert!(!protection.is_slow(&names[1], None));
        // A key has no memory of its own, however long the name is.
        assert!(!std::mem::needs_drop::<UserKey>() && !std::mem::needs_drop::<ShareKey>());
    }
}
