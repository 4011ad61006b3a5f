//! Limits how many subscribers connect at a time.
//!
//! Subscribers of one endpoint share its connection. If the endpoint is dead, all of them fail when the attempt does,
//! and each has its failure to settle. So only a few take part in an attempt, and the others wait for the next one.
//! Subscribers of other endpoints do not wait for them, unless their host, their client or the hub as a whole has too
//! many attempts under way: each attempt may have a socket, and a dead endpoint may hold it until the attempt times
//! out.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use floe::Proxy;
use floe::reference::Target;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::Mutex;
use crate::service::client::Client;

/// Limits how many subscribers connect at a time, by endpoint, host and client, and in all.
pub(crate) struct ConnectPermits {
    semaphores: Mutex<Semaphores>,
    /// The permits of the whole hub.
    all: Arc<Semaphore>,
}

/// The permits of a subscriber: of its endpoint, its host, its client, and the hub.
#[derive(Debug)]
pub(crate) struct ConnectPermit {
    _permits: Vec<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct Semaphores {
    by_key: HashMap<ConnectKey, Weak<Semaphore>>,
    /// The number of semaphores at which the unused ones are forgotten.
    forget_at: usize,
}

/// The thing whose connection attempts are counted together: an endpoint, a host or a client.
#[derive(PartialEq, Eq, Hash)]
enum ConnectKey {
    /// The host and port of the first endpoint. Its transport, timeout and other options do not matter: they change
    /// nothing about a dead peer.
    Address(String, u16),
    /// The host of the first endpoint.
    Host(String),
    /// The client that subscribed it, wherever it is.
    Client(Client),
    /// An endpoint without a host, or the name by which a locator knows it.
    Other(Target),
}

/// Subscribers of one endpoint that connect at a time.
const OF_ENDPOINT: usize = 32;
/// Subscribers of one host that connect at a time.
const OF_HOST: usize = 128;
/// Subscribers of one client that connect at a time: half of the hub's, so that a client with many hosts leaves room
/// for others.
const OF_CLIENT: usize = 128;
/// Subscribers that connect at a time: a quarter of the files that a process may usually open.
const OF_ALL: usize = 256;
const FORGET_MIN: usize = 64;

impl Default for ConnectPermits {
    fn default() -> Self {
        Self {
            semaphores: Mutex::default(),
            all: Arc::new(Semaphore::new(OF_ALL)),
        }
    }
}

impl ConnectPermits {
    /// Waits until this subscriber may connect. The permit ends when it is dropped.
    pub(crate) async fn acquire(
        &self,
        subscriber: &Proxy,
        client: &Client,
    ) -> Option<ConnectPermit> {
        let key = ConnectKey::of(&subscriber.reference().target);
        let host = key.host();
        let client = ConnectKey::Client(client.clone());
        // A subscriber that waits for its endpoint or its host holds no permit that subscribers elsewhere need.
        let own = [Some(key), host, Some(client)].into_iter().flatten();
        let mut semaphores: Vec<_> = own.map(|key| self.of(key)).collect();
        semaphores.push(self.all.clone());
        let mut permits = Vec::new();
        for semaphore in semaphores {
            // It is never closed.
            permits.push(semaphore.acquire_owned().await.ok()?);
        }
        Some(ConnectPermit { _permits: permits })
    }

    fn of(&self, key: ConnectKey) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock();
        let Semaphores { by_key, forget_at } = &mut *semaphores;
        if by_key.len() >= (*forget_at).max(FORGET_MIN) {
            by_key.retain(|_, semaphore| semaphore.strong_count() > 0);
            *forget_at = 2 * by_key.len();
        }
        let count = key.at_a_time();
        let known = by_key.entry(key).or_default();
        known.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Semaphore::new(count));
            *known = Arc::downgrade(&new);
            new
        })
    }
}

impl ConnectKey {
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

    /// The key of all subscribers on the same host.
    fn host(&self) -> Option<Self> {
        match self {
            Self::Address(host, _) => Some(Self::Host(host.clone())),
            Self::Host(_) | Self::Client(_) | Self::Other(_) => None,
        }
    }

    /// How many subscribers with this key connect at a time.
    fn at_a_time(&self) -> usize {
        match self {
            Self::Host(_) => OF_HOST,
            Self::Client(_) => OF_CLIENT,
            Self::Address(..) | Self::Other(_) => OF_ENDPOINT,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use floe::Communicator;
    use tokio::task::unconstrained;

    use super::*;

    const ANYONE: Client = Client::Unknown;

    async fn is_pending<T>(future: impl Future<Output = T>) -> bool {
        let mut future = pin!(unconstrained(future));
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
        for _ in 0..OF_ENDPOINT {
            begun.push(permits.acquire(&proxy(1), &ANYONE).await);
        }
        assert!(is_pending(permits.acquire(&proxy(1), &ANYONE)).await);
        assert!(!is_pending(permits.acquire(&proxy(2), &ANYONE)).await);
        for same in [
            "tcp -h 127.0.0.1 -p 1 -t 77",
            "ws -h 127.0.0.1 -p 1 -r /x -z",
        ] {
            let same = communicator.proxy(&format!("s:{same}")).expect("it is one");
            assert!(is_pending(permits.acquire(&same, &ANYONE)).await, "{same}");
        }
        begun.pop();
        assert!(!is_pending(permits.acquire(&proxy(1), &ANYONE)).await);
    }

    #[tokio::test]
    async fn endpoints_are_forgotten_when_nothing_waits_for_them() {
        let communicator = Communicator::new();
        let permits = ConnectPermits::default();
        for port in 1..1_000 {
            let proxy = communicator.proxy(&format!("s:tcp -h 127.0.0.1 -p {port}"));
            drop(permits.acquire(&proxy.expect("it is one"), &ANYONE).await);
        }
        let count = permits.semaphores.lock().by_key.len();
        assert!(count <= FORGET_MIN, "{count}");
    }

    #[tokio::test]
    async fn a_host_a_client_and_the_hub_have_so_many_attempts_whatever_the_endpoints_are() {
        let communicator = Communicator::new();
        let permits = ConnectPermits::default();
        let acquire = async |user: &str, host: usize, port: usize| {
            let client = Client::of_user(Some(user.into()));
            let proxy = communicator.proxy(&format!("s:tcp -h 10.0.0.{host} -p {port}"));
            let acquired = permits.acquire(proxy.as_ref().expect("it is one"), &client);
            // Tokio makes a task that takes many permits one after another wait, although more are free.
            let mut acquired = pin!(unconstrained(acquired));
            poll_fn(|context| Poll::Ready(acquired.as_mut().poll(context))).await
        };
        let mut begun = Vec::new();
        for port in 1..=OF_HOST {
            begun.push(acquire("ann", 1, port).await);
        }
        assert!(begun.iter().all(Poll::is_ready));
        assert!(acquire("bob", 1, OF_HOST + 1).await.is_pending());
        begun.clear();
        for host in 1..=OF_CLIENT {
            begun.push(acquire("ann", host, 9_000 + host).await);
        }
        assert!(begun.iter().all(Poll::is_ready));
        assert!(acquire("ann", 250, 1).await.is_pending());
        assert!(acquire("bob", 250, 1).await.is_ready());
        for host in 1..=OF_ALL - OF_CLIENT {
            begun.push(acquire("bob", host, 9_500 + host).await);
        }
        assert!(begun.iter().all(Poll::is_ready));
        assert!(acquire("eve", 250, 1).await.is_pending());
        begun.pop();
        assert!(acquire("eve", 250, 1).await.is_ready());
    }
}
