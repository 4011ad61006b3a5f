//! The log of a durable topic, as far as it is pure: what is kept, where, and for how long.
//!
//! - `level.rs`: how safe an event is when its publisher is answered
//! - `entry.rs`: what is appended, and what is known of a kept event
//! - `checks.rs`: which events a log refuses
//! - `key.rs`: the key of an event
//! - `position.rs`: where a reader begins, and what it finds missing
//! - `retention.rs`: how long events are kept

mod checks;
mod entry;
mod key;
mod level;
mod position;
mod retention;

pub(crate) use checks::checked;
pub use checks::{EVENT_LEN_MAX, Refusal};
pub(crate) use entry::numbered;
pub use entry::{Append, EventTime, Origin, Stamp};
pub(crate) use key::event_key;
pub use level::{Level, LevelError};
pub(crate) use position::until_full;
pub use position::{Gap, GapReason, Position, ReadLimits};
pub use retention::{PerKey, Retention};
