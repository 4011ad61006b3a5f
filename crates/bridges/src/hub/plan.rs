//! A topic of a bridge before anything is started.

use std::sync::Arc;

use crate::core::mapping::{Direction, EventTypes};

/// A topic, as settings and contract describe it.
#[derive(Debug, Clone)]
pub struct TopicPlan {
    /// The topic of the hub.
    pub topic: String,
    /// Its name over there, as it was set; the topic's by default.
    pub name: String,
    /// Which way events go.
    pub direction: Direction,
    /// Its events.
    pub events: Arc<EventTypes>,
}
