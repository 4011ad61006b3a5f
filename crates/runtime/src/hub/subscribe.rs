//! How a subscription begins: what a program may say of it, each with a default.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::reference::Identity;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::inbox::{Arrivals, Inbox, Losses, Noted, Tell};
use super::place::Servants;
use super::session::{Session, Wish};
use super::subscription::{Keeping, ServantSubscription, Subscription};
use super::{HubError, Qos, Topic, TypedEvent};
use crate::adapter::unique_name;
use crate::dispatch::Answer;
use crate::error::AdapterError;

/// Events that a stream holds unless it is told otherwise: enough that a consumer may rest for a moment.
const CAPACITY: usize = 256;

/// Interruptions that are kept beside a servant.
const INTERRUPTIONS_MAX: usize = 64;

/// How long no event may come before the hub is asked whether the subscription stands.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A subscription that is about to begin, as a stream. Await it.
#[must_use = "nothing is subscribed until this is awaited"]
pub struct Subscribe<E> {
    options: Options,
    capacity: usize,
    events: PhantomData<fn() -> E>,
}

/// A subscription of a servant that is about to begin. Await it.
#[must_use = "nothing is subscribed until this is awaited"]
pub struct SubscribeServant<A> {
    options: Options,
    dispatcher: A,
}

/// What streams and servants have in common.
struct Options {
    topic: Topic,
    qos: Qos,
    identity: Option<Identity>,
    listen: Option<String>,
    check_interval: Duration,
}

impl Options {
    fn new(topic: &Topic) -> Self {
        Self {
            topic: topic.clone(),
            qos: Qos::new(),
            identity: None,
            listen: None,
            check_interval: CHECK_INTERVAL,
        }
    }

    /// Subscribes, and starts the task that keeps the subscription.
    async fn start<A: Answer, T: Tell + Clone>(
        self,
        answer: A,
        tell: T,
    ) -> Result<Keeping, HubError> {
        let hub = self.topic.hub().clone();
        let arrivals = Arc::new(Arrivals::default());
        let identity = self
            .identity
            .unwrap_or_else(|| Identity::with_category(unique_name(), "floe"));
        let servants = Servants {
            identity: identity.clone(),
            events: Arc::new(Noted {
                inner: answer,
                arrivals: arrivals.clone(),
            }),
            losses: Arc::new(Losses(tell.clone())),
        };
        let tasks = hub.communicator().core().environment().tasks();
        let wish = Wish {
            hub,
            topic: self.topic.name().into(),
            qos: self.qos,
            listen: self.listen,
            check_interval: self.check_interval,
            servants,
            arrivals,
        };
        // In a task of its own, so that a caller who gives up leaves no subscription behind.
        let (begun, has_begun) = oneshot::channel();
        let stop = CancellationToken::new();
        let running = Session::new(wish, tell).run(begun, stop.clone());
        let keeping = Keeping {
            identity,
            stop,
            task: Some(tasks.runtime().spawn(running)),
        };
        match has_begun.await {
            Ok(begun) => begun.map(|()| keeping),
            // The runtime has ended, and the task with it.
            Err(_) => Err(HubError::Listen(AdapterError::Shutdown)),
        }
    }
}

/// The methods that both have.
macro_rules! options {
    () => {
        /// How the hub delivers.
        pub fn qos(mut self, qos: Qos) -> Self {
            self.options.qos = qos;
            self
        }

        /// The identity of the subscriber. By default it is unique; one that is always the same lets operators
        /// recognize the subscriber, and a second one is refused with [`HubError::AlreadySubscribed`].
        pub fn identity(mut self, identity: Identity) -> Self {
            self.options.identity = Some(identity);
            self
        }

        /// Where the subscriber listens for the hub, such as `tcp -h 192.0.2.7 -p 4070`. By default a Floe hub
        /// calls back over the subscriber's connection, and for others the subscriber listens on the local
        /// address of that connection.
        pub fn listen(mut self, endpoints: &str) -> Self {
            self.options.listen = Some(endpoints.to_owned());
            self
        }

        /// How long no event may come before the hub is asked whether the subscription still stands. Default 5 s.
        pub fn check_interval(mut self, interval: Duration) -> Self {
            self.options.check_interval = interval;
            self
        }
    };
}

impl<E: TypedEvent> Subscribe<E> {
    pub(super) fn new(topic: &Topic) -> Self {
        Self {
            options: Options::new(topic),
            capacity: CAPACITY,
            events: PhantomData,
        }
    }

    options!();

    /// How many events the stream holds while the program is busy, at least 1. Default 256. A request of the hub
    /// that finds it full is answered once there is room.
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Subscribes; to await the builder itself does the same.
    ///
    /// # Errors
    /// [`HubError`]
    pub async fn start(self) -> Result<Subscription<E>, HubError> {
        let (sender, items) = mpsc::channel(self.capacity);
        let keeping = self.options.start(Inbox(sender.clone()), sender).await?;
        Ok(Subscription::new(items, keeping))
    }
}

impl<A: Answer> SubscribeServant<A> {
    pub(super) fn new(topic: &Topic, dispatcher: A) -> Self {
        Self {
            options: Options::new(topic),
            dispatcher,
        }
    }

    options!();

    /// Subscribes; to await the builder itself does the same.
    ///
    /// # Errors
    /// [`HubError`]
    pub async fn start(self) -> Result<ServantSubscription, HubError> {
        let (sender, interruptions) = mpsc::channel(INTERRUPTIONS_MAX);
        let keeping = self.options.start(self.dispatcher, sender).await?;
        Ok(ServantSubscription::new(interruptions, keeping))
    }
}

impl<E: TypedEvent> IntoFuture for Subscribe<E> {
    type Output = Result<Subscription<E>, HubError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

impl<A: Answer> IntoFuture for SubscribeServant<A> {
    type Output = Result<ServantSubscription, HubError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

impl<E> fmt::Debug for Subscribe<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribe")
            .field("topic", &self.options.topic)
            .finish_non_exhaustive()
    }
}

impl<A> fmt::Debug for SubscribeServant<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscribeServant")
            .field("topic", &self.options.topic)
            .finish_non_exhaustive()
    }
}
