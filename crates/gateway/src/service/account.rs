//! An account of what all sessions hold together. No address can take all of it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The amount of something limited that all sessions hold together: bytes of memory, or connections to servers.
///
/// An address may hold as much as is free. An address that takes all it can get therefore leaves half of it to others,
/// a second one leaves a quarter, and so on.
pub(super) struct Account {
    max: usize,
    used: AtomicUsize,
    /// Held for a look-up.
    shares: Mutex<HashMap<Option<IpAddr>, Weak<Share>>>,
}

/// The amount that the sessions of one address hold.
pub(super) struct Share {
    account: Arc<Account>,
    used: AtomicUsize,
}

/// A part of an account, given back when this is dropped.
pub(super) struct Held {
    share: Arc<Share>,
    len: usize,
}

/// There is no room for this address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccountFull;

impl Account {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            used: AtomicUsize::new(0),
            shares: Mutex::default(),
        })
    }

    /// Returns the amount that all sessions hold.
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The share of an address. All sockets without an address have one share together.
    pub(super) fn share(self: &Arc<Self>, address: Option<IpAddr>) -> Arc<Share> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shares.get(&address).and_then(Weak::upgrade) {
            return known;
        }
        // There are no more of them in use than sessions.
        if shares.len() >= shares.capacity() {
            shares.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(Share {
            account: self.clone(),
            used: AtomicUsize::new(0),
        });
        shares.insert(address, Arc::downgrade(&share));
        share
    }
}

impl Share {
    /// Takes `len`.
    ///
    /// # Errors
    /// Less than that is free, or the address would hold more than is free then.
    pub(super) fn take(self: &Arc<Self>, len: usize) -> Result<Held, AccountFull> {
        let own = self.used.fetch_add(len, Ordering::Relaxed);
        let all = self.account.used.fetch_add(len, Ordering::Relaxed);
        // If there is no room, this gives back what was taken.
        let held = Held {
            share: self.clone(),
            len,
        };
        let both = own
            .saturating_add(all)
            .saturating_add(len.saturating_mul(2));
        match both > self.account.max {
            true => Err(AccountFull),
            false => Ok(held),
        }
    }

    /// Takes `len` for something that exists already, even if there is no room.
    pub(super) fn note(self: &Arc<Self>, len: usize) -> Held {
        self.used.fetch_add(len, Ordering::Relaxed);
        self.account.used.fetch_add(len, Ordering::Relaxed);
        Held {
            share: self.clone(),
            len,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.share.used.fetch_sub(self.len, Ordering::Relaxed);
        self.share
            .account
            .used
            .fetch_sub(self.len, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Held").field(&self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([127, 0, 0, last]))
    }

    #[test]
    fn each_address_that_takes_all_it_gets_leaves_half_of_the_rest() {
        let account = Account::new(1000);
        let mut held = Vec::new();
        let mut takes_all = |last| {
            let share = account.share(address(last));
            let mut count = 0;
            while let Ok(one) = share.take(1) {
                held.push(one);
                count += 1;
            }
            count
        };
        assert_eq!([1, 2, 3].map(&mut takes_all), [500, 250, 125]);
        assert_eq!(takes_all(1), 0);
        assert_eq!(account.used(), 875);
        drop(held);
        assert_eq!(account.used(), 0);
        assert!(account.share(address(9)).take(500).is_ok());
        assert_eq!(
            account.share(address(9)).take(501).unwrap_err(),
            AccountFull
        );
        assert_eq!(account.used(), 0);
    }
}
