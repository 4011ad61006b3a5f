//! A hub and a bridge.

use std::time::Duration;

use floe::Communicator;
use floe::hub::{HubClient, Subscription};
use floe_bridges::corba::{Corba, Settings};
use floe_bridges::core::account::{Counts, Reason};
use floe_bridges::hub::HubEvent;
use floe_bridges::settings::TopicSettings;
use floe_bridges::{Bridge, BridgeError};
use floe_dynamic::Contract;
use floe_hub::{Hub, HubSettings};
use floe_slice::check_source;
use floe_wire::encoding::EncodingVersion;
use serde_json::Value as Json;
use tokio::time::timeout;

/// The longest wait for something that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

const SLICE: &[u8] = br#"
module Demo
{
    enum Side { buy, sell }
    sequence<byte> Bytes;
    struct Tick { Side side; string text; long id; Bytes raw; }
    interface Ticker { void tick(Tick tick); }
    dictionary<string, int> Counts;
    interface Feed
    {
        void tick(Tick tick);
        void halted(string why, optional(1) int code, Counts counts);
        void ping();
    }
}
"#;

pub(crate) fn contract() -> Contract {
    let checked = check_source(SLICE);
    assert!(!checked.has_errors());
    Contract::new(checked.model)
}

/// The settings of a world on a free port.
pub(crate) fn settings() -> Settings {
    Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Settings::default()
    }
}

/// A topic, as settings have it.
pub(crate) fn topic(name: &str, interface: &str) -> TopicSettings {
    let text = format!("topic = \"{name}\"\ninterface = \"{interface}\"\n");
    toml::from_str(&text).expect("it is a table")
}

/// A hub, and a bridge to it.
pub(crate) struct Joined {
    pub(crate) bridge: Option<Bridge>,
    pub(crate) hub: Option<Hub>,
    pub(crate) client: HubClient,
    communicator: Communicator,
}

/// The hub, and a bridge of the topic `ticks` of `::Demo::Ticker`.
pub(crate) async fn start(settings: Settings) -> Joined {
    start_with(settings, vec![topic("ticks", "::Demo::Ticker")]).await
}

pub(crate) async fn start_with(settings: Settings, topics: Vec<TopicSettings>) -> Joined {
    let communicator = Communicator::new();
    let mut hub = HubSettings::default();
    hub.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    let hub = Hub::start(&communicator, hub)
        .await
        .expect("the hub starts");
    let client = HubClient::connect(&hub.topic_manager()).await;
    let client = client.expect("the hub answers");
    let bridge = bridge(settings, &client, &topics).await;
    Joined {
        bridge: Some(bridge.unwrap_or_else(|error| panic!("{error}"))),
        hub: Some(hub),
        client,
        communicator,
    }
}

pub(crate) async fn bridge(
    settings: Settings,
    client: &HubClient,
    topics: &[TopicSettings],
) -> Result<Bridge, BridgeError> {
    let plans = topics
        .iter()
        .map(|topic| topic.plan(&contract()).expect("it has events"));
    Bridge::start(Box::new(Corba::new(settings)), client, plans.collect()).await
}

impl Joined {
    pub(crate) fn address(&self) -> String {
        let bridge = self.bridge.as_ref().expect("it runs");
        bridge.address().expect("it listens")
    }

    pub(crate) fn counts(&self) -> Counts {
        self.bridge.as_ref().expect("it runs").counts()[0].1.clone()
    }

    /// Waits until the counts are such.
    pub(crate) async fn counted(&self, are: impl Fn(&Counts) -> bool) {
        let wait = async {
            while !are(&self.counts()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        waited.unwrap_or_else(|_| panic!("{:?}", self.counts()));
    }

    pub(crate) async fn subscribe(&self) -> Subscription<HubEvent> {
        let topic = self.client.topic("ticks").await.expect("it is there");
        topic.subscribe().await.expect("the hub takes it")
    }

    /// Publishes events as an Ice program does.
    pub(crate) async fn publish(&self, operation: &str, events: &[Json]) {
        let topic = self.client.topic("ticks").await.expect("it is there");
        let publisher: floe::Proxy = topic.publisher().await.expect("it has one");
        let found = contract().operation(operation).expect("it is there");
        for event in events {
            let parameters = encode(operation, event);
            let sent = publisher
                .invoke(found.name(), found.mode(), &parameters)
                .await;
            sent.expect("the hub takes it");
        }
    }

    pub(crate) async fn end(mut self) {
        if let Some(bridge) = self.bridge.take() {
            bridge.shut_down().await;
        }
        if let Some(hub) = self.hub.take() {
            hub.shutdown().await;
        }
        self.communicator.shutdown().await;
    }
}

/// The parameters of an event.
pub(crate) fn encode(operation: &str, event: &Json) -> Vec<u8> {
    let operation = contract().operation(operation).expect("it is there");
    let encoded = operation.encode_request(event, EncodingVersion::V1_1);
    encoded.expect("it fits the contract")
}

/// The next event of a subscription: its operation and its parameters.
pub(crate) async fn next(events: &mut Subscription<HubEvent>) -> (String, Vec<u8>) {
    let event = timeout(PATIENCE, events.next()).await.expect("it comes");
    let event = event.expect("the hub is there").expect("nothing is lost");
    (event.operation, event.parameters.to_vec())
}

/// How many were counted for a reason.
pub(crate) fn not_crossed(counts: &Counts, reason: Reason) -> u64 {
    let found = counts.not_crossed.iter().find(|(one, _)| *one == reason);
    found.map_or(0, |(_, count)| *count)
}
