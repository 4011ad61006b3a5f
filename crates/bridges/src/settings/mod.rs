//! The tables `[contracts]` and `[bridge]` of a `floe.toml`.
//!
//! - `contracts`: the Slice files, compiled
//! - `topic`: `[[bridge.WORLD.topic]]`, the same for every world
//! - `value`: values as people write them
//! - `worlds`: which worlds there are, and which of them this build has
//!
//! The other keys of a world stand in its own folder.

mod contracts;
mod topic;
pub(crate) mod value;
mod worlds;

use std::fmt;
use std::path::Path;

use floe_dynamic::Contract;
use serde::Deserialize;

pub use contracts::{ContractsError, ContractsSettings};
pub use topic::TopicSettings;
pub use worlds::{KnownWorld, WORLDS, WorldSettings};

use crate::core::mapping::EventTypesError;
use crate::hub::TopicPlan;
use crate::world::World;

/// The bridges of a `floe.toml`, and the contracts of their topics.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Settings {
    /// `[contracts]`
    #[serde(default)]
    contracts: ContractsSettings,
    /// `[bridge]`: a table for each world.
    #[serde(default)]
    bridge: toml::Table,
}

/// A bridge before it is started.
pub struct PlannedBridge {
    /// The world.
    pub world: Box<dyn World>,
    /// Its topics.
    pub topics: Vec<TopicPlan>,
}

/// Settings of bridges that cannot be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SettingsError {
    /// The text is no TOML, or a key or value is wrong.
    Toml {
        /// The table: `bridge.amqp`; empty for the whole.
        table: String,
        /// The mistake, and where it is.
        message: String,
    },
    /// A table for a world that does not exist.
    UnknownWorld(String),
    /// This build has not the world.
    NotBuilt(&'static str),
    /// The Slice files have errors.
    Contracts(ContractsError),
    /// There are no Slice files, and a bridge needs them.
    NoContracts(&'static str),
    /// A topic has no such events.
    Topic {
        /// The world.
        world: &'static str,
        /// The topic.
        topic: String,
        /// The reason.
        source: EventTypesError,
    },
    /// A topic of a world has an empty name.
    NoName(&'static str),
    /// A topic stands twice in a world, by its name here or over there.
    Twice {
        /// The world.
        world: &'static str,
        /// The name.
        name: String,
    },
}

impl Settings {
    /// Takes the tables `[contracts]` and `[bridge]` of the text of a `floe.toml`; others are left alone.
    ///
    /// # Errors
    /// [`SettingsError::Toml`]
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map_err(|error| SettingsError::Toml {
            table: String::new(),
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// True if there is no bridge.
    pub fn is_empty(&self) -> bool {
        self.bridge.is_empty()
    }

    /// The bridges, with their contracts compiled. Relative names of files start at `folder`.
    ///
    /// # Errors
    /// [`SettingsError`]
    pub fn plan(&self, folder: &Path) -> Result<Vec<PlannedBridge>, SettingsError> {
        let mut contract = None;
        let mut planned = Vec::new();
        for (name, table) in &self.bridge {
            let world = WORLDS.into_iter().find(|it| it.name() == name);
            let world = world.ok_or_else(|| SettingsError::UnknownWorld(name.clone()))?;
            let (name, read) = (world.name(), world.read(table.clone(), folder)?);
            if contract.is_none() && !read.topics.is_empty() {
                contract = Some(self.load(name, folder)?);
            }
            let topics = read.topics.iter();
            let topics = topics.map(|topic| {
                let contract = contract.as_ref().expect("it was loaded");
                let plan = topic.plan(contract);
                plan.map_err(|source| SettingsError::Topic {
                    world: name,
                    topic: topic.topic.clone(),
                    source,
                })
            });
            let topics = topics.collect::<Result<Vec<_>, _>>()?;
            check_once(name, &topics)?;
            planned.push(PlannedBridge {
                world: read.world,
                topics,
            });
        }
        Ok(planned)
    }

    fn load(&self, world: &'static str, folder: &Path) -> Result<Contract, SettingsError> {
        if self.contracts.files.is_empty() {
            return Err(SettingsError::NoContracts(world));
        }
        let loaded = self.contracts.load(folder);
        loaded.map_err(SettingsError::Contracts)
    }
}

/// Two topics with one name would be one topic over there; one topic twice would get each event twice.
fn check_once(world: &'static str, topics: &[TopicPlan]) -> Result<(), SettingsError> {
    for (at, topic) in topics.iter().enumerate() {
        let earlier = &topics[..at];
        if topic.topic.is_empty() {
            return Err(SettingsError::NoName(world));
        }
        let twice = |name: &str| SettingsError::Twice {
            world,
            name: name.to_owned(),
        };
        if earlier.iter().any(|it| it.topic == topic.topic) {
            return Err(twice(&topic.topic));
        }
        if earlier.iter().any(|it| it.name == topic.name) {
            return Err(twice(&topic.name));
        }
    }
    Ok(())
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml { table, message } if table.is_empty() => f.write_str(message),
            Self::Toml { table, message } => write!(f, "[{table}]: {message}"),
            Self::UnknownWorld(name) => {
                let names = WORLDS.map(|world| world.name()).join(", ");
                write!(f, "expected one of {names} behind `bridge.`, got `{name}`")
            }
            Self::NotBuilt(name) => write!(
                f,
                "this build has no bridge to {name}; `cargo install floe-cli --features {name}` makes one that has it"
            ),
            Self::Contracts(error) => error.fmt(f),
            Self::NoContracts(world) => write!(
                f,
                "[bridge.{world}] has topics, and there is no contract: add [contracts] with files = [\"NAME.ice\"]"
            ),
            Self::Topic {
                world,
                topic,
                source,
            } => write!(f, "topic \"{topic}\" of [bridge.{world}]: {source}"),
            Self::NoName(world) => write!(
                f,
                "expected the name of a topic of the hub as `topic` in [[bridge.{world}.topic]], got an empty one"
            ),
            Self::Twice { world, name } => write!(
                f,
                "topic \"{name}\" stands twice in [bridge.{world}]; leave one of the two out, or give one another name"
            ),
        }
    }
}

impl std::error::Error for SettingsError {}

impl fmt::Debug for PlannedBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedBridge")
            .field("world", &self.world.name())
            .field("topics", &self.topics)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let settings = Settings::parse(text).expect("it is TOML");
        let planned = settings.plan(Path::new("/nowhere"));
        planned.expect_err("it is wrong").to_string()
    }

    #[test]
    fn other_tables_are_left_alone() {
        let settings = Settings::parse("[hub]\nlisten = [\"tcp\"]\n").expect("it is TOML");
        assert!(settings.is_empty());
        assert!(
            settings
                .plan(Path::new("."))
                .expect("there is none")
                .is_empty()
        );
    }

    #[test]
    fn a_world_that_does_not_exist_is_named() {
        assert_eq!(
            error("[bridge.kafka]\n"),
            "expected one of dds, corba, amqp, soap behind `bridge.`, got `kafka`"
        );
    }

    #[cfg(all(feature = "amqp", feature = "corba", feature = "dds", feature = "soap"))]
    #[test]
    fn a_wrong_value_is_told_before_anything_starts() {
        for (text, expected) in [
            ("[bridge.dds]\ndomain = 999\n", "from 0 to 232, got 999"),
            ("[bridge.dds]\ninterfaces = []\n", "at least one address"),
            (
                "[bridge.dds]\ninterfaces = \"lo\"\n",
                "expected an IP address, such as \"127.0.0.1\", got \"lo\"",
            ),
            (
                "[bridge.corba]\nlisten = \"0.0.0.0:2809\"\n",
                "beyond this computer",
            ),
            ("[bridge.corba]\nconsumer-window = 0\n", "at least 1, got 0"),
            (
                "[bridge.corba]\nconsumer-networks = \"lan\"\n",
                "got \"lan\"",
            ),
            (
                "[bridge.soap]\nlisten = \"nonsense\"\n",
                "such as \"127.0.0.1:8070\", got \"nonsense\"",
            ),
        ] {
            let error = error(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[cfg(feature = "dds")]
    #[test]
    fn one_text_may_stand_for_a_list() {
        for text in [
            "[bridge.dds]\ninterfaces = \"127.0.0.1\"\npeers = \"127.0.0.1\"\n",
            "[contracts]\nfiles = \"A.ice\"\n",
        ] {
            let settings = Settings::parse(text).expect("it is TOML");
            settings.plan(Path::new("")).expect("it is right");
        }
    }

    #[cfg(not(feature = "dds"))]
    #[test]
    fn a_world_that_is_not_built_says_how_to_get_it() {
        assert_eq!(
            error("[bridge.dds]\n"),
            "this build has no bridge to dds; `cargo install floe-cli --features dds` makes one that has it"
        );
    }
}
