//! The decisions of metrics views, pure: no async, no socket, no clock.
//!
//! - `groups.rs`: groups of objects with the same id, and what they have counted
//! - `group_by.rs`: the id of a group

mod group_by;
mod groups;

pub use group_by::{GroupBy, GroupByError};
pub use groups::{GroupMetrics, Measured, Values};
pub(crate) use groups::{GroupedMetrics, MetricsReading};
