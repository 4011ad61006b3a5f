//! The bridges of a server, to programs of other worlds.

use std::sync::Arc;

use floe::Communicator;
use floe::hub::HubClient;
use floe_access::Action;
use floe_bridges::contracts::floe::BridgesDispatcher;
use floe_bridges::{BRIDGES, Bridges, BridgesServant};
use floe_hub::Hub;
use prometheus_client::collector::Collector;

use crate::error::ServerError;
use crate::metrics::BridgeMetrics;
use crate::notice;
use crate::settings::Configuration;

/// The bridges that run; none if the settings have none.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningBridges(Option<Arc<Bridges>>);

impl RunningBridges {
    /// Their metrics now.
    pub(crate) fn metrics(&self) -> Option<Box<dyn Collector>> {
        let bridges = self.0.as_ref()?;
        Some(Box::new(BridgeMetrics(bridges.list())))
    }

    /// Ends them.
    pub(crate) async fn shut_down(&mut self) {
        if let Some(bridges) = self.0.take() {
            bridges.shut_down().await;
        }
    }
}

/// Starts the bridges with the hub, and the object that lists them.
///
/// # Errors
/// One of them cannot listen, or cannot say one of its topics.
pub(crate) async fn start(
    communicator: &Communicator,
    configuration: &Configuration,
    hub: Option<&Hub>,
) -> Result<RunningBridges, ServerError> {
    let Some(hub) = hub.filter(|_| !configuration.bridges.is_empty()) else {
        return Ok(RunningBridges::default());
    };
    let folder = configuration.file.as_deref().and_then(|file| file.parent());
    let planned = configuration.bridges.plan(folder.unwrap_or("".as_ref()));
    let planned = planned.map_err(ServerError::settings)?;
    // Calls within the process need no connection.
    let client = HubClient::connect_with(communicator, &hub.topic_manager()).await;
    let client = client.map_err(ServerError::system)?;
    let bridges = Bridges::start(planned, &client).await;
    let bridges = Arc::new(bridges.map_err(ServerError::system)?);
    for bridge in bridges.list() {
        match bridge.address.as_str() {
            "" => notice::note(format_args!("bridge {}: {}", bridge.world, bridge.place)),
            address => notice::note(format_args!("bridge {} listens on {address}", bridge.world)),
        }
    }
    let view = hub.view();
    let check = Box::new(move |current: &floe::Current| view.check(current, Action::Observe, ""));
    let servant = BridgesServant::new(bridges.clone(), check);
    let added = hub.adapter().add(BRIDGES, BridgesDispatcher::new(servant));
    if let Err(error) = added {
        bridges.shut_down().await;
        return Err((&error).into());
    }
    Ok(RunningBridges(Some(bridges)))
}
