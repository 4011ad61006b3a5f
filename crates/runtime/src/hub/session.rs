//! Keeps a subscription alive: subscribes, watches the subscription, and subscribes again.
//!
//! ```text
//! subscribe ---> active --- connection lost, subscriber forgotten, or hub unreachable ---> interrupted
//!                  ^                                                                            |
//!                  +------------------ subscribe again, with growing delays --------------------+
//! ```
//!
//! A subscription has a connection of its own to the hub, so that a slow consumer delays no other traffic. While events
//! arrive, the session sends nothing. Otherwise it sends an `ice_ping` now and then to the hub's publisher object for
//! this subscriber alone. The ping is an event like any other, so it shows whether the hub still delivers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::SystemException;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::client::{failed, with_answer_timeout};
use super::receiver::{Receiver, SubscriptionServants, local_endpoints};
use super::servants::{InterruptionSink, LOST_FACET};
use super::{CALLBACK_FACET, HubClient, HubError, Interruption, Qos};
use crate::adapter::unique_name;
use crate::connection::Connection;
use crate::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, TopicProxy,
};
use crate::error::InvokeError;
use crate::proxy::{Proxy, TypedProxy};

/// How long a test event may take.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// The delays between attempts to subscribe again. Each is twice the one before.
const RETRY_DELAY_MIN: Duration = Duration::from_millis(50);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(2);

/// How long unsubscribing may take.
const UNSUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(3);

/// The parameters of a subscription.
pub(super) struct SubscriptionConfig {
    pub(super) hub: HubClient,
    pub(super) topic: Arc<str>,
    pub(super) qos: Qos,
    /// How many events one reply may answer.
    pub(super) group: usize,
    /// The endpoints at which to listen; `None` for any address at which the hub reaches this side.
    pub(super) listen: Option<String>,
    /// How long the session waits for an event before it checks the hub.
    pub(super) check_interval: Duration,
    pub(super) servants: SubscriptionServants,
    pub(super) arrivals: Arc<Arrivals>,
}

/// A subscription that is kept alive.
pub(super) struct Session<T> {
    config: SubscriptionConfig,
    sink: T,
    /// Gives the session a connection of its own.
    connection_id: String,
    /// The connection of the last attempt to subscribe, whether or not that succeeded.
    connection: Option<Connection>,
    /// Receives callbacks of a Floe hub; set at the first attempt.
    callback_receiver: Option<Receiver>,
    /// Receives events of other hubs. It is kept over a restart of the hub, which may remember its endpoints.
    listening_receiver: Option<Receiver>,
}

/// A subscription that the hub has accepted.
struct ActiveSubscription {
    topic: TopicProxy,
    /// The proxy that the hub got.
    subscriber: Proxy,
    /// The hub's publisher object for this subscriber alone.
    own: Proxy,
    /// `None` if the hub is in the same communicator.
    connection: Option<Connection>,
}

impl<T: InterruptionSink> Session<T> {
    pub(super) fn new(config: SubscriptionConfig, sink: T) -> Self {
        Self {
            config,
            sink,
            connection_id: unique_name(),
            connection: None,
            callback_receiver: None,
            listening_receiver: None,
        }
    }

    /// Subscribes, reports whether that succeeded, keeps the subscription alive until `stop`, and unsubscribes. A
    /// failed attempt leaves nothing behind.
    pub(super) async fn run(
        mut self,
        started: oneshot::Sender<Result<(), HubError>>,
        stop: CancellationToken,
    ) -> Result<(), HubError> {
        let subscribed = self.subscribe(None).await;
        let (mut active, outcome) = match subscribed {
            Ok(active) => (Some(active), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // If the caller has given up, its `stop` is cancelled already.
        let _ = started.send(outcome);
        let mut ended = Ok(());
        if let Some(active) = &mut active {
            tokio::select! {
                () = stop.cancelled() => {}
                kept = self.keep_alive(active) => ended = kept,
            }
            ended = ended.and(self.unsubscribe_in_time(active).await);
        }
        let active = active.and_then(|active| active.connection);
        for connection in active.into_iter().chain(self.connection) {
            connection.close().await;
        }
        for receiver in [self.callback_receiver, self.listening_receiver]
            .into_iter()
            .flatten()
        {
            receiver.close().await;
        }
        ended
    }

    /// Watches the subscription, and subscribes again when it is interrupted. Returns when the communicator is shut
    /// down.
    async fn keep_alive(&mut self, active: &mut ActiveSubscription) -> Result<(), HubError> {
        loop {
            let reason = self.watch(active).await;
            let since = Instant::now();
            let is_durable = self.config.qos.is_durable();
            let interrupted = Interruption::Interrupted { reason, is_durable };
            self.sink.report(interrupted).await;
            *active = self.subscribe_again(active).await?;
            let after = since.elapsed();
            let again = Interruption::Resubscribed { after, is_durable };
            self.sink.report(again).await;
        }
    }

    /// Waits until the subscription is interrupted. Returns the reason.
    async fn watch(&self, active: &ActiveSubscription) -> String {
        let SubscriptionConfig {
            arrivals,
            check_interval,
            ..
        } = &self.config;
        loop {
            let count = arrivals.count();
            tokio::select! {
                () = closed(active.connection.as_ref()) => {
                    return "the connection to the hub was closed".to_owned();
                }
                () = sleep(*check_interval) => {}
            }
            let is_delivering = arrivals.count() != count || arrivals.has_unanswered();
            if !is_delivering && let Err(reason) = self.check(active).await {
                return reason;
            }
        }
    }

    /// Checks whether an event for this subscriber alone arrives. The error says why not.
    async fn check(&self, active: &ActiveSubscription) -> Result<(), String> {
        let arrivals = &self.config.arrivals;
        let count = arrivals.count();
        match active.own.ice_ping().await {
            Ok(()) => {}
            Err(InvokeError::System(SystemException::ObjectNotExist(_))) => {
                return Err("the hub has ended the subscription".to_owned());
            }
            // A consumer that is behind may block the reading of the connection, and so the reply.
            Err(_) if arrivals.has_unanswered() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        let arrived = timeout(DELIVERY_TIMEOUT, arrivals.wait_beyond(count)).await;
        match arrived {
            Err(_) if self.config.qos.is_prompt() && !arrivals.has_unanswered() => {
                Err("the hub no longer delivers events".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Retries until a subscription succeeds, or the communicator is shut down.
    async fn subscribe_again(
        &mut self,
        former: &ActiveSubscription,
    ) -> Result<ActiveSubscription, HubError> {
        let mut delay = RETRY_DELAY_MIN;
        loop {
            match self.subscribe(Some(former)).await {
                Ok(active) => return Ok(active),
                Err(error) if error.is_shutdown() => return Err(error),
                Err(error) => tracing::debug!("cannot subscribe again yet: {error}"),
            }
            sleep(delay).await;
            delay = (delay * 2).min(RETRY_DELAY_MAX);
        }
    }

    /// Subscribes in the way that the hub supports. `former` is the interrupted subscription, if any.
    async fn subscribe(
        &mut self,
        former: Option<&ActiveSubscription>,
    ) -> Result<ActiveSubscription, HubError> {
        let topic = self
            .config
            .hub
            .create_or_retrieve(&self.config.topic)
            .await?;
        let topic = topic.ice_connection_id(&self.connection_id);
        let connection = topic.ice_connection().await;
        let connection = connection.map_err(|error| failed(&topic, error))?;
        self.connection.clone_from(&connection);
        if self.config.listen.is_none() {
            let subscriber = self.callback_subscriber(connection.as_ref()).await?;
            let callback = topic.ice_facet(CALLBACK_FACET);
            let mut subscribed = self.request(&callback, &subscriber, true).await;
            if former.is_some() && matches!(subscribed, Err(SubscribeError::AlreadySubscribed(_))) {
                // The hub has not noticed that the former connection is gone, or no longer delivers over it.
                let _ = topic.unsubscribe(Some(&subscriber)).await;
                subscribed = self.request(&callback, &subscriber, true).await;
            }
            if !lacks_facet(&subscribed) {
                let own = self.own_publisher(&topic, subscribed)?;
                return Ok(self.activate(topic, subscriber, own, connection));
            }
        }
        let (subscriber, is_new) = self.listening_subscriber(connection.as_ref()).await?;
        if former.is_some() && is_new {
            // The hub may still have the subscription of the former endpoints.
            let _ = topic.unsubscribe(Some(&subscriber)).await;
        }
        let may_be_floe = self.config.listen.is_some();
        let subscribed = self.request(&topic, &subscriber, may_be_floe).await;
        let own = match (subscribed, former) {
            // The hub has kept the subscription over its restart.
            (Err(SubscribeError::AlreadySubscribed(_)), Some(former)) => former.own.clone(),
            (subscribed, _) => self.own_publisher(&topic, subscribed)?,
        };
        let active = self.activate(topic, subscriber, own, connection);
        self.check_reached(&active).await?;
        Ok(active)
    }

    fn activate(
        &self,
        topic: TopicProxy,
        subscriber: Proxy,
        own: Proxy,
        connection: Option<Connection>,
    ) -> ActiveSubscription {
        ActiveSubscription {
            topic,
            subscriber,
            own: with_answer_timeout(&own).ice_connection_id(&self.connection_id),
            connection,
        }
    }

    /// Lets a Floe hub deliver over the connection. Returns the proxy to subscribe.
    async fn callback_subscriber(
        &mut self,
        connection: Option<&Connection>,
    ) -> Result<Proxy, HubError> {
        let receiver = match self.callback_receiver.take() {
            Some(receiver) => receiver,
            None => {
                Receiver::new(self.config.hub.communicator(), &self.config.servants, "").await?
            }
        };
        if let Some(connection) = connection {
            receiver.open(connection);
        }
        let subscriber = receiver.subscriber().ice_mode(self.config.qos.mode());
        self.callback_receiver = Some(receiver);
        Ok(subscriber)
    }

    /// Listens where any hub can deliver to. Returns the proxy to subscribe, and whether its endpoints are new.
    async fn listening_subscriber(
        &mut self,
        connection: Option<&Connection>,
    ) -> Result<(Proxy, bool), HubError> {
        let endpoints = match &self.config.listen {
            Some(endpoints) => endpoints.clone(),
            None => local_endpoints(connection)?,
        };
        let mode = self.config.qos.mode();
        if let Some(receiver) = self
            .listening_receiver
            .as_ref()
            .filter(|it| it.is_at(&endpoints))
        {
            return Ok((receiver.subscriber().ice_mode(mode), false));
        }
        if let Some(former) = self.listening_receiver.take() {
            former.close().await;
        }
        let communicator = self.config.hub.communicator();
        let receiver = Receiver::new(communicator, &self.config.servants, &endpoints).await?;
        let subscriber = receiver.subscriber().ice_mode(mode);
        self.listening_receiver = Some(receiver);
        Ok((subscriber, true))
    }

    /// Sends the subscribe request. A hub that may be Floe's is also asked to report lost events.
    async fn request(
        &self,
        topic: &TopicProxy,
        subscriber: &Proxy,
        may_be_floe: bool,
    ) -> Result<Proxy, SubscribeError> {
        let mut qos: BTreeMap<String, String> = self.config.qos.entries().clone();
        if may_be_floe {
            qos.entry("floe.lostFacet".to_owned())
                .or_insert_with(|| LOST_FACET.to_owned());
            if self.config.group > 1 {
                qos.entry("floe.group".to_owned())
                    .or_insert_with(|| self.config.group.to_string());
            }
        }
        topic
            .subscribe_and_get_publisher(&qos, Some(subscriber))
            .await
    }

    fn own_publisher(
        &self,
        topic: &TopicProxy,
        subscribed: Result<Proxy, SubscribeError>,
    ) -> Result<Proxy, HubError> {
        match subscribed {
            Ok(own) => Ok(own),
            Err(SubscribeError::AlreadySubscribed(_)) => Err(HubError::AlreadySubscribed {
                topic: self.config.topic.to_string(),
                identity: self.config.servants.identity.clone(),
            }),
            Err(SubscribeError::BadQoS(error)) => Err(HubError::BadQos {
                reason: error.reason,
            }),
            Err(SubscribeError::InvalidSubscriber(error)) => Err(HubError::Refused {
                reason: error.reason,
            }),
            Err(SubscribeError::Invoke(error)) => Err(failed(topic, error)),
        }
    }

    /// Checks that the hub reaches the subscriber's endpoints. If it does not, unsubscribes.
    async fn check_reached(&self, active: &ActiveSubscription) -> Result<(), HubError> {
        if self.check(active).await.is_ok() {
            return Ok(());
        }
        let endpoints = active.subscriber.reference().endpoints();
        let endpoints: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        let _ = self.unsubscribe_in_time(active).await;
        Err(HubError::NotReached {
            endpoints: endpoints.join(":"),
            after: DELIVERY_TIMEOUT,
        })
    }

    /// Unsubscribes, with a short limit.
    async fn unsubscribe_in_time(&self, active: &ActiveSubscription) -> Result<(), HubError> {
        // Use the shared connection: a slow consumer may block the reading of the subscription's own.
        let topic = active.topic.ice_connection_id("");
        let topic = topic.ice_timeout(Some(UNSUBSCRIBE_TIMEOUT));
        let ended = topic.unsubscribe(Some(&active.subscriber)).await;
        ended.map_err(|error| failed(&topic, error))
    }
}

/// Returns true if the hub lacks the callback facet.
fn lacks_facet(subscribed: &Result<Proxy, SubscribeError>) -> bool {
    matches!(
        subscribed,
        Err(SubscribeError::Invoke(InvokeError::System(
            SystemException::FacetNotExist(_)
        )))
    )
}

/// Waits until a connection is closed. Without a connection, waits for ever.
async fn closed(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.closed().await,
        None => std::future::pending().await,
    }
}
