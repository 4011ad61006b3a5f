//! The table `[bridge.corba]`.

use serde::Deserialize;

use crate::settings::{TopicSettings, WorldSettings};
use crate::world::World;

/// The table `[bridge.corba]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// `[[bridge.corba.topic]]`
    #[serde(default)]
    topic: Vec<TopicSettings>,
}

impl WorldSettings for Settings {
    fn world(&self) -> Box<dyn World> {
        unimplemented!("the lane of corba replaces this")
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topic
    }
}
