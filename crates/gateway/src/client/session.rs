//! A session with a gateway that survives a lost connection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::contracts::glacier2::RouterProxy;
use floe::contracts::ice::RouterProxy as PlainRouterProxy;
use floe::encoding::{Decoder, Encapsulation, Encoder};
use floe::message::Outcome;
use floe::{
    Adapter, AdapterError, Communicator, Connection, EncodingVersion, InvokeError, OperationMode,
    Proxy, SystemException, TypedProxy,
};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::callbacks::Callbacks;
use super::exactly_once::ExactlyOnce;
use crate::core::Outstanding;
use crate::service::{NOT_RESUMED, SESSION_FACET};

/// A session with a gateway that survives a lost connection.
///
/// The client creates a session as usual ([`RouterProxy::create_session`]), and then makes it resumable. If the
/// connection is lost, the session waits at the gateway for a grace period, and this object resumes it over a new
/// connection. Requests through [`routed`](Self::routed) proxies, and requests of servers to objects of
/// [`adapter`](Self::adapter), are executed exactly once: requests that were accepted before the loss are neither lost
/// nor repeated.
///
/// Dropping it does not end the session; [`close`](Self::close) does.
#[derive(Debug)]
pub struct ResumableSession {
    shared: Arc<Shared>,
    /// The task that resumes the session.
    keeping: AbortHandle,
}

/// Why there is no session, or no longer.
#[derive(Clone)]
#[non_exhaustive]
pub enum SessionError {
    /// The gateway does not answer, or refuses.
    Invoke(InvokeError),
    /// The callbacks' adapter cannot be made.
    Adapter(AdapterError),
    /// The router is in this process, or its answer cannot be read.
    BadRouter(String),
    /// The program asks for more than a session has.
    Misused(String),
}

/// The state that the session, its requests and its callbacks share.
pub(super) struct Shared {
    communicator: Communicator,
    router: RouterProxy,
    link: watch::Sender<GatewayLink>,
    token: Mutex<String>,
    grace: Duration,
    pub(super) numbers: Mutex<Outstanding>,
    /// Takes the gateway's requests on each connection, once there is an adapter for them.
    callbacks: Mutex<Option<Adapter>>,
}

/// The connection to the gateway.
#[derive(Debug, Clone)]
pub(super) enum GatewayLink {
    Up(Connection),
    Down,
    /// The session has ended, for this reason.
    Lost(Arc<str>),
}

impl ResumableSession {
    /// Makes the session that this router has for its current connection resumable. `grace` is how long the session may
    /// wait for this client; the gateway may allow less.
    ///
    /// # Errors
    /// There is no session, or the router is not one of Floe.
    pub async fn open(
        communicator: &Communicator,
        router: &RouterProxy,
        grace: Duration,
    ) -> Result<Self, SessionError> {
        let router = router.ice_router(None);
        let connection = router.ice_connection().await?;
        let connection = connection.ok_or_else(|| {
            SessionError::BadRouter("expected a router in another process".to_owned())
        })?;
        let wanted = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
        let (token, grace) = ask(
            &router.ice_fixed(&connection),
            "open",
            |encoder| encoder.put(&wanted),
            |decoder| {
                let token: String = decoder.get()?;
                let grace: i64 = decoder.get()?;
                Ok((token, grace))
            },
        )
        .await?;
        let shared = Arc::new(Shared {
            communicator: communicator.clone(),
            router,
            link: watch::Sender::new(GatewayLink::Up(connection)),
            token: Mutex::new(token),
            grace: Duration::from_millis(u64::try_from(grace).unwrap_or(0)),
            numbers: Mutex::default(),
            callbacks: Mutex::default(),
        });
        let keeping = tokio::spawn(keep(shared.clone())).abort_handle();
        Ok(Self { shared, keeping })
    }

    /// Returns a proxy to the same object that calls it through this session. Each invocation is executed exactly once,
    /// even if the connection is lost meanwhile. A oneway invocation returns as soon as the gateway has accepted it.
    pub fn routed<P: TypedProxy>(&self, proxy: &P) -> P {
        let router = self.shared.router.as_proxy();
        let routed = proxy.ice_router(Some(router));
        routed.ice_intercepted(ExactlyOnce(self.shared.clone()))
    }

    /// Lets servers call the objects of a new adapter through this session. Give the objects the category that
    /// [`RouterProxy::get_category_for_client`] returns. Each request is dispatched exactly once.
    ///
    /// # Errors
    /// The gateway has no server endpoints, or does not answer; or the session has its adapter already.
    pub async fn adapter(&self) -> Result<Adapter, SessionError> {
        if lock(&self.shared.callbacks).is_some() {
            let text = "the session has its adapter already";
            return Err(SessionError::Misused(text.to_owned()));
        }
        let communicator = &self.shared.communicator;
        let plain = PlainRouterProxy::from(self.shared.router.clone());
        // Its endpoints are those of the gateway. The objects are called by the adapter for callbacks below.
        let adapter = communicator.adapter_with_router(&plain).await?;
        adapter.activate();
        let callbacks = communicator.adapter_without_endpoints().await?;
        callbacks.add_default("", Callbacks::new(adapter.clone()))?;
        callbacks.activate();
        *lock(&self.shared.callbacks) = Some(callbacks.clone());
        if let GatewayLink::Up(connection) = &*self.shared.link.borrow() {
            connection.set_adapter(Some(&callbacks));
        }
        Ok(adapter)
    }

    /// Returns true if there is a connection to the gateway now.
    pub fn is_connected(&self) -> bool {
        matches!(*self.shared.link.borrow(), GatewayLink::Up(_))
    }

    /// Waits until the session has ended for good. Returns the reason.
    pub async fn lost(&self) -> String {
        let mut link = self.shared.link.subscribe();
        let lost = link
            .wait_for(|link| matches!(link, GatewayLink::Lost(_)))
            .await;
        match lost.as_deref() {
            Ok(GatewayLink::Lost(reason)) => reason.to_string(),
            _ => std::future::pending().await,
        }
    }

    /// Ends the session at the gateway.
    ///
    /// # Errors
    /// The gateway does not answer, or has ended it.
    pub async fn close(self) -> Result<(), SessionError> {
        self.keeping.abort();
        let ended = self.shared.router.destroy_session().await;
        self.shared
            .link
            .send_replace(GatewayLink::Lost("the session was closed".into()));
        ended.map_err(|error| SessionError::BadRouter(error.to_string()))
    }
}

impl Drop for ResumableSession {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

impl Shared {
    pub(super) fn subscribe(&self) -> watch::Receiver<GatewayLink> {
        self.link.subscribe()
    }

    /// Resumes the session over a new connection.
    async fn resume(&self) -> Result<Connection, SessionError> {
        let connection = self.router.ice_connection().await?;
        let connection = connection
            .ok_or_else(|| SessionError::BadRouter("the router is in this process".to_owned()))?;
        // Before the session is there, so that the first callback finds its adapter.
        connection.set_adapter(lock(&self.callbacks).as_ref());
        let router = self.router.ice_fixed(&connection);
        let token = lock(&self.token).clone();
        let next = ask(
            &router,
            "resume",
            |encoder| encoder.string(&token),
            |decoder| decoder.get::<String>(),
        )
        .await?;
        lock(&self.token).clone_from(&next);
        let confirm = |encoder: &mut Encoder<'_>| encoder.string(&next);
        ask(&router, "confirm", confirm, |_| Ok(())).await?;
        Ok(connection)
    }
}

/// Reconnects whenever the connection is lost, until the session has ended.
async fn keep(shared: Arc<Shared>) {
    let GatewayLink::Up(mut connection) = shared.link.borrow().clone() else {
        return;
    };
    loop {
        connection.closed().await;
        shared.link.send_replace(GatewayLink::Down);
        let deadline = Instant::now() + shared.grace;
        let mut wait = FIRST_WAIT;
        connection = loop {
            match shared.resume().await {
                Ok(connection) => break connection,
                Err(error) if error.is_final() || Instant::now() >= deadline => {
                    tracing::info!("the session with the gateway is lost: {error}");
                    shared
                        .link
                        .send_replace(GatewayLink::Lost(error.to_string().into()));
                    return;
                }
                Err(error) => tracing::debug!("the gateway cannot be reached yet: {error}"),
            }
            sleep(wait).await;
            wait = (wait * 2).min(WAIT_MAX);
        };
        shared
            .link
            .send_replace(GatewayLink::Up(connection.clone()));
    }
}

/// The wait after the first attempt to come back, which doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// The longest wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Calls an operation of the gateway for sessions.
async fn ask<T>(
    router: &RouterProxy,
    operation: &str,
    encode: impl FnOnce(&mut Encoder<'_>),
    decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, floe::DecodeError>,
) -> Result<T, SessionError> {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, encode);
    let unreadable = |error: &dyn fmt::Display| SessionError::BadRouter(error.to_string());
    encoder.finish().map_err(|error| unreadable(&error))?;
    let object: Proxy = router.as_proxy().ice_facet(SESSION_FACET);
    let invoked = object
        .invoke(operation, OperationMode::Normal, &parameters)
        .await?;
    let Some(Outcome::Returned(bytes)) = invoked else {
        return Err(SessionError::BadRouter("expected results".to_owned()));
    };
    let encapsulation = Encapsulation::parse(&bytes).map_err(|error| unreadable(&error))?;
    let mut decoder = encapsulation
        .decoder()
        .map_err(|error| unreadable(&error))?;
    decode(&mut decoder).map_err(|error| unreadable(&error))
}

impl SessionError {
    /// Returns true if the gateway has said that the session is gone.
    fn is_final(&self) -> bool {
        match self {
            Self::Invoke(InvokeError::System(SystemException::UnknownException(text))) => {
                text.starts_with(NOT_RESUMED)
            }
            Self::Invoke(InvokeError::System(_)) | Self::BadRouter(_) => true,
            _ => false,
        }
    }
}

/// The text of `Display`: `main` prints the error that it returns in this form.
impl fmt::Debug for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invoke(error) => error.fmt(f),
            Self::Adapter(error) => error.fmt(f),
            Self::BadRouter(reason) => write!(f, "the router is of no use: {reason}"),
            Self::Misused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<InvokeError> for SessionError {
    fn from(error: InvokeError) -> Self {
        Self::Invoke(error)
    }
}

impl From<AdapterError> for SessionError {
    fn from(error: AdapterError) -> Self {
        Self::Adapter(error)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("router", &self.router)
            .finish_non_exhaustive()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
