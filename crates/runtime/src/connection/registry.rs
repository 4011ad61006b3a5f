//! The registry of all connections of one communicator.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::ConnectionCore;
use super::keepalive_thread::KeepaliveThread;
use super::pool::Pool;
use crate::environment::{Environment, Owner};

/// All connections of one communicator, in both directions.
pub(crate) struct Connections {
    environment: Arc<Environment>,
    /// The communicator that owns the connections.
    owner: Weak<Owner>,
    pool: Pool,
    live: Mutex<Live>,
    /// Started with the first connection.
    keepalive: OnceLock<KeepaliveThread>,
}

/// Tracked connections, some of which may have ended.
#[derive(Default)]
struct Live {
    list: Vec<Weak<ConnectionCore>>,
    /// The list drops ended connections when it grows beyond this length.
    prune_at: usize,
}

impl Connections {
    pub(crate) fn new(environment: Arc<Environment>, owner: Weak<Owner>) -> Self {
        Self {
            environment,
            owner,
            pool: Pool::default(),
            live: Mutex::default(),
            keepalive: OnceLock::new(),
        }
    }

    pub(crate) fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// The communicator; `None` if it is gone.
    pub(crate) fn owner(&self) -> Option<Arc<Owner>> {
        self.owner.upgrade()
    }

    /// The outgoing connections, which proxies share.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Tracks a connection for heartbeats and for the shutdown.
    pub(super) fn track(self: &Arc<Self>, connection: &Arc<ConnectionCore>) {
        {
            let mut live = self.lock();
            if live.list.len() >= live.prune_at {
                live.list.retain(|connection| connection.strong_count() > 0);
                live.prune_at = 2 * live.list.len() + 16;
            }
            live.list.push(Arc::downgrade(connection));
        }
        self.follow(connection);
        if self.environment.is_shut_down() {
            connection.close();
        }
    }

    /// Adapts the keepalive thread to changed liveness rules of a connection.
    pub(super) fn follow(self: &Arc<Self>, connection: &ConnectionCore) {
        let keepalive = self.keepalive.get_or_init(|| KeepaliveThread::start(self));
        keepalive.follow(connection);
    }

    pub(crate) fn live(&self) -> Vec<Arc<ConnectionCore>> {
        self.lock().list.iter().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        for connection in self.live() {
            connection.close();
        }
    }
}
