//! In the place of `bridges.rs` in a build without bridges: their settings were refused.

use floe::Communicator;
use floe_hub::Hub;
use prometheus_client::collector::Collector;

use crate::error::ServerError;
use crate::settings::Configuration;

/// No bridges.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningBridges;

impl RunningBridges {
    /// They have none.
    pub(crate) fn metrics(&self) -> Option<Box<dyn Collector>> {
        None
    }

    /// There is nothing to end.
    pub(crate) async fn shut_down(&mut self) {}
}

/// Starts nothing.
///
/// # Errors
/// None.
pub(crate) async fn start(
    _communicator: &Communicator,
    _configuration: &Configuration,
    _hub: Option<&Hub>,
) -> Result<RunningBridges, ServerError> {
    Ok(RunningBridges)
}
