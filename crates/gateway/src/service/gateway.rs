//! A gateway, as programs start and stop it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use floe::contracts::ice::RouterFinderDispatcher;
use floe::settings::{AdapterSettings, IdleCheck};
use floe::{Adapter, Communicator};
use tokio::task::AbortHandle;
use tokio::time::{interval, timeout};

use super::router::{self, Finder, RouterObject};
use super::routing::{ToClients, ToServers};
use super::sessions::Sessions;
use super::status::GatewayStatus;
use crate::error::GatewayError;
use crate::settings::GatewaySettings;

/// A running gateway.
///
/// Dropping it ends it immediately. [`Gateway::shutdown`] first sends the requests that wait in queues, and tells the
/// application that each session has ended.
pub struct Gateway {
    sessions: Arc<Sessions>,
    /// The task that ends unused sessions, if there is a session timeout.
    reaping: Option<AbortHandle>,
}

impl Gateway {
    /// Starts a gateway. When this returns, clients can connect.
    ///
    /// # Errors
    /// [`GatewayError`] if the settings are invalid, or the gateway cannot listen. Then it listens nowhere.
    pub async fn start(
        communicator: &Communicator,
        settings: GatewaySettings,
    ) -> Result<Self, GatewayError> {
        check(&settings)?;
        let client = communicator
            .adapter_with(
                &settings.client_listen,
                client_adapter(communicator, &settings),
            )
            .await?;
        let opened = open(communicator, &settings, &client).await;
        let server = match opened {
            Ok(server) => server,
            Err(error) => {
                client.destroy().await;
                return Err(error);
            }
        };
        let session_timeout = settings.session_timeout;
        let sessions = Sessions::new(settings, communicator, client.clone(), server.clone());
        // From here on, an error drops the gateway, and so ends it.
        let mut gateway = Self {
            sessions: sessions.clone(),
            reaping: None,
        };
        client.add(router::identity(&sessions), RouterObject(sessions.clone()))?;
        let finder = RouterFinderDispatcher::new(Finder(sessions.clone()));
        client.add(FINDER, finder)?;
        client.add_default("", ToServers(sessions.clone()))?;
        if let Some(server) = &server {
            server.add_default("", ToClients(sessions.clone()))?;
            server.activate();
        }
        gateway.reaping = session_timeout.map(|timeout| {
            let reaping = reap(Arc::downgrade(&sessions), timeout);
            tokio::spawn(reaping).abort_handle()
        });
        client.activate();
        Ok(gateway)
    }

    /// The proxy of the router, as text. Clients set it as their `Ice.Default.Router`.
    pub fn router(&self) -> String {
        let identity = router::identity(&self.sessions);
        self.sessions.client_adapter.proxy(identity).to_string()
    }

    /// The endpoints for clients, as text, separated by colons.
    pub fn client_endpoints(&self) -> String {
        endpoints(&self.sessions.client_adapter)
    }

    /// The endpoints at which servers call back, as text, if there are any.
    pub fn server_endpoints(&self) -> Option<String> {
        self.sessions.server_adapter.as_ref().map(endpoints)
    }

    /// The number of sessions, and the counters.
    pub fn status(&self) -> GatewayStatus {
        self.sessions.counters.status(self.sessions.len())
    }

    /// Ends all sessions, and then the gateway. First it sends the requests that wait in queues, and tells applications
    /// that their sessions have ended. This takes 5 seconds at most.
    pub async fn shutdown(self) {
        self.sessions.shut_down();
        // A task that still runs after this time ends with the communicator.
        let _ = timeout(DRAIN_TIMEOUT, self.sessions.tasks.ended()).await;
        self.sessions.client_adapter.destroy().await;
        if let Some(server) = &self.sessions.server_adapter {
            server.destroy().await;
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(reaping) = &self.reaping {
            reaping.abort();
        }
        self.sessions.shut_down();
        let adapters = [
            Some(&self.sessions.client_adapter),
            self.sessions.server_adapter.as_ref(),
        ];
        for adapter in adapters.into_iter().flatten() {
            adapter.deactivate();
            // Break the cycle: the servants hold the sessions, and the sessions hold the adapters.
            adapter.remove_default("");
            adapter.remove(&router::identity(&self.sessions), "");
            let finder = FINDER.parse().expect("it has a name");
            adapter.remove(&finder, "");
        }
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("client_endpoints", &self.client_endpoints())
            .finish_non_exhaustive()
    }
}

/// Identity of the finder. It does not depend on the name of the instance.
const FINDER: &str = "Ice/RouterFinder";

/// How long a shutdown waits for queued requests and for the application.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

fn check(settings: &GatewaySettings) -> Result<(), GatewayError> {
    if settings.instance_name.is_empty() {
        return Err(GatewayError::NoInstanceName);
    }
    if settings.password_verifier.is_none() && settings.certificate_verifier.is_none() {
        return Err(GatewayError::NoVerifier);
    }
    if settings.session_manager.is_some() && settings.password_verifier.is_none() {
        return Err(GatewayError::ManagerWithoutVerifier {
            manager: "session manager",
            verifier: "permissions verifier",
        });
    }
    if settings.certificate_session_manager.is_some() && settings.certificate_verifier.is_none() {
        return Err(GatewayError::ManagerWithoutVerifier {
            manager: "session manager for certificates",
            verifier: "verifier of certificates",
        });
    }
    Ok(())
}

/// Settings of the adapter for clients. It drops the connections of silent clients, as Glacier2 does, because such a
/// client may be gone.
fn client_adapter(communicator: &Communicator, settings: &GatewaySettings) -> AdapterSettings {
    let mut liveness = communicator.settings().incoming.clone();
    let timeout = settings.session_timeout.or(settings.idle_timeout);
    liveness.idle_timeout = timeout.unwrap_or_default();
    liveness.idle_check = match timeout {
        Some(_) => IdleCheck::Always,
        None => IdleCheck::Off,
    };
    let mut adapter = AdapterSettings::default();
    adapter.liveness = Some(liveness);
    adapter
}

async fn open(
    communicator: &Communicator,
    settings: &GatewaySettings,
    client: &Adapter,
) -> Result<Option<Adapter>, GatewayError> {
    if let Some(published) = &settings.client_published_endpoints {
        client.publish(published)?;
    }
    let Some(listen) = &settings.server_listen else {
        return Ok(None);
    };
    let server = communicator.adapter(listen).await?;
    if let Some(published) = &settings.server_published_endpoints
        && let Err(error) = server.publish(published)
    {
        server.destroy().await;
        return Err(error.into());
    }
    Ok(Some(server))
}

/// Ends sessions that have been unused for longer than `timeout`.
async fn reap(sessions: Weak<Sessions>, timeout: Duration) {
    let mut looks = interval((timeout / 4).max(Duration::from_millis(1)));
    loop {
        looks.tick().await;
        match sessions.upgrade() {
            Some(sessions) => sessions.end_unused(timeout),
            None => return,
        }
    }
}

fn endpoints(adapter: &Adapter) -> String {
    let endpoints = adapter.endpoints().iter();
    let texts: Vec<_> = endpoints.map(ToString::to_string).collect();
    texts.join(":")
}
