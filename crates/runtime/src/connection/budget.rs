//! What dispatches may take: of their connection in number and in bytes, and of their adapter.

use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::SystemException;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ConnectionCore;
use crate::dispatch::Parts;
use crate::settings::Settings;

/// A permit of the budget stands for so many bytes of requests.
const PERMIT_LEN: usize = 1024;
/// Permits that every dispatch takes, whatever its length.
const PERMITS_MIN: u32 = 16;
/// How long each request waits once dispatches have stalled.
const STALLED_WAIT: Duration = Duration::from_millis(100);

/// What the dispatches of one connection may still take.
pub(super) struct Budget {
    /// Bounds the dispatches under way in number and in bytes. There must be enough of it before the
    /// first poll: a dispatch that has been polled may hold what others wait for, and must not wait
    /// here.
    own: Arc<Semaphore>,
    own_len: u32,
    /// What the dispatches of all connections of the adapter may take, since the first that asked.
    adapter: Option<Arc<Semaphore>>,
    /// Whether there is a share of that for the next dispatch, for which no permit stands. It is kept from
    /// one to the next as long as nobody waits for it.
    has_adapter_share: bool,
    /// Whether none of the budget came back for so long that requests were refused.
    is_stalled: bool,
}

impl Budget {
    pub(super) fn of(connection: &ConnectionCore) -> Self {
        Self {
            own: connection.dispatches().clone(),
            own_len: budget_len(connection.settings()),
            adapter: None,
            has_adapter_share: false,
            is_stalled: false,
        }
    }

    /// How much of the budget requests of this length take.
    pub(super) fn share_of(&self, len: usize) -> u32 {
        let share = u32::try_from(len / PERMIT_LEN).unwrap_or(u32::MAX);
        share.saturating_add(PERMITS_MIN).min(self.own_len)
    }

    /// The longest parameters for which there is enough: as long as nobody takes of it, it does not get less.
    pub(super) fn parameters_len_max(&self) -> usize {
        let left = self.own.available_permits();
        if left >= self.own_len as usize {
            return usize::MAX;
        }
        let blocks = (left + 1).saturating_sub(PERMITS_MIN as usize);
        blocks.saturating_mul(PERMIT_LEN).saturating_sub(1)
    }

    /// Whether there is as much. Nobody else takes of it.
    pub(super) fn has(&self, share: u32) -> bool {
        self.own.available_permits() >= share as usize
    }

    /// Whether as much comes back before a stall has lasted too long.
    pub(super) async fn comes(&mut self, connection: &ConnectionCore, share: u32) -> bool {
        let acquired = self.own.acquire_many(share);
        let limit = connection.settings().dispatch_stall_timeout;
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

    /// Takes a share of the adapter's budget, unless it is there already; false if there is none
    /// left.
    #[inline]
    pub(super) fn take_of_adapter(&mut self, parts: &Parts) -> bool {
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
    pub(super) async fn wait_for_adapter(&mut self, parts: &Parts) {
        self.let_go_of_adapter();
        let permit = self.adapter(parts).acquire().await;
        permit.expect("the semaphore is never closed").forget();
        self.has_adapter_share = true;
    }

    /// The budget of the adapter that dispatches these. There must be no share of another one.
    #[inline]
    fn adapter(&mut self, parts: &Parts) -> &Semaphore {
        let adapter = parts.current.origin.adapter().budget();
        self.adapter.take_if(|known| !Arc::ptr_eq(known, adapter));
        self.adapter.get_or_insert_with(|| adapter.clone())
    }

    #[inline]
    pub(super) fn let_go_of_adapter(&mut self) {
        if std::mem::take(&mut self.has_adapter_share)
            && let Some(adapter) = &self.adapter
        {
            adapter.add_permits(1);
        }
    }

    /// Lets another connection have the share of the adapter if it is the last one: it is as if each
    /// dispatch took one of its own.
    pub(super) fn give_way(&mut self) {
        let is_last = |adapter: &Arc<Semaphore>| adapter.available_permits() == 0;
        if self.adapter.as_ref().is_some_and(is_last) {
            self.let_go_of_adapter();
        }
    }

    /// What a dispatch of so many bytes holds while it goes on: a share of the adapter's budget, too. If
    /// there is not enough, because it was not known how many bytes it would take, it is what is left.
    pub(super) fn permit(&mut self, len: usize) -> Permit {
        let left = u32::try_from(self.own.available_permits()).unwrap_or(u32::MAX);
        let share = self.share_of(len).min(left);
        let permit = self.own.clone().try_acquire_many_owned(share);
        let has_adapter_share = std::mem::take(&mut self.has_adapter_share);
        let adapter = self.adapter.clone().filter(|_| has_adapter_share);
        Permit {
            _connection: permit.expect("there is as much, and nobody else takes of it"),
            _adapter: adapter.map(AdapterShare),
        }
    }

    /// Says that nothing is read any more.
    fn warn_of_stall(connection: &ConnectionCore) {
        tracing::warn!(
            "the connection to {} is not read: as many requests are in dispatch as \
             `Settings::dispatch_limit` ({}) allows, and none has ended for {:?}",
            connection.peer(),
            connection.settings().dispatch_limit,
            connection.settings().dispatch_stall_timeout
        );
    }

    /// What a request is refused with that has waited for dispatches as long as it may, if they may
    /// be waiting for what stands behind it: replies to requests of this side.
    pub(super) fn refuse_nested(connection: &ConnectionCore) -> Option<SystemException> {
        let due = connection.lock().machine.in_flight();
        (due > 0).then(|| {
            let limit = connection.settings().dispatch_limit;
            SystemException::UnknownException(format!(
                "not dispatched: {limit} requests of this connection are in dispatch, the most \
                 (`Settings::dispatch_limit`), none ended for {:?}, and {due} replies that they may \
                 wait for stand behind this request: nest calls less deeply or raise the limit",
                connection.settings().dispatch_stall_timeout
            ))
        })
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.let_go_of_adapter();
    }
}

/// What bounds the dispatches of a connection: permits, as many as [`budget_len`] says.
pub(super) fn budget(settings: &Settings) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(budget_len(settings) as usize))
}

pub(super) fn budget_len(settings: &Settings) -> u32 {
    let limit = u32::try_from(settings.dispatch_limit.max(1)).unwrap_or(u32::MAX);
    let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
    limit.saturating_mul(PERMITS_MIN).min(most)
}

/// What a dispatch holds of the budgets of its connection and its adapter.
pub(super) struct Permit {
    _connection: OwnedSemaphorePermit,
    _adapter: Option<AdapterShare>,
}

/// A share of the budget of an adapter, for which no permit stands.
struct AdapterShare(Arc<Semaphore>);

impl Drop for AdapterShare {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}
