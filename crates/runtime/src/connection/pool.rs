//! Outgoing connections, shared by all proxies with the same endpoint.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use floe_wire::reference::{Endpoint, TcpEndpoint};
use tokio::time::timeout;

use super::{Connection, Failure, Purpose};
use crate::communicator::Communicator;
use crate::error::LocalError;
use crate::transport::tcp;

/// The outgoing connections of a communicator.
#[derive(Default)]
pub(crate) struct Pool {
    slots: Mutex<HashMap<Endpoint, Arc<Slot>>>,
}

/// The connection to one endpoint. The lock is held while connecting, so that callers who come
/// meanwhile share the result.
#[derive(Default)]
struct Slot {
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
}

impl Pool {
    /// The connection to an endpoint: the one that is there, or a new one.
    pub(crate) async fn connection(
        &self,
        endpoint: &Endpoint,
        communicator: &Communicator,
    ) -> Result<Arc<Connection>, Failure> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(endpoint.clone()).or_default().clone()
        };
        let mut connection = slot.connection.lock().await;
        if let Some(connection) = &*connection
            && connection.is_active()
        {
            return Ok(connection.clone());
        }
        let fresh = connect(endpoint, communicator).await?;
        *connection = Some(fresh.clone());
        Ok(fresh)
    }

    /// Lets go of a connection that ended.
    pub(super) fn forget(&self, endpoint: &Endpoint, ended: &Connection) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = slots.get(endpoint).is_some_and(|slot| {
            // A slot that is locked is about to get a new connection.
            let connection = slot.connection.try_lock();
            connection.is_ok_and(|held| {
                held.as_deref()
                    .is_some_and(|held| std::ptr::eq(held, ended))
            })
        });
        if is_it {
            slots.remove(endpoint);
        }
    }
}

async fn connect(
    endpoint: &Endpoint,
    communicator: &Communicator,
) -> Result<Arc<Connection>, Failure> {
    let Endpoint::Tcp(tcp) = endpoint else {
        let wanted = "a tcp endpoint";
        return Err(not_sent(LocalError::NoEndpoint {
            proxy: endpoint.to_string(),
            wanted,
        }));
    };
    let limit = connect_timeout(tcp, communicator);
    let connecting = async {
        let stream = tcp::connect(tcp).await.map_err(|error| {
            not_sent(LocalError::Connect {
                endpoint: endpoint.to_string(),
                source: Arc::new(error),
            })
        })?;
        let connection =
            Connection::start(stream, Purpose::Outgoing(endpoint.clone()), communicator);
        let guard = DropUnlessValidated(Some(&connection));
        connection.validated().await?;
        guard.keep();
        Ok(connection)
    };
    match timeout(limit, connecting).await {
        Ok(result) => result.map_err(|failure: Failure| not_sent(failure.error)),
        Err(_) => Err(not_sent(LocalError::ConnectTimeout {
            endpoint: endpoint.to_string(),
            after: limit,
        })),
    }
}

/// The shorter of the endpoint's timeout and ours.
fn connect_timeout(endpoint: &TcpEndpoint, communicator: &Communicator) -> std::time::Duration {
    let ours = communicator.settings().connect_timeout;
    let theirs = endpoint
        .timeout
        .as_ms()
        .map(|ms| std::time::Duration::from_millis(ms.into()));
    theirs.map_or(ours, |theirs| theirs.min(ours))
}

fn not_sent(error: LocalError) -> Failure {
    Failure {
        error,
        perhaps_dispatched: false,
    }
}

/// Drops a connection that nobody waits for any more before it was validated.
struct DropUnlessValidated<'a>(Option<&'a Arc<Connection>>);

impl DropUnlessValidated<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DropUnlessValidated<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.0 {
            connection.abort("it was not validated in time".to_owned());
        }
    }
}
