//! Which worlds there are, and which of them this build has.

use std::path::Path;

use serde::de::{DeserializeOwned, Error};

use super::{SettingsError, TopicSettings};
use crate::world::World;

/// The table of a world: `[bridge.amqp]`. It has the topics in `topic`, and refuses unknown keys.
pub trait WorldSettings: DeserializeOwned {
    /// The world; its topics stand apart.
    fn world(&self) -> Box<dyn World>;

    /// As [`WorldSettings::world`], where the settings name files: relative ones start at `folder`.
    fn world_in(&self, _folder: &Path) -> Box<dyn World> {
        self.world()
    }

    /// Checks what no single value tells, such as two that do not go together. No socket is opened.
    ///
    /// # Errors
    /// What was expected, what came, and what to do.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Its topics.
    fn topics(&self) -> &[TopicSettings];
}

/// A world that `floe.toml` may have.
#[derive(Debug, Clone, Copy)]
pub struct KnownWorld {
    name: &'static str,
    read: Option<ReadTable>,
}

/// Reads the table of a world. Relative names of files start at the folder.
type ReadTable = fn(toml::Value, &Path) -> Result<ReadWorld, toml::de::Error>;

/// A world as its table describes it.
pub(super) struct ReadWorld {
    pub(super) world: Box<dyn World>,
    pub(super) topics: Vec<TopicSettings>,
}

/// All worlds.
pub const WORLDS: [KnownWorld; 4] = [
    #[cfg(feature = "dds")]
    built::<crate::dds::Settings>("dds"),
    #[cfg(not(feature = "dds"))]
    not_built("dds"),
    #[cfg(feature = "corba")]
    built::<crate::corba::Settings>("corba"),
    #[cfg(not(feature = "corba"))]
    not_built("corba"),
    #[cfg(feature = "amqp")]
    built::<crate::amqp::Settings>("amqp"),
    #[cfg(not(feature = "amqp"))]
    not_built("amqp"),
    #[cfg(feature = "soap")]
    built::<crate::soap::Settings>("soap"),
    #[cfg(not(feature = "soap"))]
    not_built("soap"),
];

#[allow(dead_code, reason = "a build without worlds does not use it")]
const fn built<S: WorldSettings>(name: &'static str) -> KnownWorld {
    KnownWorld {
        name,
        read: Some(read::<S>),
    }
}

#[allow(dead_code, reason = "a build with all worlds does not use it")]
const fn not_built(name: &'static str) -> KnownWorld {
    KnownWorld { name, read: None }
}

fn read<S: WorldSettings>(table: toml::Value, folder: &Path) -> Result<ReadWorld, toml::de::Error> {
    let settings: S = table.try_into()?;
    settings.check().map_err(toml::de::Error::custom)?;
    Ok(ReadWorld {
        world: settings.world_in(folder),
        topics: settings.topics().to_vec(),
    })
}

impl KnownWorld {
    /// Its name: `amqp`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// True if this build has it.
    pub fn is_built(self) -> bool {
        self.read.is_some()
    }

    /// Reads its table. Relative names of files start at `folder`.
    pub(super) fn read(
        self,
        table: toml::Value,
        folder: &Path,
    ) -> Result<ReadWorld, SettingsError> {
        let read = self.read.ok_or(SettingsError::NotBuilt(self.name))?;
        read(table, folder).map_err(|error| SettingsError::Toml {
            table: format!("bridge.{}", self.name),
            message: error.to_string().trim_end().to_owned(),
        })
    }
}
