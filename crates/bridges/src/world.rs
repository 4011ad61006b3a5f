//! The trait of worlds: all that a bridge asks of one.
//!
//! A world opens its sockets when it is started, with a [`Port`] for each topic. Then it is its own master:
//!
//! - A program over there publishes: the world reads the event and calls [`Publisher::publish`](crate::hub::Publisher).
//!   It acknowledges to that program only when the call has returned, because the hub has the event then (a durable topic:
//!   has stored it). An error goes back to the program, in the words of that world.
//! - A program over there subscribes: the world calls [`Port::subscribe`] for it, and sends what
//!   [`Deliveries::next_batch`](crate::Deliveries::next_batch) returns. It asks for the next batch only when that program
//!   has taken the last one, so that a slow subscriber over there is a slow subscriber of the hub. Where programs of the
//!   world hear each other without us, one subscription serves them all.
//! - A peer that is hostile, slow or gone costs its own connection only, and every size and count has a limit with a name.
//!
//! Nothing of a world panics, and whatever does not cross is counted by [`Port::account`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::core::mapping::Finding;
use crate::core::origin::Echo;
use crate::hub::{Port, TopicPlan};

/// A future of a world.
pub type WorldFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Another world, as its settings describe it; not started yet.
pub trait World: Send + Sync + 'static {
    /// Its name in settings, lists and origins: `amqp`.
    fn name(&self) -> &'static str;

    /// The place of it that this bridge serves, for origins and lists: `domain 0`, `127.0.0.1:5672`.
    fn place(&self) -> String;

    /// Which events must not return to their place.
    fn echo(&self) -> Echo;

    /// How this world says a topic: its name, its events, its qualities of service. Pure: no socket is opened. A bridge
    /// with a finding that is refused does not start.
    fn judge(&self, topic: &TopicPlan) -> Vec<Finding>;

    /// Opens its sockets, and serves. The ports are those of all topics; [`Port::direction`] says which way events go.
    /// If a peer that it needs is away, it starts all the same, and goes on trying.
    ///
    /// # Errors
    /// [`StartError`]: it cannot listen, for example. Nothing is left open then.
    fn start(
        self: Box<Self>,
        ports: Vec<Port>,
    ) -> WorldFuture<'static, Result<Box<dyn Running>, StartError>>;
}

/// A world that is served.
pub trait Running: Send + Sync {
    /// Where programs of that world reach it, with the real port: `127.0.0.1:5672`; `None` if they find it by themselves.
    fn address(&self) -> Option<String>;

    /// How it is now.
    fn state(&self) -> WorldState;

    /// Closes its connections as this world does it, within a second or two, and its sockets. What the hub has delivered and
    /// the world has not taken is not acknowledged.
    fn shut_down(self: Box<Self>) -> WorldFuture<'static, ()>;
}

/// How a world is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldState {
    /// The programs that are there, as that world names them, at most [`PEERS_LISTED_MAX`] of them.
    pub peers: Vec<String>,
    /// How many there are.
    pub peer_count: usize,
    /// If something that it needs is away: what, since when, and what happens next.
    pub trouble: Option<String>,
}

/// The most peers that a state lists.
pub const PEERS_LISTED_MAX: usize = 100;

/// A world that could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError {
    message: String,
}

impl StartError {
    /// The message says what was tried, what came, and what to do.
    pub fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StartError {}
