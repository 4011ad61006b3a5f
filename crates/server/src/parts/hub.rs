//! The hub of a server.

use std::sync::Once;

use floe::Communicator;
use floe_hub::{Hub, HubError, StoreSettings};

use crate::error::ServerError;
use crate::notice;
use crate::settings::Configuration;

/// Starts the hub, if there is one.
///
/// # Errors
/// It cannot listen, or its store cannot be used.
pub(crate) async fn start(
    communicator: &Communicator,
    configuration: &Configuration,
) -> Result<Option<Hub>, ServerError> {
    if !configuration.has_hub {
        return Ok(None);
    }
    hush_store();
    tell_of_icestorm(&configuration.hub.store);
    let hub = Hub::start(communicator, configuration.hub.clone()).await;
    hub.map(Some).map_err(|error| not_started(&error))
}

fn not_started(error: &HubError) -> ServerError {
    match error {
        HubError::Adapter(error) => error.into(),
        HubError::OnlyDatagrams { .. } => ServerError::settings(error),
        HubError::Store(error) if error.is_damage() => ServerError::system(error),
        HubError::Store(error) => ServerError::system(error).with_help(
            "data (--data) needs a directory that this user can write, and no other hub in it",
        ),
        error => ServerError::system(error),
    }
}

/// Keeps panics to themselves that become an error about the file of the store, which says more to an operator.
fn hush_store() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !floe_hub::is_reading_store() {
                usual(panic);
            }
        }));
    });
}

/// Says that the data of an IceStorm are there, of which a hub reads nothing.
fn tell_of_icestorm(store: &StoreSettings) {
    let StoreSettings::Disk(directory) = store else {
        return;
    };
    if directory.join("data.mdb").exists() && !directory.join("hub.redb").exists() {
        notice::warn(format_args!(
            "warning: {} has the database of an IceStorm, which a hub does not read: create its topics and links again, \
             and let its subscribers subscribe again; docs/guides/operating.md says how",
            directory.display()
        ));
    }
}
