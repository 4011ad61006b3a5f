//! Keeps a subscription alive: makes it, watches it, and makes it again.
//!
//! ```text
//! subscribe ---> stands --- the connection breaks, the hub forgets or cannot be reached ---> interrupted
//!                  ^                                                                            |
//!                  +------------------ subscribe again, with growing pauses --------------------+
//! ```
//!
//! A subscription has a connection of its own to the hub, so that a consumer that is behind holds up nothing
//! else. While events come, nothing is asked. Otherwise an `ice_ping` is sent now and then to the object that the
//! hub has for this subscriber alone: it is an event like any other, so it shows whether the hub still delivers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::message::SystemException;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::client::{failed, patient};
use super::inbox::{Arrivals, LOST_FACET, Tell};
use super::place::{Place, Servants, local_endpoints};
use super::{CALLBACK_FACET, HubClient, HubError, Interruption, Qos};
use crate::adapter::unique_name;
use crate::connection::Connection;
use crate::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, TopicProxy,
};
use crate::error::InvokeError;
use crate::proxy::{Proxy, TypedProxy};

/// How long an event may take that was sent as a test.
const DELIVERY_PATIENCE: Duration = Duration::from_secs(5);

/// The pauses between attempts to subscribe again: each is twice the one before.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long the hub may take to end a subscription that nobody wants any more.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(3);

/// What a subscription is to be.
pub(super) struct Wish {
    pub(super) hub: HubClient,
    pub(super) topic: Arc<str>,
    pub(super) qos: Qos,
    /// Where to listen; none for wherever the hub reaches this side.
    pub(super) listen: Option<String>,
    /// How long no event may come before the hub is asked.
    pub(super) check_interval: Duration,
    pub(super) servants: Servants,
    pub(super) arrivals: Arc<Arrivals>,
}

/// A subscription that is kept alive.
pub(super) struct Session<T> {
    wish: Wish,
    tell: T,
    /// Sets the connection apart from all others.
    connection_id: String,
    /// Where a Floe hub delivers to, once it was tried.
    called_back: Option<Place>,
    /// Where other hubs deliver to. It stays the same over a restart of the hub, which may remember it.
    listening: Option<Place>,
}

/// A subscription that the hub knows.
struct Standing {
    topic: TopicProxy,
    /// What the hub was given.
    subscriber: Proxy,
    /// The hub's object for this subscriber alone.
    own: Proxy,
    /// None if the hub is in the same communicator.
    connection: Option<Connection>,
}

impl<T: Tell> Session<T> {
    pub(super) fn new(wish: Wish, tell: T) -> Self {
        Self {
            wish,
            tell,
            connection_id: unique_name(),
            called_back: None,
            listening: None,
        }
    }

    /// Subscribes, says whether that succeeded, keeps the subscription until it is to stop, and ends it. Nothing is
    /// left behind if it does not succeed.
    pub(super) async fn run(
        mut self,
        begun: oneshot::Sender<Result<(), HubError>>,
        stop: CancellationToken,
    ) -> Result<(), HubError> {
        let subscribed = self.subscribe(None).await;
        let (mut standing, begun_with) = match subscribed {
            Ok(standing) => (Some(standing), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // If nobody waits for it any more, it is to stop.
        let _ = begun.send(begun_with);
        let mut ended = Ok(());
        if let Some(standing) = &mut standing {
            tokio::select! {
                () = stop.cancelled() => {}
                kept = self.keep(standing) => ended = kept,
            }
            ended = ended.and(self.unsubscribe_in_time(standing).await);
            if let Some(connection) = &standing.connection {
                connection.close().await;
            }
        }
        for place in [self.called_back, self.listening].into_iter().flatten() {
            place.close().await;
        }
        ended
    }

    /// Watches the subscription, and makes it again. It ends with the communicator.
    async fn keep(&mut self, standing: &mut Standing) -> Result<(), HubError> {
        loop {
            let reason = self.watch(standing).await;
            let since = Instant::now();
            self.tell.tell(Interruption::Interrupted { reason }).await;
            *standing = self.subscribe_again(standing).await?;
            let after = since.elapsed();
            self.tell.tell(Interruption::Resubscribed { after }).await;
        }
    }

    /// Waits until the subscription does not stand any more; why.
    async fn watch(&self, standing: &Standing) -> String {
        let Wish {
            arrivals,
            check_interval,
            ..
        } = &self.wish;
        loop {
            let count = arrivals.count();
            tokio::select! {
                () = closed(standing.connection.as_ref()) => {
                    return "the connection to the hub was closed".to_owned();
                }
                () = sleep(*check_interval) => {}
            }
            let is_delivering = arrivals.count() != count || arrivals.is_held();
            if !is_delivering && let Err(reason) = self.check(standing).await {
                return reason;
            }
        }
    }

    /// Checks whether an event for this subscriber alone arrives; why not.
    async fn check(&self, standing: &Standing) -> Result<(), String> {
        let arrivals = &self.wish.arrivals;
        let count = arrivals.count();
        match standing.own.ice_ping().await {
            Ok(()) => {}
            Err(InvokeError::System(SystemException::ObjectNotExist(_))) => {
                return Err("the hub has ended the subscription".to_owned());
            }
            // The consumer may hold up what is read from the connection, the answer included.
            Err(_) if arrivals.is_held() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        let arrived = timeout(DELIVERY_PATIENCE, arrivals.wait_beyond(count)).await;
        match arrived {
            Err(_) if self.wish.qos.is_prompt() && !arrivals.is_held() => {
                Err("the hub does not deliver any more".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Subscribes until it succeeds, or the communicator is shut down.
    async fn subscribe_again(&mut self, former: &Standing) -> Result<Standing, HubError> {
        let mut pause = PAUSE_MIN;
        loop {
            match self.subscribe(Some(former)).await {
                Ok(standing) => return Ok(standing),
                Err(error) if error.is_shutdown() => return Err(error),
                Err(error) => tracing::debug!("cannot subscribe again yet: {error}"),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Subscribes in the way that the hub understands. `former` is what stood before.
    async fn subscribe(&mut self, former: Option<&Standing>) -> Result<Standing, HubError> {
        let topic = self.wish.hub.create_or_retrieve(&self.wish.topic).await?;
        let topic = topic.ice_connection_id(&self.connection_id);
        let connection = topic.ice_connection().await;
        let connection = connection.map_err(|error| failed(&topic, error))?;
        if self.wish.listen.is_none() {
            let subscriber = self.be_called_back(connection.as_ref()).await?;
            let callback = topic.ice_facet(CALLBACK_FACET);
            let mut subscribed = self.request(&callback, &subscriber, true).await;
            if former.is_some() && matches!(subscribed, Err(SubscribeError::AlreadySubscribed(_))) {
                // The hub has not noticed yet that the former connection is gone, or does not deliver over it.
                let _ = topic.unsubscribe(Some(&subscriber)).await;
                subscribed = self.request(&callback, &subscriber, true).await;
            }
            if !lacks_facet(&subscribed) {
                let own = self.own_publisher(&topic, subscribed)?;
                return Ok(self.standing(topic, subscriber, own, connection));
            }
        }
        let (subscriber, is_new) = self.listen(connection.as_ref()).await?;
        if former.is_some() && is_new {
            // The hub may still know where this side listened before.
            let _ = topic.unsubscribe(Some(&subscriber)).await;
        }
        let may_be_floe = self.wish.listen.is_some();
        let subscribed = self.request(&topic, &subscriber, may_be_floe).await;
        let own = match (subscribed, former) {
            // The hub has kept it over its restart.
            (Err(SubscribeError::AlreadySubscribed(_)), Some(former)) => former.own.clone(),
            (subscribed, _) => self.own_publisher(&topic, subscribed)?,
        };
        let standing = self.standing(topic, subscriber, own, connection);
        self.check_reached(&standing).await?;
        Ok(standing)
    }

    fn standing(
        &self,
        topic: TopicProxy,
        subscriber: Proxy,
        own: Proxy,
        connection: Option<Connection>,
    ) -> Standing {
        Standing {
            topic,
            subscriber,
            own: patient(&own).ice_connection_id(&self.connection_id),
            connection,
        }
    }

    /// Lets a Floe hub deliver over the connection; what it is given to subscribe.
    async fn be_called_back(&mut self, connection: Option<&Connection>) -> Result<Proxy, HubError> {
        let place = match self.called_back.take() {
            Some(place) => place,
            None => Place::new(self.wish.hub.communicator(), &self.wish.servants, "").await?,
        };
        if let Some(connection) = connection {
            place.open(connection);
        }
        let subscriber = place.subscriber().ice_mode(self.wish.qos.mode());
        self.called_back = Some(place);
        Ok(subscriber)
    }

    /// Listens where any hub can deliver to; what it is given to subscribe, and whether that is somewhere else than before.
    async fn listen(&mut self, connection: Option<&Connection>) -> Result<(Proxy, bool), HubError> {
        let endpoints = match &self.wish.listen {
            Some(endpoints) => endpoints.clone(),
            None => local_endpoints(connection)?,
        };
        let mode = self.wish.qos.mode();
        if let Some(place) = self.listening.as_ref().filter(|it| it.is_at(&endpoints)) {
            return Ok((place.subscriber().ice_mode(mode), false));
        }
        if let Some(former) = self.listening.take() {
            former.close().await;
        }
        let communicator = self.wish.hub.communicator();
        let place = Place::new(communicator, &self.wish.servants, &endpoints).await?;
        let subscriber = place.subscriber().ice_mode(mode);
        self.listening = Some(place);
        Ok((subscriber, true))
    }

    /// Sends the request; a hub that may be Floe's is asked to tell of lost events.
    async fn request(
        &self,
        topic: &TopicProxy,
        subscriber: &Proxy,
        may_be_floe: bool,
    ) -> Result<Option<Proxy>, SubscribeError> {
        let mut qos: BTreeMap<String, String> = self.wish.qos.entries().clone();
        if may_be_floe {
            qos.entry("floe.lostFacet".to_owned())
                .or_insert_with(|| LOST_FACET.to_owned());
        }
        topic
            .subscribe_and_get_publisher(&qos, Some(subscriber))
            .await
    }

    fn own_publisher(
        &self,
        topic: &TopicProxy,
        subscribed: Result<Option<Proxy>, SubscribeError>,
    ) -> Result<Proxy, HubError> {
        match subscribed {
            Ok(own) => own.ok_or(HubError::Nil {
                what: "the subscriber's own publisher object",
            }),
            Err(SubscribeError::AlreadySubscribed(_)) => Err(HubError::AlreadySubscribed {
                topic: self.wish.topic.to_string(),
                identity: self.wish.servants.identity.clone(),
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

    /// Checks that the hub reaches the endpoints that it was given. If it does not, the subscription is taken back.
    async fn check_reached(&self, standing: &Standing) -> Result<(), HubError> {
        if self.check(standing).await.is_ok() {
            return Ok(());
        }
        let endpoints = standing.subscriber.reference().endpoints();
        let endpoints: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        let _ = self.unsubscribe_in_time(standing).await;
        Err(HubError::NotReached {
            endpoints: endpoints.join(":"),
            after: DELIVERY_PATIENCE,
        })
    }

    /// Ends the subscription; the hub is not waited for long.
    async fn unsubscribe_in_time(&self, standing: &Standing) -> Result<(), HubError> {
        // Over the connection that others share: a consumer may hold up what is read from its own.
        let topic = standing.topic.ice_connection_id("");
        let topic = topic.ice_timeout(Some(FAREWELL_PATIENCE));
        let ended = topic.unsubscribe(Some(&standing.subscriber)).await;
        ended.map_err(|error| failed(&topic, error))
    }
}

/// Whether the hub does not know how to call back.
fn lacks_facet(subscribed: &Result<Option<Proxy>, SubscribeError>) -> bool {
    matches!(
        subscribed,
        Err(SubscribeError::Invoke(InvokeError::System(
            SystemException::FacetNotExist(_)
        )))
    )
}

/// Waits until a connection is closed; for ever if there is none.
async fn closed(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.closed().await,
        None => std::future::pending().await,
    }
}
