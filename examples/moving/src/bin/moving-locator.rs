//! A locator: knows where adapters are, because they tell it.
//!
//! Usage: `moving-locator [ENDPOINT]`

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use floe::contracts::ice::{
    AdapterAlreadyActiveOrAdapterNotFoundError,
    AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError, AdapterNotFoundError,
    AdapterNotFoundException, InvalidReplicaGroupIdException, Locator, LocatorDispatcher,
    LocatorRegistry, LocatorRegistryDispatcher, LocatorRegistryProxy, ObjectNotFoundError,
    ObjectNotFoundException, ProcessProxy, ServerNotFoundError, ServerNotFoundException,
};
use floe::{Communicator, Current, Identity, InvokeError, Proxy, TypedProxy};

/// Where each adapter is.
#[derive(Default)]
struct Book(Mutex<HashMap<String, Proxy>>);

impl Book {
    fn places(&self) -> MutexGuard<'_, HashMap<String, Proxy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the questions of clients.
impl Locator for Book {
    async fn find_adapter_by_id(
        &self,
        id: String,
        _: &Current,
    ) -> Result<Option<Proxy>, AdapterNotFoundError> {
        let place = self.places().get(&id).cloned();
        Ok(Some(place.ok_or(AdapterNotFoundException {})?))
    }

    /// Adapters do not tell which objects they have.
    async fn find_object_by_id(
        &self,
        _: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, ObjectNotFoundError> {
        Err(ObjectNotFoundException {}.into())
    }

    async fn get_registry(
        &self,
        current: &Current,
    ) -> Result<Option<LocatorRegistryProxy>, InvokeError> {
        let registry = current.adapter().proxy(Identity::new("registry"));
        Ok(Some(LocatorRegistryProxy::from_proxy(registry)))
    }
}

/// Takes the reports of adapters.
impl LocatorRegistry for Book {
    async fn set_adapter_direct_proxy(
        &self,
        id: String,
        place: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundError> {
        match place {
            Some(place) => {
                println!("{id} is at {place}");
                self.places().insert(id, place);
            }
            None => {
                println!("{id} is away");
                self.places().remove(&id);
            }
        }
        Ok(())
    }

    async fn set_replicated_adapter_direct_proxy(
        &self,
        _: String,
        _: String,
        _: Option<Proxy>,
        _: &Current,
    ) -> Result<(), AdapterAlreadyActiveOrAdapterNotFoundOrInvalidReplicaGroupIdError> {
        Err(InvalidReplicaGroupIdException {}.into())
    }

    async fn set_server_process_proxy(
        &self,
        _: String,
        _: Option<ProcessProxy>,
        _: &Current,
    ) -> Result<(), ServerNotFoundError> {
        Err(ServerNotFoundException {}.into())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("moving-locator: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4068");

    let communicator = Communicator::new();
    communicator.shutdown_on_signals()?;
    let adapter = communicator.adapter(endpoint).await?;
    let book = Arc::new(Book::default());
    let locator = adapter.add("locator", LocatorDispatcher::new(book.clone()))?;
    adapter.add("registry", LocatorRegistryDispatcher::new(book))?;
    adapter.activate();
    println!("ready {locator}");

    communicator.wait_for_shutdown().await;
    Ok(())
}
