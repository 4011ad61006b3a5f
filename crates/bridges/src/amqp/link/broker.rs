//! What all connections share: topics, users, who is there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use floe_access::Users;
use floe_amqp::condition::{self, AmqpError};
use floe_amqp::sasl::{Credentials, Mechanism};
use tokio::sync::Semaphore;

use super::limits::VERIFYING_MAX;
use crate::amqp::codec::MessageCodec;
use crate::hub::Port;
use crate::world::{PEERS_LISTED_MAX, WorldState};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Broker {
    topics: BTreeMap<String, BrokerTopic>,
    /// None if no program is asked who it is.
    users: Option<Arc<Users>>,
    /// Room to check passwords.
    verifying: Arc<Semaphore>,
    /// The name of this end, which peers see.
    pub(super) container_id: String,
    /// The programs that are there, by the number of their connection.
    peers: Mutex<BTreeMap<u64, String>>,
}

/// A topic, as programs of this world see it. A clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct BrokerTopic {
    pub(crate) port: Port,
    pub(crate) codec: Arc<MessageCodec>,
}

/// The most bytes of names that an error lists.
const NAMES_LEN_MAX: usize = 150;

impl Broker {
    /// A broker of topics by their names over there.
    pub(crate) fn new(
        container_id: String,
        topics: BTreeMap<String, BrokerTopic>,
        users: Option<Users>,
    ) -> Self {
        Self {
            topics,
            users: users.map(Arc::new),
            verifying: Arc::new(Semaphore::new(VERIFYING_MAX)),
            container_id,
            peers: Mutex::new(BTreeMap::new()),
        }
    }

    /// How programs may say who they are.
    pub(super) fn mechanisms(&self) -> Vec<Mechanism> {
        match self.users {
            Some(_) => vec![Mechanism::Plain],
            None => vec![Mechanism::Anonymous],
        }
    }

    /// True if nobody is asked who it is.
    pub(super) fn is_open(&self) -> bool {
        self.users.is_none()
    }

    /// True if a program is who it says.
    pub(super) async fn verify(&self, credentials: Credentials) -> bool {
        let Some(users) = &self.users else {
            return true;
        };
        let Credentials::Plain {
            authorization,
            user,
            password,
        } = credentials
        else {
            return false;
        };
        // Nobody may act for another.
        if !authorization.is_empty() && authorization != user {
            return false;
        }
        let Ok(permit) = Arc::clone(&self.verifying).acquire_owned().await else {
            return false;
        };
        let users = Arc::clone(users);
        let verified = tokio::task::spawn_blocking(move || {
            let is_verified = users.verify(&user, password.as_bytes());
            drop(permit);
            is_verified
        });
        verified.await.unwrap_or(false)
    }

    /// The topic of this name, if programs may publish to it.
    ///
    /// # Errors
    /// There is none, or they may not.
    pub(super) fn topic_in(&self, name: &str) -> Result<&BrokerTopic, AmqpError> {
        let topic = self.topic(name)?;
        match topic.port.direction().is_in() {
            true => Ok(topic),
            false => Err(AmqpError::new(
                condition::NOT_ALLOWED,
                format!(
                    "expected a topic that takes messages, got {name}: its direction is \"out\""
                ),
            )),
        }
    }

    /// The topic of this name, if programs may subscribe to it.
    ///
    /// # Errors
    /// There is none, or they may not.
    pub(super) fn topic_out(&self, name: &str) -> Result<&BrokerTopic, AmqpError> {
        let topic = self.topic(name)?;
        match topic.port.direction().is_out() {
            true => Ok(topic),
            false => Err(AmqpError::new(
                condition::NOT_ALLOWED,
                format!("expected a topic that has messages, got {name}: its direction is \"in\""),
            )),
        }
    }

    fn topic(&self, name: &str) -> Result<&BrokerTopic, AmqpError> {
        self.topics.get(name).ok_or_else(|| {
            let mut names = String::new();
            for known in self.topics.keys() {
                if names.len() + known.len() > NAMES_LEN_MAX {
                    names.push_str(", ...");
                    break;
                }
                names.push_str(if names.is_empty() { "" } else { ", " });
                names.push_str(known);
            }
            let got = &name[..name.floor_char_boundary(64)];
            AmqpError::new(
                condition::NOT_FOUND,
                format!("expected a topic of this bridge ({names}), got {got}"),
            )
        })
    }

    /// Lists a program.
    pub(super) fn enter(&self, number: u64, name: &str) {
        self.with_peers(|peers| peers.insert(number, name.to_owned()));
    }

    /// Takes it off the list.
    pub(super) fn leave(&self, number: u64) {
        self.with_peers(|peers| peers.remove(&number));
    }

    /// The programs that are there.
    pub(crate) fn state(&self) -> WorldState {
        self.with_peers(|peers| WorldState {
            peers: peers.values().take(PEERS_LISTED_MAX).cloned().collect(),
            peer_count: peers.len(),
            trouble: None,
        })
    }

    fn with_peers<T>(&self, f: impl FnOnce(&mut BTreeMap<u64, String>) -> T) -> T {
        f(&mut self.peers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
