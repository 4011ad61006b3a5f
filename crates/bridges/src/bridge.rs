//! Joins a world with a hub.

use std::fmt;

use floe::hub::{HubClient, HubError};

use crate::core::account::Counts;
use crate::core::mapping::Finding;
use crate::hub::{Port, TopicPlan};
use crate::world::{Running, StartError, World, WorldState};

/// A world that is joined with a hub. Dropping it closes its sockets; [`Bridge::shut_down`] does so as that world does it.
pub struct Bridge {
    world: &'static str,
    place: String,
    running: Box<dyn Running>,
    ports: Vec<Port>,
}

/// A bridge that could not be started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BridgeError {
    /// The world cannot say a topic.
    Refused {
        /// The world.
        world: &'static str,
        /// The topic.
        topic: String,
        /// All that is refused.
        findings: Vec<Finding>,
    },
    /// A topic of the hub could not be found or made.
    Hub {
        /// The world.
        world: &'static str,
        /// The topic.
        topic: String,
        /// The reason.
        source: HubError,
    },
    /// The world could not be started.
    World {
        /// The world.
        world: &'static str,
        /// The reason.
        source: StartError,
    },
}

impl Bridge {
    /// Judges all topics, finds or makes them in the hub, and starts the world.
    ///
    /// # Errors
    /// [`BridgeError`]; nothing is left open.
    pub async fn start(
        world: Box<dyn World>,
        hub: &HubClient,
        topics: Vec<TopicPlan>,
    ) -> Result<Self, BridgeError> {
        let (name, place, echo) = (world.name(), world.place(), world.echo());
        for topic in &topics {
            let mut findings = world.judge(topic);
            findings.retain(|finding| finding.verdict.is_refused());
            if !findings.is_empty() {
                return Err(BridgeError::Refused {
                    world: name,
                    topic: topic.topic.clone(),
                    findings,
                });
            }
        }
        let mut ports = Vec::new();
        for plan in topics {
            let topic = hub.topic(&plan.topic).await;
            let topic = topic.map_err(|source| BridgeError::Hub {
                world: name,
                topic: plan.topic.clone(),
                source,
            })?;
            ports.push(Port::new(plan, topic, (name, place.clone(), echo)));
        }
        let running = world.start(ports.clone()).await;
        Ok(Self {
            world: name,
            place,
            running: running.map_err(|source| BridgeError::World {
                world: name,
                source,
            })?,
            ports,
        })
    }

    /// The world: `amqp`.
    pub fn world(&self) -> &'static str {
        self.world
    }

    /// The place of the world: `domain 0`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where programs of that world reach it.
    pub fn address(&self) -> Option<String> {
        self.running.address()
    }

    /// How the world is now.
    pub fn state(&self) -> WorldState {
        self.running.state()
    }

    /// Its topics.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The counts of each topic, by its name in the hub.
    pub fn counts(&self) -> Vec<(String, Counts)> {
        let ports = self.ports.iter();
        ports
            .map(|port| (port.topic().to_owned(), port.account().counts()))
            .collect()
    }

    /// Ends it. What the other world has not taken is not acknowledged to the hub.
    pub async fn shut_down(self) {
        self.running.shut_down().await;
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("world", &self.world)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused {
                world,
                topic,
                findings,
            } => {
                write!(f, "bridge {world} cannot carry topic \"{topic}\"")?;
                let mut separator = ": ";
                for finding in findings {
                    write!(f, "{separator}{finding}")?;
                    separator = "; ";
                }
                Ok(())
            }
            Self::Hub {
                world,
                topic,
                source,
            } => write!(f, "bridge {world} did not get topic \"{topic}\": {source}"),
            Self::World { world, source } => write!(f, "bridge {world} did not start: {source}"),
        }
    }
}

impl std::error::Error for BridgeError {}
