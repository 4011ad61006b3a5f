//! Protection against clients that ask too much: login attempts are slowed, and rates of requests are limited.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::core::{LoginThrottle, TokenBucket, TooManyAttempts};
use crate::settings::GatewaySettings;

/// What is remembered of users and addresses.
pub(super) struct Protection {
    started: Instant,
    users: Mutex<LoginThrottle<String>>,
    addresses: Mutex<LoginThrottle<IpAddr>>,
    rates: Mutex<HashMap<RateKey, Weak<Rate>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RateKey {
    User(String),
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

impl Protection {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            users: Mutex::new(LoginThrottle::new(USER_FREE)),
            addresses: Mutex::new(LoginThrottle::new(ADDRESS_FREE)),
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
        let of_user = lock(&self.users).wait(&user.to_owned(), now);
        let of_address = match address {
            Some(address) => lock(&self.addresses).take_turn(&address.to_canonical(), now)?,
            None => Duration::ZERO,
        };
        Ok(of_user.max(of_address))
    }

    /// Notes how an attempt has ended. A success of one user forgives nothing to others at the same address: otherwise
    /// an attacker with an account of its own would not be slowed.
    pub(super) fn note_login(&self, user: &str, address: Option<IpAddr>, has_succeeded: bool) {
        let (now, user) = (self.started.elapsed(), user.to_owned());
        if has_succeeded {
            lock(&self.users).succeeded(&user);
            return;
        }
        lock(&self.users).failed(&user, now);
        if let Some(address) = address {
            lock(&self.addresses).failed(&address.to_canonical(), now);
        }
    }

    /// The rates for a session of this user, from this address.
    pub(super) fn rates(
        &self,
        user: &str,
        address: Option<IpAddr>,
        settings: &GatewaySettings,
    ) -> Rates {
        let of_user = settings.user_request_rate;
        let of_user = of_user.map(|rate| (RateKey::User(user.to_owned()), rate));
        let of_address = settings.address_request_rate.zip(address);
        let of_address =
            of_address.map(|(rate, address)| (RateKey::Address(address.to_canonical()), rate));
        let mut known = lock(&self.rates);
        let keys = of_user.into_iter().chain(of_address);
        let buckets = keys.map(|(key, rate)| {
            if let Some(bucket) = known.get(&key).and_then(Weak::upgrade) {
                return bucket;
            }
            known.retain(|_, bucket| bucket.strong_count() > 0);
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
    /// Whether a request may pass now.
    pub(super) fn allow(&self) -> bool {
        let take = |bucket: &Arc<Rate>| lock(bucket).take(self.started.elapsed());
        self.buckets.iter().all(take)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
