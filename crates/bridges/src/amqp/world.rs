//! The world as bridges see it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use floe_access::Users;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Settings;
use super::codec::MessageCodec;
use super::link::{Broker, BrokerTopic, SHUTDOWN_TIMEOUT, listen};
use super::mapping;
use crate::core::mapping::Finding;
use crate::core::origin::Echo;
use crate::hub::{Port, TopicPlan};
use crate::world::{Running, StartError, World, WorldFuture, WorldState};

/// A broker for programs that speak AMQP 1.0, such as those of JMS.
#[derive(Debug)]
pub struct AmqpWorld {
    settings: Settings,
    /// Where relative paths start.
    folder: PathBuf,
}

/// A broker that runs. Dropping it closes its sockets.
#[derive(Debug)]
struct RunningBroker {
    address: SocketAddr,
    broker: Arc<Broker>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

/// The name of this world.
const NAME: &str = "amqp";

/// The name of this end, which peers see.
const CONTAINER: &str = "floe-bridge";

impl AmqpWorld {
    /// A broker that is not started. Relative paths start at `folder`.
    pub fn new(settings: Settings, folder: impl Into<PathBuf>) -> Self {
        Self {
            settings,
            folder: folder.into(),
        }
    }

    fn users(&self) -> Result<Option<Users>, StartError> {
        let Some(file) = &self.settings.passwords else {
            return Ok(None);
        };
        let path = self.folder.join(file);
        let failed = |reason: &dyn std::fmt::Display| {
            StartError::new(format_args!("the users' file {}: {reason}", path.display()))
        };
        let mut bytes = Vec::new();
        let limit = floe_access::USERS_FILE_MAX as u64 + 1;
        let opened = File::open(&path).map_err(|error| failed(&error))?;
        let read = opened.take(limit).read_to_end(&mut bytes);
        read.map_err(|error| failed(&error))?;
        let users = Users::parse(&bytes).map_err(|problems| failed(&problems))?;
        for problem in users.problems() {
            tracing::warn!(%problem, "a line of the users' file {} is left out", path.display());
        }
        Ok(Some(users))
    }

    /// # Errors
    /// Two topics have one name over there.
    fn topics(&self, ports: Vec<Port>) -> Result<BTreeMap<String, BrokerTopic>, StartError> {
        let mut topics = BTreeMap::new();
        for port in ports {
            let name = port.name().to_owned();
            let body = self.settings.body(port.topic());
            let codec = Arc::new(MessageCodec::new(&name, port.events(), body));
            let topic = port.topic().to_owned();
            let before = topics.insert(name, BrokerTopic { port, codec });
            if let Some(before) = before {
                return Err(StartError::new(format_args!(
                    "expected topics with names of their own, got \"{}\" for {} and {topic}: set name of one of them",
                    before.port.name(),
                    before.port.topic()
                )));
            }
        }
        Ok(topics)
    }

    async fn serve(self: Box<Self>, ports: Vec<Port>) -> Result<Box<dyn Running>, StartError> {
        let users = self.users()?;
        let topics = self.topics(ports)?;
        let listen_at = &self.settings.listen;
        let failed = |error: std::io::Error| {
            StartError::new(format_args!(
                "it cannot listen at {listen_at}: {error}; expected an address and a port that are free, as in 127.0.0.1:5672"
            ))
        };
        let listener = TcpListener::bind(listen_at.as_str())
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if !address.ip().is_loopback() {
            return Err(StartError::new(format_args!(
                "expected an address of loopback, as in 127.0.0.1:5672, got {address}: other hosts reach it, and passwords would pass in the clear"
            )));
        }
        let broker = Arc::new(Broker::new(CONTAINER.to_owned(), topics, users));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(listen(listener, Arc::clone(&broker), stopped));
        Ok(Box::new(RunningBroker {
            address,
            broker,
            stop,
            task: Some(task),
        }))
    }
}

impl World for AmqpWorld {
    fn name(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> String {
        self.settings.listen.clone()
    }

    /// Programs hear each other only through the hub.
    fn echo(&self) -> Echo {
        Echo::ToAll
    }

    fn judge(&self, topic: &TopicPlan) -> Vec<Finding> {
        mapping::judge(topic, &self.settings)
    }

    fn start(
        self: Box<Self>,
        ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>> {
        Box::pin(self.serve(ports))
    }
}

impl Running for RunningBroker {
    fn address(&self) -> Option<String> {
        Some(self.address.to_string())
    }

    fn state(&self) -> WorldState {
        self.broker.state()
    }

    fn shut_down(mut self: Box<Self>) -> WorldFuture<'static, ()> {
        Box::pin(async move {
            let _ = self.stop.send(true);
            if let Some(task) = &mut self.task {
                // It ends by itself in that time.
                let _ = timeout(SHUTDOWN_TIMEOUT * 2, task).await;
            }
        })
    }
}

impl Drop for RunningBroker {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
