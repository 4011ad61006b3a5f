//! Limits on the dispatches of a connection: their number and bytes, and the share of the adapter's limit that they
//! take.

use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::SystemException;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ConnectionCore;
use crate::dispatch::RequestParts;
use crate::settings::Settings;

/// Bytes of requests that one permit stands for.
const PERMIT_LEN: usize = 1024;
/// Permits that every dispatch takes, whatever its length.
const PERMITS_MIN: u32 = 16;
/// How long each further request waits once dispatches have stalled.
const STALLED_WAIT: Duration = Duration::from_millis(100);

/// The budget that the dispatches of one connection still have.
pub(super) struct Budget {
    /// Bounds the dispatches under way in number and in bytes. A dispatch takes its permits before its first poll: once
    /// polled, it may hold a resource that other dispatches wait for, so it must never wait here.
    own: Arc<Semaphore>,
    own_len: u32,
    /// The budget that all connections of the adapter share. Set by the first request that needs it.
    adapter: Option<Arc<Semaphore>>,
    /// True if this connection holds a share of the adapter's budget for the next dispatch. The share is not an owned
    /// permit. The connection keeps it from one dispatch to the next unless another connection waits for it.
    has_adapter_share: bool,
    /// True once no permit has come back within the stall timeout, so that requests were refused.
    is_stalled: bool,
}

impl Budget {
    pub(super) fn of(connection: &ConnectionCore) -> Self {
        Self {
            own: connection.dispatches.clone(),
            own_len: budget_len(&connection.settings),
            adapter: None,
            has_adapter_share: false,
            is_stalled: false,
        }
    }

    /// Returns how many permits requests of this length take.
    pub(super) fn share_of(&self, len: usize) -> u32 {
        let share = u32::try_from(len / PERMIT_LEN).unwrap_or(u32::MAX);
        share.saturating_add(PERMITS_MIN).min(self.own_len)
    }

    /// Returns the longest parameters for which the permits left suffice. The number stays valid: only this connection
    /// takes permits.
    pub(super) fn parameters_len_max(&self) -> usize {
        let left = self.own.available_permits();
        if left >= self.own_len as usize {
            return usize::MAX;
        }
        let blocks = (left + 1).saturating_sub(PERMITS_MIN as usize);
        blocks.saturating_mul(PERMIT_LEN).saturating_sub(1)
    }

    /// Returns true if this many permits are left. Only this connection takes permits, so they stay available.
    pub(super) fn has_permits(&self, share: u32) -> bool {
        self.own.available_permits() >= share as usize
    }

    /// Waits until this many permits are left. Returns false if that takes longer than the stall timeout.
    pub(super) async fn wait_for(&mut self, connection: &ConnectionCore, share: u32) -> bool {
        let acquired = self.own.acquire_many(share);
        let limit = connection.settings.dispatch_stall_timeout;
        let limit = match self.is_stalled {
            true => limit.min(STALLED_WAIT),
            false => limit,
        };
        let has_come = timeout(limit, acquired).await.is_ok();
        if !has_come && !self.is_stalled {
            Self::warn_of_stall(connection);
        }
        self.is_stalled = !has_come;
        has_come
    }

    pub(super) fn end_stall(&mut self) {
        self.is_stalled = false;
    }

    /// Takes a share of the adapter's budget, unless the connection holds one already. Returns false if none is left.
    #[inline]
    pub(super) fn take_adapter_share(&mut self, parts: &RequestParts) -> bool {
        if !self.has_adapter_share {
            let taken = self
                .adapter(parts)
                .try_acquire()
                .map(SemaphorePermit::forget);
            self.has_adapter_share = taken.is_ok();
        }
        self.has_adapter_share
    }

    /// Waits for a share of the adapter's budget.
    pub(super) async fn wait_for_adapter_share(&mut self, parts: &RequestParts) {
        self.release_adapter_share();
        let permit = self.adapter(parts).acquire().await;
        permit.expect("the semaphore is never closed").forget();
        self.has_adapter_share = true;
    }

    /// Returns the budget of the adapter that dispatches this request. The connection must not hold a share of another
    /// adapter.
    #[inline]
    fn adapter(&mut self, parts: &RequestParts) -> &Semaphore {
        let adapter = &parts.current.origin.adapter().budget;
        self.adapter.take_if(|known| !Arc::ptr_eq(known, adapter));
        self.adapter.get_or_insert_with(|| adapter.clone())
    }

    #[inline]
    pub(super) fn release_adapter_share(&mut self) {
        if std::mem::take(&mut self.has_adapter_share)
            && let Some(adapter) = &self.adapter
        {
            adapter.add_permits(1);
        }
    }

    /// Releases the share of the adapter's budget if it is the last one, so that another connection can take it. The
    /// connections then take turns as if each dispatch took a share of its own.
    pub(super) fn yield_adapter_share(&mut self) {
        let is_last = |adapter: &Arc<Semaphore>| adapter.available_permits() == 0;
        if self.adapter.as_ref().is_some_and(is_last) {
            self.release_adapter_share();
        }
    }

    /// Takes the permits for a dispatch of this many bytes, together with the share of the adapter's budget. If fewer
    /// permits are left, because the length was unknown before, it takes those that are left.
    pub(super) fn permit(&mut self, len: usize) -> Permit {
        let left = u32::try_from(self.own.available_permits()).unwrap_or(u32::MAX);
        let share = self.share_of(len).min(left);
        let permit = self.own.clone().try_acquire_many_owned(share);
        let has_adapter_share = std::mem::take(&mut self.has_adapter_share);
        let adapter = self.adapter.clone().filter(|_| has_adapter_share);
        Permit {
            _connection: permit.expect("only this connection takes permits"),
            _adapter: adapter.map(AdapterShare),
        }
    }

    /// Logs that the connection is no longer read.
    fn warn_of_stall(connection: &ConnectionCore) {
        tracing::warn!(
            "stopped reading the connection to {}: the limit of requests in dispatch is reached \
             (`Settings::dispatch_limit`, {}), and none has ended for {:?}",
            connection.peer(),
            connection.settings.dispatch_limit,
            connection.settings.dispatch_stall_timeout
        );
    }

    /// Returns the exception that refuses a request after it has waited for the whole stall timeout. It returns one
    /// only while this side has requests in flight: their replies come behind the request, and the stalled dispatches
    /// may be waiting for them.
    pub(super) fn refuse_nested(connection: &ConnectionCore) -> Option<SystemException> {
        let due = connection.lock().machine.in_flight();
        (due > 0).then(|| {
            let limit = connection.settings.dispatch_limit;
            SystemException::UnknownException(format!(
                "not dispatched: the limit of {limit} requests in dispatch on this connection is reached \
                 (`Settings::dispatch_limit`), none has ended for {:?}, and {due} replies that they may \
                 wait for come after this request: nest calls less deeply or raise the limit",
                connection.settings.dispatch_stall_timeout
            ))
        })
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.release_adapter_share();
    }
}

/// Creates the permits that bound the dispatches of a connection; [`budget_len`] says how many.
pub(super) fn budget(settings: &Settings) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(budget_len(settings) as usize))
}

pub(super) fn budget_len(settings: &Settings) -> u32 {
    let limit = u32::try_from(settings.dispatch_limit.max(1)).unwrap_or(u32::MAX);
    let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
    limit.saturating_mul(PERMITS_MIN).min(most)
}

/// The permits that a dispatch holds from its connection and its adapter.
pub(super) struct Permit {
    _connection: OwnedSemaphorePermit,
    _adapter: Option<AdapterShare>,
}

/// A share of an adapter's budget, given back on drop.
struct AdapterShare(Arc<Semaphore>);

impl Drop for AdapterShare {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}
