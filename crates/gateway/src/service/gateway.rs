//! A gateway, as programs start and stop it.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use floe::contracts::ice::RouterFinderDispatcher;
use floe::settings::{AdapterSettings, IdleCheck};
use floe::{Adapter, Communicator};
use floe_access::Access;
use tokio::task::AbortHandle;
use tokio::time::{interval, timeout};

use super::admin::Admin;
use super::guard::Guard;
use super::measured::MeasuredGateway;
use super::resumption_object::{self, ResumptionObject};
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
    admin: Option<Admin>,
}

/// Shows how a gateway does, for as long as it runs.
#[derive(Clone)]
pub struct GatewayView(Weak<Sessions>);

impl GatewayView {
    /// Returns true if the gateway has not ended.
    pub fn is_running(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// The number of sessions, and the counters. `None` if the gateway has ended.
    pub fn status(&self) -> Option<GatewayStatus> {
        let sessions = self.0.upgrade()?;
        Some(sessions.status())
    }
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
        Self::start_with_access(communicator, settings, Arc::default(), None).await
    }

    /// Starts a gateway that asks rules of access: about each session (`login`), and about each request of a client to a
    /// server (`call`). Refusals are written to the file `audit`, or to the log of the process.
    ///
    /// # Errors
    /// As [`Gateway::start`].
    pub async fn start_with_access(
        communicator: &Communicator,
        settings: GatewaySettings,
        access: Arc<Access>,
        audit: Option<&Path>,
    ) -> Result<Self, GatewayError> {
        check(&settings)?;
        let client = communicator
            .adapter_with(
                &settings.client_listen,
                client_adapter(communicator, &settings),
            )
            .await?;
        let opened = open(communicator, &settings, &client).await;
        let (server, admin) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                client.destroy().await;
                return Err(error);
            }
        };
        // A hub in the same program calls what its subscribers name, and must not call these. The server adapter is there for
        // such calls: it leads to clients.
        client.refuse_given();
        if let Some(admin) = &admin {
            admin.adapter.refuse_given();
        }
        let session_timeout = settings.session_timeout;
        let guard = Guard::new(access, audit);
        let sessions = Sessions::new(
            settings,
            communicator,
            client.clone(),
            server.clone(),
            guard,
        );
        // From here on, an error drops the gateway, and so ends it.
        let mut gateway = Self {
            sessions: sessions.clone(),
            reaping: None,
            admin,
        };
        client.add(router::identity(&sessions), RouterObject(sessions.clone()))?;
        let resumption = ResumptionObject(sessions.clone());
        client.add_facet(
            router::identity(&sessions),
            resumption_object::FACET,
            resumption,
        )?;
        let finder = RouterFinderDispatcher::new(Finder(sessions.clone()));
        client.add(FINDER, finder)?;
        client.add_default("", ToServers(sessions.clone()))?;
        if let Some(server) = &server {
            server.add_default("", ToClients(sessions.clone()))?;
            server.activate();
        }
        if let (Some(admin), Some(settings)) = (&gateway.admin, &sessions.settings.admin) {
            let measured = MeasuredGateway {
                sessions: Arc::downgrade(&sessions),
                instance: sessions.settings.instance_name.as_str().into(),
            };
            admin.activate(measured, settings)?;
        }
        gateway.reaping = session_timeout.map(|timeout| {
            let reaping = reap(Arc::downgrade(&sessions), timeout);
            tokio::spawn(reaping).abort_handle()
        });
        client.activate();
        Ok(gateway)
    }

    /// Puts other rules of access in force, and opens the audit log again. Sessions that the new rules do not allow end.
    pub fn set_access(&self, access: Arc<Access>, audit: Option<&Path>) {
        self.sessions.guard.replace(access, audit);
        self.sessions.end_refused();
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

    /// The proxy of the administrative object, as text, if there is one. Its facet `Process` ends the process,
    /// and its facet `Metrics` gives metrics.
    pub fn admin(&self) -> Option<String> {
        self.admin.as_ref().map(Admin::proxy)
    }

    /// Waits until an operator asks for the end of the process, through the administrative object. From then on the gateway
    /// reads no more requests. The program then
    /// calls [`shutdown`](Self::shutdown). Without such an object, this waits for ever.
    pub async fn end_requested(&self) {
        match &self.admin {
            Some(admin) => admin.end_requested().await,
            None => std::future::pending().await,
        }
    }

    /// Shows how the gateway does.
    pub fn view(&self) -> GatewayView {
        GatewayView(Arc::downgrade(&self.sessions))
    }

    /// The number of sessions, and the counters.
    pub fn status(&self) -> GatewayStatus {
        self.sessions.status()
    }

    /// Ends all sessions, and then the gateway. First it sends the requests that wait in queues, and tells applications
    /// that their sessions have ended. This takes 5 seconds at most. Requests meanwhile are refused with the reason; after
    /// [`end_requested`](Self::end_requested) they get no answer.
    pub async fn shutdown(self) {
        self.sessions.shut_down();
        // A task that still runs after this time ends with the communicator.
        let _ = timeout(DRAIN_TIMEOUT, self.sessions.tasks.ended()).await;
        for adapter in self.adapters() {
            adapter.destroy().await;
        }
    }
}

impl Gateway {
    fn adapters(&self) -> impl Iterator<Item = &Adapter> {
        let admin = self.admin.as_ref().map(|admin| &admin.adapter);
        let server = self.sessions.server_adapter.as_ref();
        [Some(&self.sessions.client_adapter), server, admin]
            .into_iter()
            .flatten()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(reaping) = &self.reaping {
            reaping.abort();
        }
        self.sessions.shut_down();
        for adapter in self.adapters() {
            adapter.deactivate();
            // Break the cycle: the servants hold the sessions, and the sessions hold the adapters.
            adapter.remove_default("");
            adapter.remove(&router::identity(&self.sessions), "");
            adapter.remove(&router::identity(&self.sessions), resumption_object::FACET);
            let finder = FINDER.parse().expect("it has a name");
            adapter.remove(&finder, "");
        }
    }
}

impl std::fmt::Debug for GatewayView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GatewayView").field(&self.status()).finish()
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

/// Opens the adapter for servers and the administrative object, as far as the settings ask for them.
async fn open(
    communicator: &Communicator,
    settings: &GatewaySettings,
    client: &Adapter,
) -> Result<(Option<Adapter>, Option<Admin>), GatewayError> {
    if let Some(published) = &settings.client_published_endpoints {
        client.publish(published)?;
    }
    let server = open_server(communicator, settings).await?;
    let Some(admin) = &settings.admin else {
        return Ok((server, None));
    };
    match Admin::open(communicator, admin).await {
        Ok(admin) => Ok((server, Some(admin))),
        Err(error) => {
            if let Some(server) = server {
                server.destroy().await;
            }
            Err(error)
        }
    }
}

async fn open_server(
    communicator: &Communicator,
    settings: &GatewaySettings,
) -> Result<Option<Adapter>, GatewayError> {
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
