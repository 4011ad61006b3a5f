//! A domain of DDS as a world.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

use floe::hub::Qos;
use floe_rtps::guid::GuidPrefix;
use floe_rtps::locator::{DomainPorts, SPDP_GROUP};
use floe_rtps::participant::{Config, EndpointOptions, Participant};
use floe_rtps::qos::{self, History};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::codec::EventCodec;
use super::link::{
    Driver, Incoming, Inlet, LinkState, Network, Outlet, Reach, SAMPLE_LEN_MAX, Sockets, Topic,
    WAITING_MAX, deliver_all, publish_all,
};
use super::mapping::{self, type_name};
use super::settings::{PEER_INDEXES, Settings};
use crate::core::mapping::Finding;
use crate::core::origin::Echo;
use crate::hub::{Port, TopicPlan};
use crate::settings::WorldSettings;
use crate::world::{Running, StartError, World, WorldFuture, WorldState};

/// A domain of DDS, in which the bridge is a participant.
#[derive(Debug)]
pub struct Dds {
    settings: Settings,
}

/// The participant that is served.
struct Served {
    state: Arc<LinkState>,
    stop: Option<oneshot::Sender<()>>,
    driver: JoinHandle<()>,
    /// The tasks of the topics; they end when it is dropped.
    topics: JoinSet<()>,
}

impl Dds {
    /// The domain of these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    async fn serve(&self, ports: Vec<Port>) -> Result<Served, StartError> {
        let (mut participant, sockets, reach) = self.participant()?;
        let state = Arc::new(LinkState::default());
        let (to_driver, commands) = mpsc::channel(COMMANDS_MAX);
        let mut tasks = JoinSet::new();
        let mut topics = Vec::new();
        for (at, port) in ports.into_iter().enumerate() {
            let codec = EventCodec::new(Arc::clone(port.events()), SAMPLE_LEN_MAX);
            let mut topic = Topic {
                port: port.clone(),
                inlet: None,
                outlet: None,
            };
            if port.direction().is_in() {
                let options = options(&port, &codec, qos::Qos::of_reader()).acknowledged_by_call();
                let made = participant.create_reader(options, Instant::now());
                let reader = made.map_err(|error| refused(&port, &error))?;
                let (to_publish, samples) = mpsc::channel(WAITING_MAX);
                topic.inlet = Some(Inlet::new(reader, to_publish));
                let incoming = Incoming {
                    port: port.clone(),
                    codec: codec.clone(),
                    topic: at,
                    driver: to_driver.clone(),
                    state: Arc::clone(&state),
                };
                tasks.spawn(publish_all(incoming, samples));
            }
            if port.direction().is_out() {
                let options = options(&port, &codec, qos::Qos::of_writer());
                let made = participant.create_writer(options, Instant::now());
                let writer = made.map_err(|error| refused(&port, &error))?;
                topic.outlet = Some(Outlet::new(writer));
                let subscribed = port.subscribe(Qos::new()).await;
                let deliveries = subscribed.map_err(|error| refused(&port, &error))?;
                let (driver, state) = (to_driver.clone(), Arc::clone(&state));
                tasks.spawn(deliver_all(deliveries, codec, at, driver, state));
            }
            topics.push(topic);
        }
        let driver = Driver {
            participant,
            sockets,
            reach,
            topics,
            commands,
            state: Arc::clone(&state),
        };
        let (stop, stopped) = oneshot::channel();
        Ok(Served {
            state,
            stop: Some(stop),
            driver: tokio::spawn(driver.run(stopped)),
            topics: tasks,
        })
    }

    /// The participant, on its sockets.
    fn participant(&self) -> Result<(Participant, Sockets, Reach), StartError> {
        let settings = &self.settings;
        let domain = settings.domain;
        settings.check().map_err(StartError::new)?;
        let ports = DomainPorts::of(domain);
        let ports =
            ports.ok_or_else(|| StartError::new(format_args!("there is no domain {domain}")))?;
        let networks = networks(settings)?;
        let sockets = Sockets::bind(domain, ports, &settings.interfaces, settings.multicast)?;
        let broken = |error: std::io::Error| StartError::new(error);
        let (discovery, samples) = (
            sockets.discovery_addresses().map_err(broken)?,
            sockets.sample_addresses().map_err(broken)?,
        );
        let group = (SPDP_GROUP, ports.discovery_multicast()).into();
        let groups = if settings.multicast {
            vec![group]
        } else {
            Vec::new()
        };
        let peers = settings.peers.iter();
        let of_peer = |peer: &IpAddr| ports.peers_of(*peer, PEER_INDEXES);
        let announce_to = peers.flat_map(of_peer).chain(groups.iter().copied());
        let mut config = Config::new(
            prefix()?,
            domain,
            discovery[0],
            samples[0],
            announce_to.collect(),
        );
        config.metatraffic_unicast = discovery;
        config.default_unicast = samples;
        config.name = PARTICIPANT_NAME.to_owned();
        let participant = Participant::new(config, Instant::now());
        let participant =
            participant.map_err(|error| StartError::new(format_args!("[bridge.dds]: {error}")))?;
        let reach = Reach::new(networks, settings.peers.clone(), groups);
        Ok((participant, sockets, reach))
    }
}

impl World for Dds {
    fn name(&self) -> &'static str {
        "dds"
    }

    fn place(&self) -> String {
        place(self.settings.domain)
    }

    fn echo(&self) -> Echo {
        Echo::NotToPlace
    }

    fn judge(&self, topic: &TopicPlan) -> Vec<Finding> {
        mapping::judge(topic)
    }

    fn start(
        self: Box<Self>,
        ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>> {
        Box::pin(async move {
            let served = self.serve(ports).await?;
            Ok(Box::new(served) as Box<dyn Running>)
        })
    }
}

impl Running for Served {
    /// Participants find each other by the number of the domain.
    fn address(&self) -> Option<String> {
        // Programs find it by the domain.
        None
    }

    fn state(&self) -> WorldState {
        self.state.state()
    }

    fn shut_down(mut self: Box<Self>) -> WorldFuture<'static, ()> {
        Box::pin(async move {
            self.topics.shutdown().await;
            if let Some(stop) = self.stop.take() {
                let _ = stop.send(());
            }
            let _ = timeout(GOODBYE_TIME, &mut self.driver).await;
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn place(domain: u32) -> String {
    format!("domain {domain}")
}

fn refused(port: &Port, error: &dyn std::fmt::Display) -> StartError {
    StartError::new(format_args!("topic \"{}\": {error}", port.topic()))
}

fn options(port: &Port, codec: &EventCodec, qos: qos::Qos) -> EndpointOptions {
    let mut qos = qos.reliable().history(History::KeepAll);
    qos.representations = codec.representations();
    let mut options = EndpointOptions::new(port.name(), type_name(port.events()), qos);
    options.limits.sample_len_max = SAMPLE_LEN_MAX;
    options
}

/// A name in octets that no other participant has. The first two octets are those of the implementation; we have none.
fn prefix() -> Result<GuidPrefix, StartError> {
    let mut prefix = [0; 12];
    getrandom::fill(&mut prefix[2..]).map_err(|error| {
        StartError::new(format_args!("the system has no random numbers: {error}"))
    })?;
    Ok(GuidPrefix(prefix))
}

/// The networks of the interfaces, whose hosts may take part.
fn networks(settings: &Settings) -> Result<Vec<Network>, StartError> {
    let known = if_addrs::get_if_addrs()
        .map_err(|error| StartError::new(format_args!("cannot list the interfaces: {error}")))?;
    let of_address = |address: &IpAddr| {
        let found = known.iter().find(|it| it.ip() == *address);
        let Some(found) = found else {
            let addresses: Vec<_> = known.iter().map(|it| it.ip().to_string()).collect();
            return Err(StartError::new(format_args!(
                "expected the address of an interface of this host in `interfaces` of [bridge.dds], got {address}; there \
                 are {}",
                addresses.join(", ")
            )));
        };
        let is_let_in = address.is_loopback() || settings.multicast;
        let mask = match &found.addr {
            if_addrs::IfAddr::V4(of) if is_let_in => of.netmask.into(),
            if_addrs::IfAddr::V6(of) if is_let_in => of.netmask.into(),
            if_addrs::IfAddr::V4(_) => Ipv4Addr::BROADCAST.into(),
            if_addrs::IfAddr::V6(_) => Ipv6Addr::from_bits(u128::MAX).into(),
        };
        let address = *address;
        Ok(Network { address, mask })
    };
    settings.interfaces.iter().map(of_address).collect()
}

/// The name by which other participants see the bridge.
const PARTICIPANT_NAME: &str = "Floe bridge";
/// How many commands of topics wait for the driver.
const COMMANDS_MAX: usize = 64;
/// How long the goodbye may take.
const GOODBYE_TIME: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn networks_of(
        interface: &str,
        peers: &[&str],
        multicast: bool,
    ) -> Result<Vec<Network>, String> {
        let parse = |text: &str| text.parse().expect("it is an address");
        let settings = Settings {
            interfaces: vec![parse(interface)],
            peers: peers.iter().map(|it| parse(it)).collect(),
            multicast,
            ..Settings::default()
        };
        settings.check()?;
        networks(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn beyond_loopback_somebody_must_be_let_in() {
        let mask = "255.0.0.0".parse().expect("it is an address");
        let loopback = networks_of("127.0.0.1", &["127.0.0.1"], false).expect("it is there");
        assert_eq!(loopback[0].mask, IpAddr::V4(mask));
        // No host has this address; it is for documentation.
        let error = networks_of("192.0.2.1", &["127.0.0.1"], false).expect_err("nobody is let in");
        assert!(error.contains("leads beyond loopback"), "{error}");
        for (peers, multicast) in [(&["192.0.2.2"][..], false), (&[], true)] {
            let error = networks_of("192.0.2.1", peers, multicast).expect_err("it is not there");
            assert!(
                error.contains("the address of an interface of this host"),
                "{error}"
            );
        }
    }
}
