//! How many connections there may be, and what an adapter counts of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::settings::{AdapterSettings, Settings};

/// What an adapter has counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterCounts {
    /// Connections that are open now; sockets of `udp` endpoints are none.
    pub connections: usize,
    /// Connections that were refused because there were as many as may be.
    pub refused: u64,
    /// Connections that failed in their TLS handshake or in the opening of their WebSocket, or were
    /// given up in it.
    pub handshakes_failed: u64,
    /// Times that the system gave no connection, such as for want of descriptors.
    pub accepts_failed: u64,
    /// Datagrams that were no request.
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

/// Connections that there are, and may be.
#[derive(Debug)]
pub(crate) struct Admissions {
    limit: usize,
    limit_per_address: Option<usize>,
    /// Whose limit it is, for people.
    setting: &'static str,
    /// Guards the counts; held for a moment.
    admitted: Mutex<Admitted>,
}

#[derive(Debug, Default)]
struct Admitted {
    count: usize,
    /// Kept only if there is a limit for it. No address is that of this host's sockets.
    by_address: HashMap<Option<IpAddr>, usize>,
}

/// A connection's share of the limits. Dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct Admission {
    address: Option<IpAddr>,
    admissions: [Arc<Admissions>; 2],
}

impl Admissions {
    /// Those of a communicator.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self::new(
            settings.connection_limit,
            settings.connection_limit_per_address,
            "Settings",
        )
    }

    /// Those of an adapter.
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

    /// Whether the peers' addresses matter.
    pub(crate) fn is_by_address(&self) -> bool {
        self.limit_per_address.is_some()
    }

    /// Whether one more may come at all; if not, why and what to do.
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
    /// A share of both limits, or why there is none.
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
    fn who_leaves_makes_room_for_another_one() {
        let both = [admissions(2, None), admissions(1, None)];
        let enter = || Admission::of(both.clone(), None);
        let first = enter().unwrap();
        assert!(enter().unwrap_err().contains("there are 1 connections"));
        assert_eq!(both[0].count(), 1, "half an admission is none");
        drop(first);
        enter().unwrap();
    }

    #[test]
    fn addresses_are_counted_apart_and_forgotten() {
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
