//! The console of a server.

use std::sync::Arc;

use floe::Communicator;
use floe_gateway::Gateway;
use floe_hub::Hub;
use tokio::net::TcpListener;

use crate::console::{Console, Gate, Watched};
use crate::error::ServerError;
use crate::http::HostNames;
use crate::notice;
use crate::settings::Configuration;

/// Listens for browsers, if there is a console.
///
/// # Errors
/// Other computers could reach it and there are no rules of access, or the address is taken.
pub(crate) async fn listen(
    configuration: &Configuration,
) -> Result<Option<TcpListener>, ServerError> {
    let Some(address) = configuration.console.listen else {
        return Ok(None);
    };
    if !address.ip().is_loopback() && configuration.hub.access.is_open() {
        let error = ServerError::settings(format_args!(
            "console.listen: expected a loopback address, such as 127.0.0.1:8080, or rules of access, got {address} without \
             rules: everyone who reaches it could see and change everything"
        ));
        let help = "an [[access.rule]] restricts access (docs/guides/access.md)";
        return Err(configuration.with_file(error.with_help(help)));
    }
    let listener = TcpListener::bind(address).await;
    listener.map(Some).map_err(|error| {
        let error = ServerError::system(format_args!(
            "console.listen: cannot listen on {address}: {error}"
        ));
        configuration.with_file(error.with_help("port 0 picks a free port"))
    })
}

/// Begins to serve the console, if somebody listens for browsers.
///
/// # Errors
/// The system does not say where it listens.
pub(crate) fn start(
    communicator: &Communicator,
    configuration: &Configuration,
    (hub, gateway): (Option<&Hub>, Option<&Gateway>),
    listener: Option<TcpListener>,
) -> Result<Option<Console>, ServerError> {
    let Some(listener) = listener else {
        return Ok(None);
    };
    let watched = Watched::new(communicator, hub, gateway);
    let hosts = HostNames::new(&configuration.console.hosts);
    let gate = Gate::new(Arc::clone(&configuration.hub.access), hosts);
    let console = gate.and_then(|gate| Console::start(listener, watched, gate));
    let console = console.map_err(|error| {
        ServerError::system(format_args!("console.listen: cannot serve it: {error}"))
    })?;
    notice::note(format_args!(
        "the console is at http://{}/",
        console.address
    ));
    Ok(Some(console))
}
