//! The gateway of a server.

use floe::Communicator;
use floe_gateway::{Gateway, GatewayError};

use crate::error::ServerError;
use crate::notice;
use crate::settings::Configuration;

/// Starts the gateway, if there is one.
///
/// # Errors
/// It cannot listen.
pub(crate) async fn start(
    communicator: &Communicator,
    configuration: &Configuration,
) -> Result<Option<Gateway>, ServerError> {
    let Some(settings) = &configuration.gateway else {
        return Ok(None);
    };
    if settings.filter.accept_addresses.is_empty() {
        notice::warn(
            "warning: clients of the gateway may reach every address that this host can reach, except those that it \
             rejects: say which in gateway.filter.accept-addresses (Glacier2.Filter.Address.Accept)",
        );
    }
    // The rules of [access] hold for both.
    let hub = &configuration.hub;
    let (access, audit) = (hub.access.clone(), hub.audit.as_deref());
    let gateway = Gateway::start_with_access(communicator, settings.clone(), access, audit).await;
    gateway.map(Some).map_err(|error| match &error {
        GatewayError::Adapter(error) => error.into(),
        error => ServerError::system(error),
    })
}
