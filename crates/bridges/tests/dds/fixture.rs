//! A hub and a bridge to DDS in this process, and a subscriber of the hub.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use floe::hub::{HubClient, Interruption, Qos as HubQos, Subscription};
use floe::{Communicator, EncodingVersion, Proxy};
use floe_bridges::Bridge;
use floe_bridges::core::account::Counts;
use floe_bridges::core::mapping::EventTypes;
use floe_bridges::dds::{Dds, Settings};
use floe_bridges::hub::HubEvent;
use floe_bridges::settings::TopicSettings;
use floe_dynamic::Contract;
use floe_hub::{DurableSettings, Hub, HubSettings, StoreSettings};
use floe_rtps::locator::DomainPorts;
use floe_rtps::participant::EndpointOptions;
use floe_rtps::qos::Qos;
use floe_slice::check_source;
use serde_json::json;
use tokio::runtime::Runtime;

/// A hub, a bridge, and a subscriber of its topic `ticks`. All end when it is dropped.
pub(crate) struct Joined {
    bridge: Option<Bridge>,
    events: Option<Subscription<HubEvent>>,
    publisher: Proxy,
    hub: Option<Hub>,
    hub_side: Communicator,
    port: u16,
    folder: PathBuf,
    domain: u32,
    types: Arc<EventTypes>,
    runtime: Runtime,
}

/// An endpoint of the topic, as a program of DDS has it.
pub(crate) fn options(qos: Qos) -> EndpointOptions {
    EndpointOptions::new("Ticks", "Demo::Tick", qos)
}

impl Joined {
    pub(crate) fn start(domain: u32) -> Self {
        let slice = b"module Demo {
            struct Tick { int number; string text; }
            interface Ticker { void tick(Tick tick); }
        }";
        let contract = Contract::new(check_source(slice).model);
        let runtime = Runtime::new().expect("a runtime starts");
        let folder = std::env::temp_dir().join(format!("floe-dds-{}-{domain}", std::process::id()));
        let (hub_side, hub) = runtime.block_on(hub(0, &folder));
        let topic = TopicSettings {
            topic: "ticks".to_owned(),
            interface: "::Demo::Ticker".to_owned(),
            name: Some("Ticks".to_owned()),
            direction: Default::default(),
        };
        let (bridge, events, publisher, port, types) = runtime.block_on(async {
            let manager = hub.topic_manager();
            let client = HubClient::connect(&manager).await.expect("the hub answers");
            let plan = topic.plan(&contract).expect("it has events");
            let types = Arc::clone(&plan.events);
            let settings = Settings {
                domain,
                ..Settings::default()
            };
            let world = Box::new(Dds::new(settings));
            let bridge = Bridge::start(world, &client, vec![plan]).await;
            let bridge = bridge.unwrap_or_else(|error| panic!("{error}"));
            let topic = client.topic("ticks").await.expect("it is there");
            let subscribed = topic.subscribe().qos(HubQos::new().durable("test")).await;
            let publisher = topic.publisher().await.expect("it has one");
            let endpoints = hub.endpoints();
            let port = endpoints.split(" -p ").nth(1).expect("it has a port");
            let port = port.split([' ', ':']).next().expect("it is a number");
            let port = port.parse().expect("it is a number");
            (
                bridge,
                subscribed.expect("it is there"),
                publisher,
                port,
                types,
            )
        });
        Self {
            bridge: Some(bridge),
            events: Some(events),
            publisher,
            hub: Some(hub),
            hub_side,
            port,
            folder,
            domain,
            types,
            runtime,
        }
    }

    pub(crate) fn bridge(&self) -> &Bridge {
        self.bridge.as_ref().expect("it runs")
    }

    pub(crate) fn counts(&self) -> Counts {
        self.bridge().counts().remove(0).1
    }

    /// The ports of the bridge for discovery and samples: those of the first index.
    pub(crate) fn ports(&self) -> [u16; 2] {
        let ports = DomainPorts::of(self.domain).expect("it exists");
        [ports.discovery_unicast(0), ports.user_unicast(0)].map(|port| port.expect("it exists"))
    }

    /// Publishes an event as an Ice program does.
    pub(crate) fn publish(&self, number: i32, text: &str) {
        let operation = self.types.only().expect("there is one").operation();
        let tick = json!({"tick": {"number": number, "text": text}});
        let parameters = operation
            .encode_request(&tick, EncodingVersion::V1_1)
            .expect("it fits");
        let sent = self.publisher.invoke("tick", operation.mode(), &parameters);
        self.runtime
            .block_on(sent.into_future())
            .expect("the hub takes it");
    }

    /// The numbers of the events that the hub has delivered since.
    pub(crate) fn try_events(&mut self) -> Vec<i32> {
        let events = self.events.as_mut().expect("it is subscribed");
        let operation = self.types.only().expect("there is one").operation();
        let mut numbers = Vec::new();
        self.runtime.block_on(async {
            let wait = std::time::Duration::from_millis(1);
            while let Ok(Some(batch)) = tokio::time::timeout(wait, events.next_batch()).await {
                let events = batch
                    .into_iter()
                    .filter_map(|it: Result<_, Interruption>| it.ok());
                numbers.extend(events.map(|event: HubEvent| {
                    let json = operation
                        .decode_request(&event.parameters)
                        .expect("it is of the contract");
                    json["tick"]["number"].as_i64().expect("a number") as i32
                }));
            }
        });
        numbers
    }

    pub(crate) fn stop_hub(&mut self) {
        let hub = self.hub.take().expect("it runs");
        self.runtime.block_on(async {
            hub.shutdown().await;
            self.hub_side.shutdown().await;
        });
    }

    /// Starts the hub again at its port, with its topics and subscriptions.
    pub(crate) fn start_hub(&mut self) {
        let (hub_side, hub) = self.runtime.block_on(hub(self.port, &self.folder));
        self.hub_side = hub_side;
        self.hub = Some(hub);
    }
}

async fn hub(port: u16, folder: &std::path::Path) -> (Communicator, Hub) {
    let communicator = Communicator::new();
    let mut settings = HubSettings::default();
    settings.listen = format!("tcp -h 127.0.0.1 -p {port}");
    settings.store = StoreSettings::Disk(folder.to_owned());
    // So that nothing is lost between the hub's end and the subscriber's return.
    let durable = DurableSettings::default();
    settings.durable_topics.insert("ticks".to_owned(), durable);
    let hub = Hub::start(&communicator, settings).await;
    (communicator, hub.expect("the hub starts"))
}

impl Drop for Joined {
    fn drop(&mut self) {
        let (bridge, hub, events) = (self.bridge.take(), self.hub.take(), self.events.take());
        self.runtime.block_on(async {
            drop(events);
            if let Some(bridge) = bridge {
                bridge.shut_down().await;
            }
            if let Some(hub) = hub {
                hub.shutdown().await;
            }
            self.hub_side.shutdown().await;
        });
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A domain whose ports are free. No other test gets it before this is dropped.
#[derive(Debug)]
pub(crate) struct FreeDomain {
    number: u32,
    /// Held by who has the domain. Participants do not use this port: theirs are UDP.
    _lock: TcpListener,
}

impl FreeDomain {
    pub(crate) fn new() -> Self {
        let start = std::process::id() % COUNT;
        let domains = (0..COUNT).map(|turn| FIRST + (start + turn) % COUNT);
        let mut free = domains.filter_map(|number| {
            let ports = DomainPorts::of(number).expect("it exists");
            let lock = TcpListener::bind((Ipv4Addr::LOCALHOST, ports.discovery_multicast()));
            let is_free = (0..10).all(|index| {
                let port = ports.discovery_unicast(index).expect("it exists");
                UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
            });
            lock.ok()
                .filter(|_| is_free)
                .map(|_lock| Self { number, _lock })
        });
        free.next().expect("a domain is free")
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// The first domain that is tried: those below have tests of their own.
const FIRST: u32 = 60;
/// How many are tried. The ports of those above are given to other programs by the system.
const COUNT: u32 = 40;
