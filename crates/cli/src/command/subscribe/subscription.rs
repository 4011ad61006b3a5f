//! A subscription at a hub: it is created, watched, renewed after the hub was lost, and ended.

use std::collections::BTreeMap;
use std::time::Duration;

use floe::contracts::ice_storm::{AlreadySubscribedOrBadQoSOrInvalidSubscriberError, TopicProxy};
use floe::{Communicator, Connection, Identity, InvokeError, Proxy, TypedProxy};

use super::delivery::Delivery;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output;
use crate::reconnect;

/// A subscription as the subscriber asks for it; a clone of it is the same subscription.
#[derive(Debug)]
pub(super) struct Subscription<'a> {
    pub(super) communicator: &'a Communicator,
    pub(super) hub: &'a HubArgument,
    pub(super) topic_name: String,
    /// True if the topic is created where it does not exist.
    pub(super) creates: bool,
    /// The subscriber, in the mode in which it wants its events.
    pub(super) subscriber: Proxy,
    pub(super) qos: BTreeMap<String, String>,
    /// The way of its events.
    pub(super) delivery: Delivery,
    /// The connection of its own over which its events come, if there is one.
    pub(super) connection: Option<Connection>,
    /// The topic as the hub gave it the last time.
    pub(super) topic: TopicProxy,
    /// How often it began again where the hub was, and not where it had ended: events in between are missing.
    pub(super) gap_count: u64,
}

impl Subscription<'_> {
    /// Subscribes.
    ///
    /// # Errors
    /// The hub declines, or does not answer.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        let opened = self.delivery.open(&self.topic).await;
        let (topic, connection) = opened.map_err(|error| self.hub.unanswered(error.into()))?;
        self.connection = connection;
        let result = topic
            .subscribe_and_get_publisher(&self.qos, Some(&self.subscriber))
            .await;
        match result {
            Ok(_) => Ok(()),
            Err(AlreadySubscribedOrBadQoSOrInvalidSubscriberError::Invoke(error)) => {
                Err(self.hub.unanswered(error.into()))
            }
            Err(error) => Err(Failure::new(
                Exit::Refused,
                format_args!("the hub declined the subscription: {error}"),
            )),
        }
    }

    /// Watches the subscription, and begins it again whenever the hub was lost or has ended it.
    ///
    /// Returns when that is not wanted, or is refused.
    pub(super) async fn keep(&mut self, reconnects: bool) -> Failure {
        loop {
            let lost = self.lost().await;
            if !reconnects {
                return lost;
            }
            output::talk(format_args!("{}; subscribing again", lost.message()));
            if let Some(help) = lost.what_to_do().filter(|_| !lost.is_of_connection()) {
                output::talk(format_args!("  help: {}", output::shown_in_talk(help)));
            }
            let renewed = reconnect::until_it_succeeds(async || self.renewed().await).await;
            let (topic, connection, is_kept) = match renewed {
                Ok(renewed) => renewed,
                Err(failure) => return failure,
            };
            (self.topic, self.connection) = (topic, connection);
            let name = &self.topic_name;
            output::talk(match (is_kept, self.is_durable()) {
                (true, _) => {
                    format!("the hub is back, and has kept the subscription to topic `{name}`")
                }
                (false, true) => {
                    format!(
                        "subscribed again to topic `{name}`; the subscription goes on where it ended"
                    )
                }
                (false, false) => {
                    self.gap_count += 1;
                    format!("subscribed again to topic `{name}`; the events in between are missing")
                }
            });
        }
    }

    /// Returns true if the hub keeps its position.
    fn is_durable(&self) -> bool {
        self.qos.contains_key(DURABLE)
    }

    /// Waits until the hub is gone or has ended the subscription; says which.
    async fn lost(&self) -> Failure {
        loop {
            let connection = self.connection.clone();
            let connection = connection.or_else(|| self.topic.ice_cached_connection());
            let closed = async {
                match connection {
                    Some(connection) => connection.closed().await,
                    None => std::future::pending().await,
                }
            };
            // A connection that breaks is the first sign; without one, asking tells.
            tokio::select! {
                () = closed => {}
                () = tokio::time::sleep(WATCH_INTERVAL) => {}
            }
            match self.is_subscribed(&self.topic).await {
                Ok(true) if self.is_cut_off() => {
                    let message = "the connection to the hub has ended";
                    return Failure::new(Exit::Failure, message);
                }
                Ok(true) => {}
                Ok(false) => {
                    let message = "the hub has ended this subscription";
                    return Failure::new(Exit::Failure, message).help(
                        "either the hub could not deliver, or somebody unsubscribed; the log of the hub has the reason. If a \
                         firewall is in between, --listen HOST:PORT names an open port",
                    );
                }
                Err(error) => return Failure::from(error).when("lost the hub or the topic"),
            }
        }
    }

    /// The topic, subscribed to; and whether the hub had kept the subscription.
    async fn renewed(&self) -> Result<(TopicProxy, Option<Connection>, bool), Failure> {
        let topic = self
            .hub
            .topic_for_events(self.communicator, &self.topic_name, self.creates)
            .await?;
        let is_subscribed = self.is_subscribed(&topic).await;
        if is_subscribed.map_err(|error| self.hub.unanswered(error.into()))? {
            if !self.is_cut_off() {
                return Ok((topic, self.connection.clone(), true));
            }
            // The hub has not noticed yet that the connection is gone.
            let _ = topic.unsubscribe(Some(&self.subscriber)).await;
        }
        let mut qos = self.qos.clone();
        if let (false, Some(from)) = (self.is_durable(), qos.get_mut(FROM)) {
            // What it has read from there was delivered before.
            "new".clone_into(from);
        }
        let mut again = Subscription {
            topic,
            subscriber: self.subscriber.clone(),
            topic_name: self.topic_name.clone(),
            qos,
            delivery: self.delivery.clone(),
            connection: None,
            ..*self
        };
        again.begin().await?;
        Ok((again.topic, again.connection, false))
    }

    /// Returns true if events came over a connection that has ended.
    fn is_cut_off(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| !connection.is_active())
    }

    async fn is_subscribed(&self, topic: &TopicProxy) -> Result<bool, InvokeError> {
        let subscribers = topic.get_subscribers().await?;
        Ok(subscribers.contains(self.identity()))
    }

    /// Ends it; how many events the hub lost for this subscriber.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(super) async fn end(&self) -> Result<i64, Failure> {
        let lost = self
            .hub
            .lost_by(self.communicator, &self.topic_name, self.identity())
            .await;
        let ended = self.topic.unsubscribe(Some(&self.subscriber)).await;
        ended.map_err(|error| self.hub.unanswered(error.into()).when("cannot unsubscribe"))?;
        Ok(lost)
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.subscriber.reference().identity
    }
}

/// The name of a subscription whose position the hub keeps.
pub(super) const DURABLE: &str = "floe.durable";

/// Where a subscription begins that has no position.
pub(super) const FROM: &str = "floe.from";

/// How often the hub is asked whether the subscription still stands.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);
