//! Limits on the number of connections, and an adapter's counts of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::settings::{AdapterSettings, Settings};

/// Counts of an adapter since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterCounts {
    /// Open connections. The sockets of `udp` endpoints do not count.
    pub connections: usize,
    /// Connections that were refused because a limit was reached.
    pub refused: u64,
    /// Connections that failed, or were dropped, in their TLS handshake or in the opening of their
    /// WebSocket.
    pub handshakes_failed: u64,
    /// How many times the system failed to give a connection, such as for want of descriptors.
    pub accepts_failed: u64,
    /// Datagrams that were not a request.
    pub datagrams_ignored: u64,
}

/// Counters behind [`AdapterCounts`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) refused: AtomicU64,
    pub(crate) handshakes_failed: AtomicU64,
    pub(crate) accepts_failed: AtomicU64,
    pub(crate) datagrams_ignored: Arc<AtomicU64>,
}

impl Counters {
    pub(crate) fn counts(&self, connections: usize) -> AdapterCounts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        AdapterCounts {
            connections,
            refused: get(&self.refused),
            handshakes_failed: get(&self.handshakes_failed),
            accepts_failed: get(&self.accepts_failed),
            datagrams_ignored: get(&self.datagrams_ignored),
        }
    }
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The current number of connections, and its limits.
#[derive(Debug)]
pub(crate) struct Admissions {
    limit: usize,
    limit_per_address: Option<usize>,
    /// The owner of the limit, for messages.
    setting: &'static str,
    /// Guards the counts, and is held for a moment.
    admitted: Mutex<Admitted>,
}

#[derive(Debug, Default)]
struct Admitted {
    count: usize,
    /// Counted only if there is a limit for it. The address is `None` for sockets of this host.
    by_address: HashMap<Option<IpAddr>, usize>,
}

/// A connection's share of the limits. Dropping it frees the share.
#[derive(Debug)]
pub(crate) struct Admission {
    address: Option<IpAddr>,
    admissions: [Arc<Admissions>; 2],
}

impl Admissions {
    /// The limits of a communicator.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self::new(
            settings.connection_limit,
            settings.connection_limit_per_address,
            "Settings",
        )
    }

    /// The limits of an adapter.
    pub(crate) fn of_adapter(settings: &AdapterSettings) -> Self {
        Self::new(
            settings.connection_limit.unwrap_or(usize::MAX),
            settings.connection_limit_per_address,
            "AdapterSettings",
        )
    }

    fn new(limit: usize, limit_per_address: Option<usize>, setting: &'static str) -> Self {
        Self {
            limit,
            limit_per_address,
            setting,
            admitted: Mutex::default(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().count
    }

    /// Returns true if there is a limit for each address.
    pub(crate) fn is_by_address(&self) -> bool {
        self.limit_per_address.is_some()
    }

    /// Checks the limits that hold for all addresses. The error says which limit is reached and
    /// what to do.
    pub(crate) fn check_count(&self) -> Result<(), String> {
        self.compare_count(self.count())
    }

    fn enter(&self, address: Option<IpAddr>) -> Result<(), String> {
        let mut admitted = self.lock();
        self.check_admitted(&admitted, address)?;
        admitted.count += 1;
        if self.is_by_address() {
            *admitted.by_address.entry(address).or_default() += 1;
        }
        Ok(())
    }

    fn leave(&self, address: Option<IpAddr>) {
        let mut admitted = self.lock();
        admitted.count -= 1;
        if let Some(count) = admitted.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                admitted.by_address.remove(&address);
            }
        }
    }

    fn check_admitted(&self, admitted: &Admitted, address: Option<IpAddr>) -> Result<(), String> {
        self.compare_count(admitted.count)?;
        let same = admitted.by_address.get(&address).copied().unwrap_or(0);
        match self.limit_per_address {
            Some(limit) if same >= limit => Err(format!(
                "its address has {limit} connections already, as many as \
                 `{}::connection_limit_per_address` allows",
                self.setting
            )),
            _ => Ok(()),
        }
    }

    fn compare_count(&self, count: usize) -> Result<(), String> {
        if count < self.limit {
            return Ok(());
        }
        Err(format!(
            "there are {} connections already, as many as `{}::connection_limit` allows",
            self.limit, self.setting
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Admitted> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission {
    /// Takes a share of both limits. The error says which limit is reached.
    pub(crate) fn of(
        admissions: [Arc<Admissions>; 2],
        address: Option<IpAddr>,
    ) -> Result<Self, String> {
        admissions[0].enter(address)?;
        if let Err(full) = admissions[1].enter(address) {
            admissions[0].leave(address);
            return Err(full);
        }
        Ok(Self {
            address,
            admissions,
        })
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        for admissions in &self.admissions {
            admissions.leave(self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admissions(limit: usize, limit_per_address: Option<usize>) -> Arc<Admissions> {
        Arc::new(Admissions::new(limit, limit_per_address, "Settings"))
    }

    #[test]
    fn dropping_an_admission_frees_its_share() {
        let both = [admissions(2, None), admissions(1, None)];
        let enter = || Admission::of(both.clone(), None);
        let first = enter().unwrap();
        assert!(enter().unwrap_err().contains("there are 1 connections"));
        assert_eq!(
            both[0].count(),
            1,
            "a refused admission takes no share of either limit"
        );
        drop(first);
        enter().unwrap();
    }

    #[test]
    fn each_address_has_its_own_count_which_is_removed_at_zero() {
        let own = admissions(9, Some(1));
        let enter = |last| {
            let address = IpAddr::from([127, 0, 0, last]);
            Admission::of([own.clone(), admissions(9, None)], Some(address))
        };
        let (first, _second) = (enter(1).unwrap(), enter(2).unwrap());
        let full = enter(1).unwrap_err();
        assert!(full.contains("its address has 1 connections"), "{full}");
        drop(first);
        assert_eq!(own.lock().by_address.len(), 1);
        enter(1).unwrap();
    }
}
