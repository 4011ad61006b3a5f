//! How a topic and its events are said in another world.
//!
//! - [`direction`]: which way events go
//! - [`event`]: the events of a topic, by its contract
//! - [`verdict`]: whether a world can say something: exactly, more weakly, or not at all

pub mod direction;
pub mod event;
pub mod verdict;

pub use direction::Direction;
pub use event::{EventKind, EventTypes, EventTypesError, Payload};
pub use verdict::{Finding, Verdict};
