//! The counters of a gateway.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of sessions of a gateway, and its counters since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GatewayStatus {
    /// The number of sessions now.
    pub sessions: usize,
    /// Sessions that were created.
    pub sessions_created: u64,
    /// Clients that were refused a session.
    pub logins_refused: u64,
    /// Requests that came on a connection without a session. Their connections were closed.
    pub requests_without_session: u64,
    /// Proxies that the address filter refused. The connections of their clients were closed.
    pub proxies_refused: u64,
    /// Requests that a filter refused.
    pub requests_refused: u64,
    /// Requests of servers to clients whose category no session has: it was made up, or the session has ended.
    pub callbacks_refused: u64,
    /// Objects that were removed from routing tables to make room for others.
    pub routes_evicted: u64,
    /// Login attempts that were made to wait, or refused, because others had failed.
    pub logins_slowed: u64,
    /// Requests beyond the rate of their user or address: oneway ones were lost, twoway ones refused.
    pub rate_exceeded: u64,
    /// Bytes that sessions hold now, of [`memory_max`](crate::GatewaySettings::memory_max).
    pub memory: u64,
    /// Requests, proxies and sessions for which there was no memory: oneway requests were lost, all others refused.
    pub memory_full: u64,
    /// Requests forwarded to servers.
    pub to_servers: u64,
    /// Length of these requests, in bytes: operation, context and parameters.
    pub to_servers_bytes: u64,
    /// Requests forwarded to clients.
    pub to_clients: u64,
    /// Length of these requests, in bytes.
    pub to_clients_bytes: u64,
    /// Requests that wait in queues now.
    pub queued: u64,
    /// Length of these requests, in bytes.
    pub queued_bytes: u64,
    /// Requests that a later one replaced in a queue.
    pub overridden: u64,
    /// Requests that found a queue full: oneway ones were lost, twoway ones refused.
    pub queue_full: u64,
    /// Oneway requests that could not be forwarded, and so were lost.
    pub lost: u64,
}

/// The counters of a [`GatewayStatus`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) sessions_created: Counter,
    pub(super) logins_refused: Counter,
    pub(super) requests_without_session: Counter,
    pub(super) proxies_refused: Counter,
    pub(super) requests_refused: Counter,
    pub(super) callbacks_refused: Counter,
    pub(super) routes_evicted: Counter,
    pub(super) logins_slowed: Counter,
    pub(super) rate_exceeded: Counter,
    pub(super) memory_full: Counter,
    pub(super) to_servers: Counter,
    pub(super) to_servers_bytes: Counter,
    pub(super) to_clients: Counter,
    pub(super) to_clients_bytes: Counter,
    pub(super) queued: Counter,
    pub(super) queued_bytes: Counter,
    pub(super) overridden: Counter,
    pub(super) queue_full: Counter,
    pub(super) lost: Counter,
}

impl Counters {
    pub(super) fn status(&self, sessions: usize, memory: usize) -> GatewayStatus {
        GatewayStatus {
            sessions,
            memory: memory as u64,
            memory_full: self.memory_full.value(),
            sessions_created: self.sessions_created.value(),
            logins_refused: self.logins_refused.value(),
            requests_without_session: self.requests_without_session.value(),
            proxies_refused: self.proxies_refused.value(),
            requests_refused: self.requests_refused.value(),
            callbacks_refused: self.callbacks_refused.value(),
            routes_evicted: self.routes_evicted.value(),
            logins_slowed: self.logins_slowed.value(),
            rate_exceeded: self.rate_exceeded.value(),
            to_servers: self.to_servers.value(),
            to_servers_bytes: self.to_servers_bytes.value(),
            to_clients: self.to_clients.value(),
            to_clients_bytes: self.to_clients_bytes.value(),
            queued: self.queued.value(),
            queued_bytes: self.queued_bytes.value(),
            overridden: self.overridden.value(),
            queue_full: self.queue_full.value(),
            lost: self.lost.value(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Subtracts from the counter of an amount that can fall.
    pub(super) fn sub(&self, count: usize) {
        self.0.fetch_sub(count as u64, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
