//! A hub as a process of its own, and what it tells.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use floe::{Communicator, Proxy, TypedProxy};
use floe_hub::HUB_ADMIN;
use floe_hub::contracts::floe::{HubAdminProxy, TopicStatus};
use rustix::process::Signal;

use crate::contract::feed::ListenerProxy;
use crate::member::Member;
use crate::process;

/// How long anything may take that is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// A running `floe serve`, and a client of it.
pub(super) struct Station {
    hub: Member,
    folder: PathBuf,
    pub(super) communicator: Communicator,
    manager: String,
}

/// How to subscribe: a mode of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    Twoway,
    Ordered,
    Oneway,
    Batch,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Twoway, Self::Ordered, Self::Oneway, Self::Batch];

    /// Its name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Twoway => "twoway",
            Self::Ordered => "ordered",
            Self::Oneway => "oneway",
            Self::Batch => "batch",
        }
    }
}

impl Station {
    /// Starts the hub with these settings, the text of a `floe.toml`.
    ///
    /// # Panics
    /// If it does not start.
    pub(super) fn start(settings: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("floe-hub-soak-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("temporary files can be written");
        let config = folder.join("floe.toml");
        let listen = "listen = \"tcp -h 127.0.0.1 -p 0\"\n";
        fs::write(&config, format!("{listen}{settings}")).expect("temporary files can be written");
        let mut serve = Command::new(hub_program());
        serve.args(["serve", "--transient", "--config"]).arg(config);
        let started = Member::start(serve, &folder.join("hub.log"));
        let (hub, manager) = started.unwrap_or_else(|error| panic!("the hub: {error}"));
        Self {
            hub,
            folder,
            communicator: Communicator::new(),
            manager,
        }
    }

    /// The proxy of its topic manager.
    pub(super) fn manager(&self) -> &str {
        &self.manager
    }

    /// Where its log and its settings are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The id of the process.
    pub(super) fn id(&self) -> u32 {
        self.hub.id()
    }

    /// Its resident memory, in bytes.
    pub(super) fn resident(&self) -> u64 {
        process::resident(self.hub.id()).unwrap_or_default()
    }

    /// The topic of this name, made if it is not there.
    pub(super) async fn topic(&self, name: &str) -> TopicProxy {
        topic(&self.communicator, &self.manager, name).await
    }

    /// The publisher object of a topic, for another client; on this facet.
    pub(super) async fn publisher(
        &self,
        communicator: &Communicator,
        name: &str,
        facet: &str,
    ) -> ListenerProxy {
        let topic = topic(communicator, &self.manager, name).await;
        let publisher = topic.get_publisher().await.expect("a topic");
        ListenerProxy::from_proxy(publisher.ice_facet(facet))
    }

    /// Returns the hub's status of a topic; `None` if there is no such topic.
    pub(super) async fn status(&self, topic: &str) -> Option<TopicStatus> {
        let identity = HUB_ADMIN.parse().expect("an identity");
        let manager = self.communicator.proxy::<Proxy>(&self.manager);
        let admin = manager.expect("a proxy").ice_identity(identity);
        HubAdminProxy::from_proxy(admin)
            .topic_status(topic)
            .await
            .ok()
    }

    /// Waits until what the hub tells of a topic is as wanted; false if that takes too long.
    pub(super) async fn wait_for(
        &self,
        topic: &str,
        is_wanted: impl Fn(&TopicStatus) -> bool,
    ) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if self
                .status(topic)
                .await
                .is_some_and(|status| is_wanted(&status))
            {
                return true;
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        false
    }

    /// Ends the hub as an operator does.
    ///
    /// # Errors
    /// It does not end well.
    pub(super) async fn end(self) -> Result<(), String> {
        self.communicator.shutdown().await;
        process::signal(self.hub.id(), Signal::TERM).map_err(|error| error.to_string())?;
        let ended = tokio::task::spawn_blocking(|| self.hub.end());
        ended.await.expect("no panic")?;
        // What the run leaves there is not needed any more; another run has a folder of its own.
        let _ = fs::remove_dir_all(&self.folder);
        Ok(())
    }
}

/// The topic of this name in the hub of this topic manager, made if it is not there.
///
/// # Panics
/// If the hub does not answer.
pub(crate) async fn topic(communicator: &Communicator, manager: &str, name: &str) -> TopicProxy {
    let manager: TopicManagerProxy = communicator.proxy(manager).expect("a proxy");
    let topic = manager.create_or_retrieve(name).await;
    topic.expect("the hub answers")
}

/// Returns the arguments of a subscription: the proxy in this mode, and the quality of service.
pub(crate) fn wishes(subscriber: &Proxy, mode: Mode, qos: &[(&str, &str)]) -> (Proxy, QoS) {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let mut qos: QoS = qos.iter().map(owned).collect();
    let subscriber = match mode {
        Mode::Twoway => subscriber.ice_twoway(),
        Mode::Ordered => {
            qos.insert("reliability".to_owned(), "ordered".to_owned());
            subscriber.ice_twoway()
        }
        Mode::Oneway => subscriber.ice_oneway(),
        Mode::Batch => subscriber.ice_batch_oneway(),
    };
    (subscriber, qos)
}

/// The program `floe`, built beside this one.
pub(crate) fn hub_program() -> PathBuf {
    own_program().with_file_name("floe")
}

/// This program.
pub(super) fn own_program() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}
