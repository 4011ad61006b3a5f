//! A program that is connected.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use floe_giop::cos::event::ProxyId;

/// The most proxies that a connection obtains without connecting them. A program has one of each kind for a channel.
const OBTAINED_MAX: usize = 64;

/// The warnings that a connection is worth. Further ones are not logged, or a peer could fill the disk; they are counted.
const WARNINGS_MAX: u32 = 16;

/// A connected program. It is dropped when its connection ends.
#[derive(Debug)]
pub(in crate::corba) struct Visitor {
    address: SocketAddr,
    /// The proxies that it has obtained, by the name of the channel.
    obtained: Mutex<Vec<(String, ProxyId)>>,
    warnings: AtomicU32,
}

impl Visitor {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            obtained: Mutex::default(),
            warnings: AtomicU32::new(0),
        }
    }

    /// Its address.
    pub(in crate::corba) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Logs a warning about it, unless there were too many.
    pub(in crate::corba) fn warn(&self, log: impl FnOnce(SocketAddr)) {
        // The count ends far below where it would wrap.
        if self.warnings.load(Ordering::Relaxed) < WARNINGS_MAX {
            self.warnings.fetch_add(1, Ordering::Relaxed);
            log(self.address);
        }
    }

    /// True if it may obtain another proxy.
    pub(in crate::corba) fn may_obtain(&self) -> bool {
        self.lock().len() < OBTAINED_MAX
    }

    /// Notes that it has obtained a proxy.
    pub(in crate::corba) fn obtained(&self, channel: &str, proxy: ProxyId) {
        self.lock().push((channel.to_owned(), proxy));
    }

    /// Forgets the proxies that are connected by now, so that others can be obtained.
    pub(super) fn keep_unconnected(&self, is_connected: impl Fn(&str, ProxyId) -> bool) {
        self.lock()
            .retain(|(channel, proxy)| !is_connected(channel, *proxy));
    }

    /// All that it has obtained and that was not connected, as far as is known.
    pub(super) fn take_obtained(&self) -> Vec<(String, ProxyId)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(String, ProxyId)>> {
        self.obtained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
