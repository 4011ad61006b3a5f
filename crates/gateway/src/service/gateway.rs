//! A gateway as its user sees it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use floe::contracts::ice::RouterFinderDispatcher;
use floe::{Adapter, AdapterSettings, Communicator, IdleCheck};
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
/// Dropping it ends it immediately; [`Gateway::shutdown`] lets requests that wait leave first, and tells the
/// application of the end of each session.
pub struct Gateway {
    sessions: Arc<Sessions>,
    /// Ends sessions that are not used.
    reaping: Option<AbortHandle>,
}

impl Gateway {
    /// Starts a gateway: when it returns, clients may come.
    ///
    /// # Errors
    /// [`GatewayError`] if its settings make no sense, or it cannot listen. It listens nowhere then.
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
        // Dropped if what follows fails.
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

    /// The proxy of the router, as text: what clients have as their `Ice.Default.Router`.
    pub fn router(&self) -> String {
        let identity = router::identity(&self.sessions);
        self.sessions.client_adapter.proxy(identity).to_string()
    }

    /// Where clients connect, as text: several endpoints are separated by colons.
    pub fn client_endpoints(&self) -> String {
        endpoints(&self.sessions.client_adapter)
    }

    /// Where servers call back, as text, if they can.
    pub fn server_endpoints(&self) -> Option<String> {
        self.sessions.server_adapter.as_ref().map(endpoints)
    }

    /// How many sessions there are, and what was counted.
    pub fn status(&self) -> GatewayStatus {
        self.sessions.counters.status(self.sessions.len())
    }

    /// Ends all sessions, and then itself. Requests that wait in queues leave first, and applications are told of the
    /// end of their sessions; both may take a few seconds at most.
    pub async fn shutdown(self) {
        self.sessions.shut_down();
        self.sessions.tasks.close();
        // A task that hangs ends with the communicator.
        let _ = timeout(DRAIN_TIMEOUT, self.sessions.tasks.wait()).await;
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
            // They hold the sessions, which hold the adapter.
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

/// Identity of the finder, whatever the instance is called.
const FINDER: &str = "Ice/RouterFinder";

/// How long requests that wait and sessions of applications may take at the end.
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

/// Drops the connections of silent clients, as Glacier2 does: such a client may be gone and its session unused.
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

/// Ends sessions that are not used for so long.
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
