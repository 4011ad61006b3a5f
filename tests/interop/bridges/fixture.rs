//! A hub and a bridge in this process.

use floe::Communicator;
use floe::hub::HubClient;
use floe_bridges::core::account::Counts;
use floe_bridges::settings::TopicSettings;
use floe_bridges::{Bridge, World};
use floe_hub::{Hub, HubSettings};
use tokio::runtime::Runtime;

use crate::event;

/// The topic of all tests, in the hub and over there.
pub(crate) const TOPIC: &str = "ticks";

/// A hub, and a bridge that joins a world with it. Both end when it is dropped.
pub(crate) struct Joined {
    // Dropped first: its sockets are gone when the runtime ends.
    bridge: Option<Bridge>,
    client: HubClient,
    hub: Option<Hub>,
    communicator: Communicator,
    runtime: Runtime,
}

/// The settings of the topic [`TOPIC`], both ways.
pub(crate) fn topic() -> TopicSettings {
    TopicSettings {
        topic: TOPIC.to_owned(),
        interface: "::Worlds::Ticker".to_owned(),
        name: None,
        direction: Default::default(),
    }
}

impl Joined {
    /// Starts a hub on a free port, and the bridge.
    pub(crate) fn start(world: Box<dyn World>) -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let (communicator, hub, client) = runtime.block_on(async {
            let communicator = Communicator::new();
            let mut settings = HubSettings::default();
            settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
            let hub = Hub::start(&communicator, settings)
                .await
                .expect("the hub starts");
            let manager = hub.topic_manager();
            // As in `floe serve`: in the process of the hub no connection is needed.
            let client = HubClient::connect_with(&communicator, &manager).await;
            let client = client.expect("the hub answers");
            (communicator, hub, client)
        });
        let mut joined = Self {
            bridge: None,
            client,
            hub: Some(hub),
            communicator,
            runtime,
        };
        joined.start_bridge(world);
        joined
    }

    /// Starts the bridge again, after [`Joined::end_bridge`].
    pub(crate) fn start_bridge(&mut self, world: Box<dyn World>) {
        let plan = topic().plan(&event::contract()).expect("it has events");
        let started = Bridge::start(world, &self.client, vec![plan]);
        let bridge = self.runtime.block_on(started);
        self.bridge = Some(bridge.unwrap_or_else(|error| panic!("{error}")));
    }

    /// Ends the bridge alone.
    pub(crate) fn end_bridge(&mut self) {
        let bridge = self.bridge.take().expect("it was started");
        self.runtime.block_on(bridge.shut_down());
    }

    /// The bridge.
    pub(crate) fn bridge(&self) -> &Bridge {
        self.bridge.as_ref().expect("it was started")
    }

    /// Where programs of the world reach the bridge.
    pub(crate) fn address(&self) -> String {
        self.bridge().address().expect("it listens")
    }

    /// A client of the hub.
    pub(crate) fn client(&self) -> &HubClient {
        &self.client
    }

    /// The proxy of the hub's topic manager, for Ice programs.
    pub(crate) fn manager(&self) -> String {
        self.hub.as_ref().expect("it runs").topic_manager()
    }

    /// The counts of the topic.
    pub(crate) fn counts(&self) -> Counts {
        let counts = self.bridge().counts().into_iter();
        let found = counts.into_iter().find(|(topic, _)| topic == TOPIC);
        found.expect("it is bridged").1
    }

    /// The runtime of hub and bridge.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

impl Drop for Joined {
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
