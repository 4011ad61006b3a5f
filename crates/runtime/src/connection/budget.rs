//! Limits on the dispatches of a connection: their number and bytes, and the share of the adapter's limit that they
//! take.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::SystemException;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::ConnectionCore;
use crate::dispatch::{
    AdapterBudget, AddressDispatches, PERMIT_LEN, PendingShare, RequestParts, Share,
};
use crate::settings::Settings;

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
    /// The address of the peer.
    address: Option<IpAddr>,
    /// The budget that all connections of the adapter share. Set by the first request that needs it.
    adapter: Option<KnownAdapter>,
    /// The share of the adapter's budget that this connection holds for the next dispatch, if any. The connection keeps it
    /// from one dispatch to the next unless another connection may wait for it.
    adapter_share: Option<Share>,
    /// True once no permit has come back within the stall timeout, so that requests were refused.
    is_stalled: bool,
}

/// The budget of an adapter, and the dispatches of the peer's address there.
#[derive(Clone)]
struct KnownAdapter {
    budget: Arc<AdapterBudget>,
    address: Arc<AddressDispatches>,
}

impl Budget {
    /// The budget of a connection with this address.
    pub(super) fn of(connection: &ConnectionCore, address: Option<IpAddr>) -> Self {
        Self {
            own: connection.dispatches.clone(),
            own_len: budget_len(&connection.settings),
            address,
            adapter: None,
            adapter_share: None,
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
        if self.adapter_share.is_none() {
            let KnownAdapter { budget, address } = self.adapter(parts);
            self.adapter_share = budget.try_take(address);
        }
        self.adapter_share.is_some()
    }

    /// Waits for a share of the adapter's budget.
    pub(super) async fn wait_for_adapter_share(&mut self, parts: &RequestParts) {
        self.release_adapter_share();
        let KnownAdapter { budget, address } = self.adapter(parts);
        let share = budget.take(address).await;
        self.adapter_share = Some(share);
    }

    /// Returns the budget of the adapter that dispatches this request. The connection must not hold a share of another
    /// adapter.
    #[inline]
    fn adapter(&mut self, parts: &RequestParts) -> &KnownAdapter {
        let budget = &parts.current.origin.adapter().budget;
        self.adapter
            .take_if(|known| !Arc::ptr_eq(&known.budget, budget));
        let address = self.address;
        self.adapter.get_or_insert_with(|| KnownAdapter {
            budget: budget.clone(),
            address: budget.address(address),
        })
    }

    #[inline]
    pub(super) fn release_adapter_share(&mut self) {
        if let Some(share) = self.adapter_share.take()
            && let Some(adapter) = &self.adapter
        {
            adapter.budget.give_back(share);
        }
    }

    /// Releases the share of the adapter's budget if it is the last one, so that another connection can take it. The
    /// connections then take turns as if each dispatch took a share of its own.
    pub(super) fn yield_adapter_share(&mut self) {
        let is_last = |adapter: &KnownAdapter| !adapter.budget.has_room();
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
        let adapter = self.adapter_share.take().zip(self.adapter.clone());
        Permit {
            _connection: permit.expect("only this connection takes permits"),
            _adapter: adapter.map(|(share, KnownAdapter { budget, address })| {
                PendingShare::new(budget, address, share)
            }),
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

/// Takes this many permits for requests that are answered after their dispatch, or those that are left. Only a dispatch of the
/// connection may call this.
pub(super) fn hold(permits: &Semaphore, wanted: usize) -> usize {
    let held = wanted.min(permits.available_permits());
    let taken = u32::try_from(held).map(|held| permits.try_acquire_many(held));
    match taken {
        Ok(Ok(permit)) => {
            permit.forget();
            held
        }
        _ => 0,
    }
}

pub(super) fn budget_len(settings: &Settings) -> u32 {
    let limit = u32::try_from(settings.dispatch_limit.max(1)).unwrap_or(u32::MAX);
    let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
    limit.saturating_mul(PERMITS_MIN).min(most)
}

/// The permits that a dispatch holds from its connection and its adapter.
pub(super) struct Permit {
    _connection: OwnedSemaphorePermit,
    _adapter: Option<PendingShare>,
}
