//! The table `[bridge.dds]`.

use serde::Deserialize;

use crate::settings::{TopicSettings, WorldSettings};
use crate::world::World;

/// The table `[bridge.dds]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// `[[bridge.dds.topic]]`
    #[serde(default)]
    topic: Vec<TopicSettings>,
}

impl WorldSettings for Settings {
    fn world(&self) -> Box<dyn World> {
        unimplemented!("the lane of dds replaces this")
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topic
    }
}
