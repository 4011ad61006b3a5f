//! Metrics views, as Ice programs read them from the facet `Metrics` of an administrative object.
//!
//! A program that measures something implements [`MetricsSource`]: it names its maps, and shows the objects that exist.
//! [`MetricsFacet`] is the servant. It keeps the views of an operator, measures when a view is read, and answers as
//! programs of Ice do.
//!
//! - `core/`: groups of objects, and their counts from one reading to the next; pure
//! - `settings.rs`: views and maps, as an operator defines them
//! - `source.rs`: what the program gives
//! - `views.rs`: the views at work
//! - `facet.rs`: the servant; `answer.rs`: limits the length of its answers
//! - [`contracts`]: `IceMX` in Rust

mod answer;
pub mod contracts;
mod core;
mod facet;
mod settings;
mod source;
mod views;

pub use core::{GroupBy, GroupByError, GroupMetrics, Measured, Values};
pub use facet::{MetricsFacet, count, small_count};
pub use settings::{MapKind, MetricsMap, MetricsView};
pub use source::{MetricsSource, Request};
