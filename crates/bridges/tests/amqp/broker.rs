//! A hub and its bridge in this process.

use floe::Communicator;
use floe::hub::{HubClient, Subscription};
use floe_bridges::amqp::{AmqpWorld, Settings};
use floe_bridges::core::account::{Counts, Reason};
use floe_bridges::core::mapping::Direction;
use floe_bridges::hub::HubEvent;
use floe_bridges::settings::TopicSettings;
use floe_bridges::{Bridge, BridgeError};
use floe_dynamic::{Contract, Operation};
use floe_hub::{Hub, HubSettings};
use floe_slice::check_source;
use floe_wire::EncodingVersion;
use serde_json::json;
use tokio::runtime::Runtime;

/// A hub, and a bridge with the topics `lines` (both ways), `out` and `in`.
pub(crate) struct Broker {
    pub(crate) bridge: Option<Bridge>,
    pub(crate) client: HubClient,
    pub(crate) hub: Option<Hub>,
    communicator: Communicator,
    pub(crate) runtime: Runtime,
}

pub(crate) fn contract() -> Contract {
    let slice = b"module Demo { interface Lines { void said(string what); }; };";
    Contract::new(check_source(slice).model)
}

pub(crate) fn settings() -> Settings {
    let topic = |name: &str, direction| TopicSettings {
        topic: name.to_owned(),
        interface: "::Demo::Lines".to_owned(),
        name: None,
        direction,
    };
    Settings {
        listen: "127.0.0.1:0".to_owned(),
        topics: vec![
            topic("lines", Direction::Both),
            topic("out", Direction::Out),
            topic("in", Direction::In),
        ],
        ..Settings::default()
    }
}

impl Broker {
    /// A bridge that reaches its hub by a connection.
    pub(crate) fn start() -> Self {
        Self::with(settings(), |_| ())
    }

    pub(crate) fn with(settings: Settings, change: impl FnOnce(&mut HubSettings)) -> Self {
        Self::of(settings, change, |_| Communicator::new())
    }

    /// A bridge in the process of its hub, as in `floe serve`.
    pub(crate) fn in_process() -> Self {
        Self::of(settings(), |_| (), Communicator::clone)
    }

    fn of(
        settings: Settings,
        change: impl FnOnce(&mut HubSettings),
        side: impl FnOnce(&Communicator) -> Communicator,
    ) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let (communicator, hub, client) = runtime.block_on(async {
            let communicator = Communicator::new();
            let mut settings = HubSettings::default();
            settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
            change(&mut settings);
            let hub = Hub::start(&communicator, settings).await.expect("a hub");
            let client = HubClient::connect_with(&side(&communicator), &hub.topic_manager()).await;
            (communicator, hub, client.expect("the hub answers"))
        });
        let mut broker = Self {
            bridge: None,
            client,
            hub: Some(hub),
            communicator,
            runtime,
        };
        let bridge = broker.try_start(settings);
        broker.bridge = Some(bridge.unwrap_or_else(|error| panic!("{error}")));
        broker
    }

    pub(crate) fn try_start(&self, settings: Settings) -> Result<Bridge, Box<BridgeError>> {
        let contract = contract();
        let topics = settings.topics.iter();
        let plans = topics.map(|topic| topic.plan(&contract).expect("they are events"));
        let plans = plans.collect();
        let world = Box::new(AmqpWorld::new(settings, ""));
        let started = Bridge::start(world, &self.client, plans);
        self.runtime.block_on(started).map_err(Box::new)
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        self.bridge.as_ref().expect("it was started")
    }

    pub(crate) fn address(&self) -> String {
        self.bridge().address().expect("it listens")
    }

    pub(crate) fn counts(&self, topic: &str) -> Counts {
        let mut counts = self.bridge().counts().into_iter();
        counts
            .find(|(name, _)| name == topic)
            .expect("it is there")
            .1
    }

    pub(crate) fn count(&self, topic: &str, reason: Reason) -> u64 {
        let counts = self.counts(topic).not_crossed.into_iter();
        let mut counts = counts.filter(|(known, _)| *known == reason);
        counts.next().map_or(0, |(_, count)| count)
    }

    /// Publishes events at the hub.
    pub(crate) fn publish(&self, topic: &str, texts: impl IntoIterator<Item = String>) {
        self.runtime.block_on(async {
            let topic = self.client.topic(topic).await.expect("the hub answers");
            let publisher: floe::Proxy = topic.publisher().await.expect("likewise");
            for text in texts {
                let parameters = parameters(&text);
                let sent = publisher.invoke("said", said().mode(), &parameters).await;
                sent.expect("the hub takes it");
            }
        });
    }

    /// Subscribes at the hub.
    pub(crate) fn subscribe(&self, topic: &str) -> Subscription<HubEvent> {
        self.runtime.block_on(async {
            let topic = self.client.topic(topic).await.expect("the hub answers");
            topic.subscribe().await.expect("likewise")
        })
    }

    /// The next text of a subscription.
    pub(crate) fn next(&self, events: &mut Subscription<HubEvent>) -> String {
        let event = self.runtime.block_on(events.next());
        let event = event
            .expect("the hub is there")
            .expect("nothing is missing");
        let json = said()
            .decode_request(&event.parameters)
            .expect("the contract");
        json["what"].as_str().expect("a text").to_owned()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let (bridge, hub) = (self.bridge.take(), self.hub.take());
        self.runtime.block_on(async {
            if let Some(bridge) = bridge {
                bridge.shut_down().await;
            }
            if let Some(hub) = hub {
                hub.shutdown().await;
            }
            self.communicator.shutdown().await;
        });
    }
}

fn said() -> Operation {
    contract()
        .operation("::Demo::Lines::said")
        .expect("it is there")
}

fn parameters(text: &str) -> Vec<u8> {
    let encoded = said().encode_request(&json!({"what": text}), EncodingVersion::V1_1);
    encoded.expect("it fits")
}

/// The body of a message with a text.
pub(crate) fn line(text: &str) -> String {
    json!({"what": text}).to_string()
}
