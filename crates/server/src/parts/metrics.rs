//! The metrics of a server, for Prometheus.

use std::sync::Arc;

use floe::Communicator;
use floe_gateway::Gateway;
use floe_hub::Hub;
use tokio::net::TcpListener;

use crate::error::ServerError;
use crate::http::{HostNames, HttpServer, Site};
use crate::parts::bridges::RunningBridges;
use crate::settings::Configuration;
use crate::{metrics, notice};

/// Listens for those who read metrics, if that was asked for.
///
/// # Errors
/// The address is taken, or none of this computer.
pub(crate) async fn listen(
    configuration: &Configuration,
) -> Result<Option<TcpListener>, ServerError> {
    let Some(settings) = &configuration.metrics else {
        return Ok(None);
    };
    let address = settings.listen;
    let listener = TcpListener::bind(address).await;
    listener.map(Some).map_err(|error| {
        ServerError::system(format_args!(
            "--metrics: cannot listen on {address}: {error}"
        ))
        .with_help("port 0 picks a free port")
    })
}

/// Begins to serve metrics, if somebody listens for those who read them.
///
/// # Errors
/// The system does not say where it listens.
pub(crate) fn start(
    communicator: &Communicator,
    configuration: &Configuration,
    (hub, gateway): (Option<&Hub>, Option<&Gateway>),
    bridges: RunningBridges,
    listener: Option<TcpListener>,
) -> Result<Option<HttpServer>, ServerError> {
    let (Some(settings), Some(listener)) = (&configuration.metrics, listener) else {
        return Ok(None);
    };
    if let Some(hub) = hub {
        hub.view().measure_latencies();
    }
    let watched = metrics::Services {
        hub: hub.map(Hub::view),
        gateway: gateway.map(Gateway::view),
        bridges: Box::new(move || bridges.metrics()),
        communicator: communicator.clone(),
        has_subscribers: settings.has_subscribers,
    };
    let site = Site {
        pages: Arc::new(move |path, accept| metrics::answer(&watched, path, accept)),
        hosts: Arc::new(HostNames::new(&settings.hosts)),
    };
    let server = HttpServer::start(listener, site).map_err(|error| {
        ServerError::system(format_args!("--metrics: cannot serve metrics: {error}"))
    })?;
    notice::note(format_args!(
        "metrics are at http://{}{}",
        server.address,
        metrics::PATH
    ));
    Ok(Some(server))
}
