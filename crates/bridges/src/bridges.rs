//! All bridges of a process, and the object that lists them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use floe::hub::HubClient;
use floe::{Current, InvokeError, SystemException};

use crate::bridge::{Bridge, BridgeError};
use crate::contracts::floe as listed;
use crate::settings::PlannedBridge;

/// The identity of the object that lists the bridges of a server:
/// [`contracts::floe::BridgesProxy`](crate::contracts::floe::BridgesProxy).
pub const BRIDGES: &str = "Floe/Bridges";

/// The bridges of a process, all with one hub.
#[derive(Debug)]
pub struct Bridges {
    /// Empty when they have ended.
    bridges: Mutex<Vec<Bridge>>,
}

impl Bridges {
    /// Starts all; if one cannot be started, none is.
    ///
    /// # Errors
    /// [`BridgeError`] of the first that cannot be started.
    pub async fn start(planned: Vec<PlannedBridge>, hub: &HubClient) -> Result<Self, BridgeError> {
        let started = Self {
            bridges: Mutex::default(),
        };
        for bridge in planned {
            match Bridge::start(bridge.world, hub, bridge.topics).await {
                Ok(bridge) => started.lock().push(bridge),
                Err(error) => {
                    started.shut_down().await;
                    return Err(error);
                }
            }
        }
        Ok(started)
    }

    /// Ends all.
    pub async fn shut_down(&self) {
        let bridges = std::mem::take(&mut *self.lock());
        for bridge in bridges {
            bridge.shut_down().await;
        }
    }

    /// All of them, as they are now.
    pub fn list(&self) -> listed::BridgeStatusSeq {
        self.lock().iter().map(status).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Bridge>> {
        // What it guards is whole between any two statements.
        self.bridges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status(bridge: &Bridge) -> listed::BridgeStatus {
    let state = bridge.state();
    let topics = bridge.ports().iter().map(|port| {
        let counts = port.account().counts();
        let not_crossed = counts.not_crossed.iter();
        listed::BridgedTopic {
            topic: port.topic().to_owned(),
            name: port.name().to_owned(),
            direction: port.direction().to_string(),
            taken_in: counted(counts.taken_in),
            sent_out: counted(counts.sent_out),
            not_crossed: not_crossed
                .map(|(reason, count)| listed::NotCrossed {
                    reason: reason.name().to_owned(),
                    count: counted(*count),
                })
                .collect(),
        }
    });
    listed::BridgeStatus {
        world: bridge.world().to_owned(),
        place: bridge.place().to_owned(),
        address: bridge.address().unwrap_or_default(),
        trouble: state.trouble.unwrap_or_default(),
        peer_count: i32::try_from(state.peer_count).unwrap_or(i32::MAX),
        peers: state.peers,
        topics: topics.collect(),
    }
}

/// Slice has no unsigned numbers; none of these grows so far.
fn counted(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Lists bridges to those who may know of them.
pub struct BridgesServant {
    bridges: Arc<Bridges>,
    check: Check,
}

/// Returns an error unless the caller may know of bridges.
pub type Check = Box<dyn Fn(&Current) -> Result<(), SystemException> + Send + Sync>;

impl BridgesServant {
    /// The object, and the check of its callers.
    pub fn new(bridges: Arc<Bridges>, check: Check) -> Self {
        Self { bridges, check }
    }
}

impl listed::Bridges for BridgesServant {
    async fn list(&self, current: &Current) -> Result<listed::BridgeStatusSeq, InvokeError> {
        (self.check)(current)?;
        Ok(self.bridges.list())
    }
}

impl fmt::Debug for BridgesServant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BridgesServant")
            .field(&self.bridges)
            .finish()
    }
}
