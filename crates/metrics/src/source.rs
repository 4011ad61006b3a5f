//! A program whose metrics are read.

use floe::classes::Link;
use floe::{Current, InvokeError};

use crate::contracts::ice_mx::Metrics;
use crate::core::{GroupMetrics, Measured};
use crate::settings::MapKind;

/// A program that measures something.
pub trait MetricsSource: Send + Sync + 'static {
    /// An object that is measured, of any map.
    type Object: Measured + Send;

    /// The maps that a view can have.
    const MAPS: &'static [MapKind];

    /// Shows all objects that exist now, each with the position of its map in [`Self::MAPS`].
    fn objects(&self) -> impl Iterator<Item = (usize, Self::Object)> + Send;

    /// Makes the metrics object of a group of the map at this position.
    fn metrics(map: usize, group: GroupMetrics) -> Link<Metrics>;

    /// Checks that the caller may do this.
    ///
    /// # Errors
    /// The refusal that the caller gets.
    fn check(&self, current: &Current, request: Request) -> Result<(), InvokeError>;
}

/// The purpose of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// To read the metrics.
    Read,
    /// To enable or disable a view.
    Change,
}
