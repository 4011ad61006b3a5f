//! CORBA as a world: an IIOP server with a naming service and an event channel for each topic.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use floe_giop::cos::References;
use floe_giop::reference::IiopProfile;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::channel::Channel;
use super::link::consumer::ConsumerSettings;
use super::link::listener::{Connected, Listening, listen};
use super::link::outgoing::Reach;
use super::mapping;
use super::objects::Objects;
use super::settings::Settings;
use crate::core::mapping::Finding;
use crate::core::origin::Echo;
use crate::hub::{Port, TopicPlan};
use crate::settings::WorldSettings;
use crate::world::{PEERS_LISTED_MAX, Running, StartError, World, WorldFuture, WorldState};

/// CORBA programs: suppliers and consumers of event channels.
#[derive(Debug, Clone)]
pub struct Corba {
    settings: Settings,
}

impl Corba {
    /// The world that settings describe.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl World for Corba {
    fn name(&self) -> &'static str {
        "corba"
    }

    fn place(&self) -> String {
        self.settings.listen.to_string()
    }

    fn echo(&self) -> Echo {
        Echo::ToAll
    }

    fn judge(&self, topic: &TopicPlan) -> Vec<Finding> {
        mapping::judge(topic)
    }

    fn start(
        self: Box<Self>,
        ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>> {
        Box::pin(async move {
            let running = start(self.settings, ports).await?;
            Ok(Box::new(running) as Box<dyn Running>)
        })
    }
}

struct RunningCorba {
    address: SocketAddr,
    objects: Arc<Objects>,
    connected: Connected,
    /// The consumers that cannot be reached at the moment.
    failing: Arc<AtomicUsize>,
    ending: watch::Sender<bool>,
    listening: Option<JoinHandle<()>>,
}

async fn start(settings: Settings, ports: Vec<Port>) -> Result<RunningCorba, StartError> {
    check(&settings, &ports)?;
    let bound = TcpListener::bind(settings.listen).await;
    let listener = bound.map_err(|error| {
        StartError::new(format_args!(
            "cannot listen at {}: {error}; choose another `listen`",
            settings.listen
        ))
    })?;
    let address = listener.local_addr().map_err(StartError::new)?;
    let host = address.ip().to_string();
    let profile = IiopProfile::new(&host, address.port(), Bytes::new()).map_err(StartError::new)?;
    let references = References::new(profile);
    let (ending, is_ending) = watch::channel(false);
    let consumers = ConsumerSettings {
        reach: Reach::new(settings.consumer_networks.clone(), address),
        failing: Arc::default(),
        window: settings.consumer_window,
        patience: Duration::from_secs(settings.consumer_patience),
    };
    let failing = Arc::clone(&consumers.failing);
    let first = first_number();
    let channels = ports.into_iter().map(|port| {
        let consumers = consumers.clone();
        let (max, is_ending) = (settings.consumers_max, is_ending.clone());
        Arc::new(Channel::new(
            port,
            &references,
            first,
            consumers,
            max,
            is_ending,
        ))
    });
    let objects = Objects::new(&references, channels.collect());
    let objects = Arc::new(objects.map_err(StartError::new)?);
    let connected = Connected::default();
    let listening = Listening {
        objects: Arc::clone(&objects),
        connections_max: settings.connections_max,
        message_len_max: settings.message_len_max,
        connected: connected.clone(),
    };
    tracing::info!(
        "CORBA programs find event channels at corbaloc::{host}:{}/NameService",
        address.port()
    );
    Ok(RunningCorba {
        address,
        objects,
        connected,
        failing,
        ending,
        listening: Some(tokio::spawn(listen(listener, listening, is_ending))),
    })
}

fn check(settings: &Settings, ports: &[Port]) -> Result<(), StartError> {
    settings.check().map_err(StartError::new)?;
    let mut names = BTreeSet::new();
    match ports.iter().find(|port| !names.insert(port.name())) {
        Some(twice) => Err(StartError::new(format_args!(
            "two topics have the channel \"{}\": set another `name` for one of them",
            twice.name()
        ))),
        None => Ok(()),
    }
}

/// The number of the first proxy: it only grows from run to run, and no run obtains a thousand proxies a millisecond.
fn first_number() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = now.unwrap_or_default().as_millis();
    u64::try_from(millis)
        .unwrap_or_default()
        .saturating_mul(1_000)
}

impl Running for RunningCorba {
    fn address(&self) -> Option<String> {
        Some(self.address.to_string())
    }

    fn state(&self) -> WorldState {
        let addresses = self.connected.addresses();
        let listed = addresses.iter().take(PEERS_LISTED_MAX);
        WorldState {
            peers: listed.map(SocketAddr::to_string).collect(),
            peer_count: addresses.len(),
            trouble: trouble(self.failing.load(Ordering::Relaxed)),
        }
    }

    fn shut_down(mut self: Box<Self>) -> WorldFuture<'static, ()> {
        Box::pin(async move {
            self.ending.send_replace(true);
            let listening = self.listening.take();
            let channels = self.objects.channels();
            let mut goodbyes = tokio::task::JoinSet::new();
            for channel in channels {
                let channel = Arc::clone(channel);
                goodbyes.spawn(async move { channel.end().await });
            }
            while goodbyes.join_next().await.is_some() {}
            if let Some(listening) = listening {
                // It ends by itself, within a limit.
                let _ = listening.await;
            }
        })
    }
}

fn trouble(failing: usize) -> Option<String> {
    let consumers = match failing {
        0 => return None,
        1 => "1 consumer".to_owned(),
        count => format!("{count} consumers"),
    };
    Some(format!(
        "{consumers} cannot be reached; they are tried again, and disconnected if that stays so"
    ))
}

/// Without a shutdown, nobody is told.
impl Drop for RunningCorba {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }
}
