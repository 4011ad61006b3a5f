//! The tables `[contracts]` and `[bridge]` of a `floe.toml`.
//!
//! - [`contracts`]: the Slice files, compiled
//! - [`topic`]: `[[bridge.WORLD.topic]]`, the same for every world
//!
//! The other keys of a world stand in its own folder.

mod contracts;
mod topic;

pub use contracts::{ContractsError, ContractsSettings};
pub use topic::TopicSettings;
