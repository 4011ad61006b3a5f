//! The limit on the dispatches of an adapter, over all its connections, and the part of it that one address cannot use up.
//!
//! A dispatch may wait as long as its servant likes. If the connections of one address could fill the whole budget with
//! such dispatches, no other client would be read until one of these ends. So a part of the budget is kept for addresses
//! that have few dispatches under way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// The budget of an adapter: a dispatch takes a share of it before it begins.
pub(crate) struct AdapterBudget {
    common: Semaphore,
    common_len: u32,
    /// Only for addresses with few pending dispatches.
    reserve: Semaphore,
    reserve_len: u32,
    addresses: Mutex<Addresses>,
}

/// The addresses whose connections have begun dispatches. An address is `None` for sockets of this host.
#[derive(Default)]
struct Addresses {
    dispatches: HashMap<Option<IpAddr>, Weak<AddressDispatches>>,
    /// When the map grows beyond this length, addresses without connections leave it.
    prune_at: usize,
}

/// The dispatches of one address that were not finished by their first poll.
#[derive(Default)]
pub(crate) struct AddressDispatches {
    pending: AtomicUsize,
    /// Notified when there are few again.
    few: Notify,
}

/// The part of the budget that a share was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Common,
    Reserve,
}

/// An address with fewer pending dispatches may take shares of the reserve.
const FEW: usize = 16;
/// The reserve is this part of the budget.
const RESERVE_PART: u32 = 16;

impl AdapterBudget {
    /// A budget of this many dispatches. A small one has no reserve: it limits how many servants run at a time, more than
    /// it protects memory.
    pub(crate) fn new(len: u32) -> Self {
        let reserve_len = match len / RESERVE_PART {
            part if part as usize >= FEW => part,
            _ => 0,
        };
        let common_len = len - reserve_len;
        Self {
            common: Semaphore::new(common_len as usize),
            common_len,
            reserve: Semaphore::new(reserve_len as usize),
            reserve_len,
            addresses: Mutex::default(),
        }
    }

    /// The dispatches of an address.
    pub(crate) fn address(&self, address: Option<IpAddr>) -> Arc<AddressDispatches> {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Addresses {
            dispatches,
            prune_at,
        } = &mut *addresses;
        let known = dispatches.get(&address).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            if dispatches.len() >= *prune_at {
                dispatches.retain(|_, dispatches| dispatches.strong_count() > 0);
                *prune_at = 2 * dispatches.len() + 16;
            }
            let new = Arc::default();
            dispatches.insert(address, Arc::downgrade(&new));
            new
        })
    }

    /// Takes a share, if one is left for the address.
    #[inline]
    pub(crate) fn try_take(&self, address: &AddressDispatches) -> Option<Share> {
        if let Ok(permit) = self.common.try_acquire() {
            permit.forget();
            return Some(Share::Common);
        }
        let reserved = address
            .are_few()
            .then(|| self.reserve.try_acquire().ok())??;
        reserved.forget();
        Some(Share::Reserve)
    }

    /// Waits for a share.
    pub(crate) async fn take(&self, address: &AddressDispatches) -> Share {
        loop {
            let few = address.few.notified();
            let are_few = address.are_few();
            tokio::select! {
                permit = self.common.acquire() => {
                    permit.expect(NEVER_CLOSED).forget();
                    return Share::Common;
                }
                permit = self.reserve.acquire(), if are_few => {
                    let permit = permit.expect(NEVER_CLOSED);
                    // Others of the address may have got theirs meanwhile.
                    if address.are_few() {
                        permit.forget();
                        return Share::Reserve;
                    }
                }
                () = few, if !are_few => {}
            }
        }
    }

    pub(crate) fn give_back(&self, share: Share) {
        match share {
            Share::Common => self.common.add_permits(1),
            Share::Reserve => self.reserve.add_permits(1),
        }
    }

    /// Returns true if any address may begin a dispatch now.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.common.available_permits() > 0
    }

    /// Takes the whole budget, and lets go of it when the future is dropped. Its first poll takes what is left, and queues
    /// for the rest: the semaphores are fair, so that no later request overtakes.
    pub(crate) async fn take_all(&self) -> [SemaphorePermit<'_>; 2] {
        let (common, reserve) = tokio::join!(
            self.common.acquire_many(self.common_len),
            self.reserve.acquire_many(self.reserve_len)
        );
        [common.expect(NEVER_CLOSED), reserve.expect(NEVER_CLOSED)]
    }
}

impl AddressDispatches {
    fn are_few(&self) -> bool {
        self.pending.load(Ordering::Relaxed) < FEW
    }
}

const NEVER_CLOSED: &str = "the semaphores are never closed";

/// The share of a dispatch that its first poll did not finish. Dropping it gives it back.
pub(crate) struct PendingShare {
    budget: Arc<AdapterBudget>,
    address: Arc<AddressDispatches>,
    share: Share,
}

impl PendingShare {
    pub(crate) fn new(
        budget: Arc<AdapterBudget>,
        address: Arc<AddressDispatches>,
        share: Share,
    ) -> Self {
        address.pending.fetch_add(1, Ordering::Relaxed);
        Self {
            budget,
            address,
            share,
        }
    }
}

impl Drop for PendingShare {
    fn drop(&mut self) {
        self.budget.give_back(self.share);
        if self.address.pending.fetch_sub(1, Ordering::Relaxed) == FEW {
            self.address.few.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// A budget, and the pending dispatches of an address that has used up what any address may use.
    fn used_up(len: u32) -> (Arc<AdapterBudget>, Vec<PendingShare>) {
        let budget = Arc::new(AdapterBudget::new(len));
        let busy = budget.address(None);
        let take = || budget.try_take(&busy);
        let shares = std::iter::from_fn(|| {
            take().map(|share| PendingShare::new(budget.clone(), busy.clone(), share))
        });
        let shares = shares.collect();
        (budget, shares)
    }

    #[test]
    fn a_part_is_kept_for_addresses_with_few_dispatches() {
        let (budget, busy) = used_up(512);
        assert_eq!(busy.len(), 480);
        assert!(!budget.has_room());
        let other = budget.address(Some([127, 0, 0, 2].into()));
        let few: Vec<_> = std::iter::from_fn(|| budget.try_take(&other))
            .map(|share| PendingShare::new(budget.clone(), other.clone(), share))
            .take(FEW + 1)
            .collect();
        assert_eq!(few.len(), FEW);
        drop((busy, few));
        assert!(budget.has_room());
        assert_eq!(budget.reserve.available_permits(), 32);
    }

    #[test]
    fn a_small_budget_has_no_part_for_others() {
        let (budget, busy) = used_up(255);
        assert_eq!(busy.len(), 255);
        assert!(
            budget
                .try_take(&budget.address(Some([127, 0, 0, 2].into())))
                .is_none()
        );
    }

    #[test]
    fn an_address_that_waits_goes_on_when_it_has_few_again() {
        let (budget, busy) = used_up(512);
        let other = budget.address(Some([127, 0, 0, 2].into()));
        let take = || budget.try_take(&other).expect("the reserve has one");
        let mut few: Vec<_> = (0..FEW)
            .map(|_| PendingShare::new(budget.clone(), other.clone(), take()))
            .collect();
        let mut waiting = pin!(budget.take(&other));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        few.pop();
        assert_eq!(
            waiting.as_mut().poll(&mut context),
            Poll::Ready(Share::Reserve)
        );
        drop(busy);
    }

    #[test]
    fn those_of_an_address_that_wait_together_do_not_take_the_part_of_others() {
        let (budget, _busy) = used_up(512);
        let mut others = Vec::new();
        for last in 1..=u8::MAX {
            let other = budget.address(Some([127, 0, 1, last].into()));
            while let Some(share) = budget.try_take(&other) {
                others.push(PendingShare::new(budget.clone(), other.clone(), share));
            }
        }
        let crowd = budget.address(Some([127, 0, 0, 2].into()));
        let mut waiting: Vec<_> = (0..FEW + 8)
            .map(|_| Box::pin(budget.take(&crowd)))
            .collect();
        let mut context = Context::from_waker(Waker::noop());
        let mut poll_all = || {
            let mut taken = Vec::new();
            waiting.retain_mut(|waits| match waits.as_mut().poll(&mut context) {
                Poll::Ready(share) => {
                    taken.push(PendingShare::new(budget.clone(), crowd.clone(), share));
                    false
                }
                Poll::Pending => true,
            });
            taken
        };
        assert_eq!(poll_all().len(), 0);
        drop(others);
        let taken = poll_all();
        assert_eq!(taken.len(), FEW);
        assert_eq!(poll_all().len(), 0);
        drop(taken);
        assert_eq!(poll_all().len(), FEW.min(8), "the rest has its turn");
    }

    #[test]
    fn all_of_it_is_both_parts() {
        let budget = AdapterBudget::new(256);
        let mut all = pin!(budget.take_all());
        let mut context = Context::from_waker(Waker::noop());
        let held = all.as_mut().poll(&mut context);
        assert!(held.is_ready() && !budget.has_room());
        assert!(budget.try_take(&budget.address(None)).is_none());
    }
}
