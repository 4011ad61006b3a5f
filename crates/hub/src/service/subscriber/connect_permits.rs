//! How many subscribers of one endpoint connect at a time.
//!
//! Subscribers of one endpoint share its connection. If the endpoint is dead, all of them fail when the attempt does, and
//! each has its failure to settle. So only a few take part in an attempt, and the others wait for the next one. Subscribers
//! of other endpoints do not wait for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use floe::Proxy;
use floe::reference::Target;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The endpoints to which subscribers connect.
#[derive(Default)]
pub(crate) struct ConnectPermits(Mutex<Endpoints>);

/// The permit of a subscriber.
pub(crate) type ConnectPermit = OwnedSemaphorePermit;

#[derive(Default)]
struct Endpoints {
    permits: HashMap<Place, Weak<Semaphore>>,
    /// The number of endpoints at which those that nothing waits for are forgotten.
    forget_at: usize,
}

/// Where a subscriber is.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    /// Of the first endpoint, whatever its transport, its timeout and its other options are: they change nothing about a dead peer.
    Address(String, u16),
    /// An endpoint without a host, or the name by which a locator knows it.
    Other(Target),
}

/// Subscribers of one endpoint that connect at a time.
const AT_A_TIME: usize = 32;
const FORGET_MIN: usize = 64;

impl ConnectPermits {
    /// Waits until this subscriber may connect. The permit ends when it is dropped.
    pub(crate) async fn acquire(&self, subscriber: &Proxy) -> Option<ConnectPermit> {
        let permits = self.of(Place::of(&subscriber.reference().target));
        // The semaphore is never closed.
        permits.acquire_owned().await.ok()
    }

    fn of(&self, place: Place) -> Arc<Semaphore> {
        let mut endpoints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Endpoints { permits, forget_at } = &mut *endpoints;
        if permits.len() >= (*forget_at).max(FORGET_MIN) {
            permits.retain(|_, permits| permits.strong_count() > 0);
            *forget_at = 2 * permits.len();
        }
        let known = permits.entry(place).or_default();
        known.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Semaphore::new(AT_A_TIME));
            *known = Arc::downgrade(&new);
            new
        })
    }
}

impl Place {
    fn of(target: &Target) -> Self {
        let Target::Direct(endpoints) = target else {
            return Self::Other(target.clone());
        };
        let first = endpoints.first();
        let address = first.and_then(|first| Some((first.host()?.to_owned(), first.port()?)));
        match address {
            Some((host, port)) => Self::Address(host, port),
            None => Self::Other(Target::Direct(endpoints.iter().take(1).cloned().collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use floe::Communicator;

    use super::*;

    async fn is_pending<T>(future: impl Future<Output = T>) -> bool {
        let mut future = pin!(future);
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn subscribers_of_a_dead_endpoint_wait_for_one_another_and_others_do_not() {
        let communicator = Communicator::new();
        let proxy = |port: usize| {
            let proxy = communicator.proxy(&format!("s:tcp -h 127.0.0.1 -p {port}"));
            proxy.expect("it is one")
        };
        let permits = ConnectPermits::default();
        let mut begun = Vec::new();
        for _ in 0..AT_A_TIME {
            begun.push(permits.acquire(&proxy(1)).await);
        }
        assert!(is_pending(permits.acquire(&proxy(1))).await);
        assert!(!is_pending(permits.acquire(&proxy(2))).await);
        for same in [
            "tcp -h 127.0.0.1 -p 1 -t 77",
            "ws -h 127.0.0.1 -p 1 -r /x -z",
        ] {
            let same = communicator.proxy(&format!("s:{same}")).expect("it is one");
            assert!(is_pending(permits.acquire(&same)).await, "{same}");
        }
        begun.pop();
        assert!(!is_pending(permits.acquire(&proxy(1))).await);
    }

    #[tokio::test]
    async fn endpoints_are_forgotten_when_nothing_waits_for_them() {
        let communicator = Communicator::new();
        let permits = ConnectPermits::default();
        for port in 1..1_000 {
            let proxy = communicator.proxy(&format!("s:tcp -h 127.0.0.1 -p {port}"));
            drop(permits.acquire(&proxy.expect("it is one")).await);
        }
        let endpoints = permits.0.lock().unwrap();
        assert!(
            endpoints.permits.len() <= FORGET_MIN,
            "{}",
            endpoints.permits.len()
        );
    }
}
