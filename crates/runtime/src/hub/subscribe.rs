//! Builders of subscriptions. Each option has a default.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::reference::{Identity, ParseReferenceError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::inbox::inbox;
use super::receiver::SubscriptionServants;
use super::servants::{CountedDispatcher, EventDispatcher, InterruptionSink, LossServant};
use super::session::{Session, SubscriptionConfig};
use super::subscription::{ServantSubscription, Subscription, SubscriptionTask};
use super::{HubError, Qos, Topic, TypedEvent};
use crate::adapter::{IntoIdentity, unique_name};
use crate::codegen::Answer;
use crate::dispatch::Dispatcher;
use crate::error::AdapterError;

/// Default capacity of a stream of events: as many as a hub sends without a reply, so that a consumer may pause for a
/// moment, and then takes them all together.
const CAPACITY: usize = 1024;

/// How many events of a Floe hub one reply of a stream may answer, so that most of them cost no reply.
const GROUP: usize = 64;

/// Number of interruptions that are kept for a servant's subscription.
const INTERRUPTIONS_MAX: usize = 64;

/// Default time without events before the session checks the hub.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A builder of a subscription as a stream. Await it.
#[must_use = "nothing is subscribed until this is awaited"]
pub struct Subscribe<E> {
    options: SubscribeOptions,
    capacity: usize,
    events: PhantomData<fn() -> E>,
}

/// A builder of a servant's subscription. Await it.
#[must_use = "nothing is subscribed until this is awaited"]
pub struct SubscribeServant<A> {
    options: SubscribeOptions,
    dispatcher: A,
}

/// The options that both builders share.
struct SubscribeOptions {
    topic: Topic,
    qos: Qos,
    identity: Option<Result<Identity, ParseReferenceError>>,
    listen: Option<String>,
    check_interval: Duration,
}

impl SubscribeOptions {
    fn new(topic: &Topic) -> Self {
        Self {
            topic: topic.clone(),
            qos: Qos::new(),
            identity: None,
            listen: None,
            check_interval: CHECK_INTERVAL,
        }
    }

    /// Subscribes, and starts the task that keeps the subscription alive.
    async fn start<T: InterruptionSink + Clone>(
        self,
        events: Arc<dyn Dispatcher>,
        arrivals: Arc<Arrivals>,
        sink: T,
        group: usize,
    ) -> Result<SubscriptionTask, HubError> {
        let hub = self.topic.hub().clone();
        let identity = match self.identity {
            Some(identity) => identity.map_err(HubError::Identity)?,
            None => Identity::with_category(unique_name(), "floe"),
        };
        let servants = SubscriptionServants {
            identity: identity.clone(),
            events,
            losses: Arc::new(LossServant(sink.clone())),
        };
        let tasks = hub.communicator().core().environment().tasks();
        let config = SubscriptionConfig {
            hub,
            topic: self.topic.name().into(),
            qos: self.qos,
            group,
            listen: self.listen,
            check_interval: self.check_interval,
            servants,
            arrivals,
        };
        // A task of its own, so that a cancelled call leaves no subscription behind.
        let (started, has_started) = oneshot::channel();
        let stop = CancellationToken::new();
        let running = Session::new(config, sink).run(started, stop.clone());
        let task = SubscriptionTask {
            identity,
            stop,
            task: Some(tasks.runtime().spawn(running)),
        };
        match has_started.await {
            Ok(started) => started.map(|()| task),
            // The runtime has ended, and the task with it.
            Err(_) => Err(HubError::Listen(AdapterError::Shutdown)),
        }
    }
}

/// The methods of both builders.
macro_rules! options {
    () => {
        /// How the hub delivers.
        pub fn qos(mut self, qos: Qos) -> Self {
            self.options.qos = qos;
            self
        }

        /// The identity of the subscriber, such as `"me"` or `"prices/me"`. It is unique by default. With a fixed
        /// identity, operators recognize the subscriber, and a second subscriber is refused with
        /// [`HubError::AlreadySubscribed`].
        pub fn identity(mut self, identity: impl IntoIdentity) -> Self {
            self.options.identity = Some(identity.into_identity());
            self
        }

        /// The endpoints at which the subscriber listens for the hub, such as `tcp -h 192.0.2.7 -p 4070`. By default a
        /// Floe hub calls back over the subscriber's connection. For any other hub the subscriber listens on the local
        /// address of that connection.
        pub fn listen(mut self, endpoints: &str) -> Self {
            self.options.listen = Some(endpoints.to_owned());
            self
        }

        /// How long the subscriber waits for an event before it checks that the hub still delivers. Default 5 s.
        pub fn check_interval(mut self, interval: Duration) -> Self {
            self.options.check_interval = interval;
            self
        }
    };
}

impl<E: TypedEvent> Subscribe<E> {
    pub(super) fn new(topic: &Topic) -> Self {
        Self {
            options: SubscribeOptions::new(topic),
            capacity: CAPACITY,
            events: PhantomData,
        }
    }

    options!();

    /// How many events the stream buffers while the program is busy, at least 1. Default 1,024. If the hub sends an event
    /// while the stream is full, it gets its answer once there is room. It sends a limited number of events without an answer
    /// (1,024 from a Floe hub), which the stream buffers as well.
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Subscribes. Awaiting the builder does the same.
    ///
    /// # Errors
    /// [`HubError`]
    pub async fn start(mut self) -> Result<Subscription<E>, HubError> {
        if E::WANTS_STAMPS {
            self.options.qos = self.options.qos.entry("floe.stamps", "yes");
        }
        let arrivals = Arc::new(Arrivals::default());
        let communicator = self.options.topic.hub().communicator();
        let tasks = communicator.core().environment().tasks();
        let qos = &self.options.qos;
        let (inbox, reader) = inbox(self.capacity, qos, arrivals.clone(), tasks);
        let events = EventDispatcher {
            inbox: inbox.clone(),
        };
        // A durable subscription acknowledges each event.
        let group = if qos.is_durable() { 1 } else { GROUP };
        let task = self.options.start(Arc::new(events), arrivals, inbox, group);
        Ok(Subscription::new(reader, task.await?))
    }
}

impl<A: Answer> SubscribeServant<A> {
    pub(super) fn new(topic: &Topic, dispatcher: A) -> Self {
        Self {
            options: SubscribeOptions::new(topic),
            dispatcher,
        }
    }

    options!();

    /// Subscribes. Awaiting the builder does the same.
    ///
    /// # Errors
    /// [`HubError`]
    pub async fn start(self) -> Result<ServantSubscription, HubError> {
        let (sender, interruptions) = mpsc::channel(INTERRUPTIONS_MAX);
        let arrivals = Arc::new(Arrivals::default());
        let events = CountedDispatcher {
            inner: self.dispatcher,
            arrivals: arrivals.clone(),
        };
        // A servant may answer in any order.
        let task = self.options.start(Arc::new(events), arrivals, sender, 1);
        Ok(ServantSubscription::new(interruptions, task.await?))
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
