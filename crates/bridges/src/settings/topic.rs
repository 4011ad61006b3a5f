//! A topic of a bridge: `[[bridge.WORLD.topic]]`.

use std::sync::Arc;

use floe_dynamic::Contract;
use serde::Deserialize;

use crate::core::mapping::{Direction, EventTypes, EventTypesError};
use crate::hub::TopicPlan;

/// A topic, and what it is over there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicSettings {
    /// The topic of the hub; created if it does not exist.
    pub topic: String,
    /// The interface of its events: `::Demo::Ticker`.
    pub interface: String,
    /// Its name over there; by default the topic's.
    pub name: Option<String>,
    /// Which way events go; both by default.
    #[serde(default)]
    pub direction: Direction,
}

impl TopicSettings {
    /// The topic with its events.
    ///
    /// # Errors
    /// [`EventTypesError`]: the contract has no such events.
    pub fn plan(&self, contract: &Contract) -> Result<TopicPlan, EventTypesError> {
        Ok(TopicPlan {
            topic: self.topic.clone(),
            name: self.name.clone().unwrap_or_else(|| self.topic.clone()),
            direction: self.direction,
            events: Arc::new(EventTypes::new(contract, &self.interface)?),
        })
    }
}
