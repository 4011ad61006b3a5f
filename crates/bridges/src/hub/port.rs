//! A topic of a running bridge.

use std::sync::Arc;

use floe::hub::{HubError, Qos, Topic};
use floe::{Context, Proxy, TypedProxy};

use super::{Deliveries, Publisher, TopicPlan};
use crate::core::account::Account;
use crate::core::mapping::{Direction, EventTypes};
use crate::core::origin::{Echo, ORIGIN_KEY, Origin};

/// A topic of the hub, for a world that is joined with it. A clone is the same port.
#[derive(Debug, Clone)]
pub struct Port {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: TopicPlan,
    topic: Topic,
    account: Account,
    world: &'static str,
    place: String,
    echo: Echo,
}

impl Port {
    pub(crate) fn new(
        plan: TopicPlan,
        topic: Topic,
        (world, place, echo): (&'static str, String, Echo),
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                plan,
                topic,
                account: Account::default(),
                world,
                place,
                echo,
            }),
        }
    }

    /// The name of the topic in the hub.
    pub fn topic(&self) -> &str {
        &self.shared.plan.topic
    }

    /// The name of the topic over there, as it was set.
    pub fn name(&self) -> &str {
        &self.shared.plan.name
    }

    /// Which way events go.
    pub fn direction(&self) -> Direction {
        self.shared.plan.direction
    }

    /// The events of the topic.
    pub fn events(&self) -> &Arc<EventTypes> {
        &self.shared.plan.events
    }

    /// The counts of the topic.
    pub fn account(&self) -> &Account {
        &self.shared.account
    }

    /// A publisher for a participant of the other world, which events carry as their origin.
    ///
    /// # Errors
    /// [`HubError`]: the hub is away, or refuses.
    pub async fn publisher(&self, participant: &str) -> Result<Publisher, HubError> {
        let shared = &self.shared;
        let origin = Origin::new(shared.world, &shared.place, participant);
        let context: Context = [(ORIGIN_KEY.to_owned(), origin.to_string())].into();
        let proxy: Proxy = shared.topic.publisher().await?;
        let proxy = proxy.ice_twoway().ice_context(context);
        Ok(Publisher::new(self.clone(), proxy))
    }

    /// Subscribes for a participant of the other world.
    ///
    /// # Errors
    /// [`HubError`]: the hub is away, or refuses.
    pub async fn subscribe(&self, qos: Qos) -> Result<Deliveries, HubError> {
        let events = self.shared.topic.subscribe().qos(qos).await?;
        Ok(Deliveries::new(self.clone(), events))
    }

    /// True if an event with this context must not be sent to this world.
    pub(super) fn returns(&self, context: &Context) -> bool {
        let shared = &self.shared;
        let origin = context.get(ORIGIN_KEY).and_then(|text| Origin::parse(text));
        origin.is_some_and(|it| it.returns_to(shared.world, &shared.place, shared.echo))
    }
}
