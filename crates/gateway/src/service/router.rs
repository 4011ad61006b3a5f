//! The router object and its finder.
//!
//! The router does not use the generated dispatcher, for two reasons. Exceptions of an application reach the client
//! unchanged, with any type derived from the contract's; and a request without a session closes its connection.

use std::sync::Arc;

use floe::contracts::glacier2::{
    CannotCreateSessionException, CannotCreateSessionOrPermissionDeniedError,
    PermissionDeniedException, SessionNotExistError, SessionNotExistException,
};
use floe::contracts::ice::{RouterFinder, RouterProxy};
use floe::dispatch::{DispatchSlot, Request, Requests, Response};
use floe::encoding::{Encapsulation, ExceptionFormat};
use floe::message::{Outcome, RequestFailed};
use floe::{
    Connection, Current, Dispatcher, Identity, InvokeError, OperationError, OperationMode, Proxy,
    SystemException, TypedProxy,
};

use super::account::AccountFull;
use super::forwarder::Forwarder;
use super::login::{self, Credentials, Refusal};
use super::overload::{NO_MEMORY, going_away, overloaded};
use super::session::{NoRoute, ROUTE_TEXTS, Session};
use super::sessions::Sessions;
use crate::core::text_len;

/// The router object.
pub(super) struct RouterObject(pub(super) Arc<Sessions>);

impl Dispatcher for RouterObject {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| answer(self.0.clone(), request));
    }
}

async fn answer(sessions: Arc<Sessions>, request: Request) -> Result<Response, SystemException> {
    if !request.current().facet().is_empty() {
        return Err(SystemException::FacetNotExist(RequestFailed::default()));
    }
    match request.operation() {
        "createSession" => {
            let (user, password) = request.decode(OperationMode::Normal, |decoder| {
                Ok((decoder.get()?, decoder.get()?))
            })?;
            let credentials = Credentials::Password { user, password };
            create_session(&sessions, request, credentials).await
        }
        "createSessionFromSecureConnection" => {
            request.decode(OperationMode::Normal, |_| Ok(()))?;
            create_session(&sessions, request, Credentials::Certificate).await
        }
        "refreshSession" => refresh_session(&sessions, request).await,
        "destroySession" => {
            request.decode(OperationMode::Normal, |_| Ok(()))?;
            let connection = request.current().connection();
            let has_ended = connection
                .is_some_and(|connection| sessions.end_of(&connection, "the client has ended it"));
            let ended = has_ended.then_some(()).ok_or(NO_SESSION);
            returned::<_, SessionNotExistError>(request, ended)
        }
        "getSessionTimeout" => {
            request.decode(OperationMode::Idempotent, |_| Ok(()))?;
            let timeout = sessions.settings.session_timeout.unwrap_or_default();
            let seconds = i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX);
            request.returned(|encoder| encoder.put(&seconds))
        }
        "getACMTimeout" => {
            request.decode(OperationMode::Idempotent, |_| Ok(()))?;
            let connection = request.current().connection();
            let timeout = connection.map_or_else(Default::default, |connection| {
                connection.liveness().idle_timeout
            });
            let seconds = i32::try_from(timeout.as_secs()).unwrap_or(i32::MAX);
            request.returned(|encoder| encoder.put(&seconds))
        }
        "getCategoryForClient" => {
            request.decode(OperationMode::Idempotent, |_| Ok(()))?;
            let category = match &sessions.server_adapter {
                Some(_) => session_of(&sessions, &request)?.category.clone(),
                None => None,
            };
            request.returned(|encoder| encoder.string(&category.unwrap_or_default()))
        }
        "getClientProxy" => {
            session_of(&sessions, &request)?;
            request.decode(OperationMode::Idempotent, |_| Ok(()))?;
            let is_given = sessions.settings.returns_client_proxy;
            let own = is_given.then(|| sessions.client_adapter.proxy(Identity::new(DUMMY)));
            request.returned(|encoder| {
                encoder.put(&own);
                encoder.tagged(HAS_ROUTING_TABLE, Some(&true));
            })
        }
        "getServerProxy" => {
            let session = session_of(&sessions, &request)?;
            request.decode(OperationMode::Idempotent, |_| Ok(()))?;
            let adapter = sessions.server_adapter.as_ref();
            let proxy = adapter
                .zip(session.category.as_ref())
                .map(|(adapter, category)| adapter.proxy(Identity::with_category(DUMMY, category)));
            request.returned(|encoder| encoder.put(&proxy))
        }
        "addProxies" => add_proxies(&sessions, request).await,
        _ => request.builtin(
            TYPE_ID,
            &["::Glacier2::Router", "::Ice::Object", "::Ice::Router"],
        ),
    }
}

/// Type id of the router.
const TYPE_ID: &str = "::Glacier2::Router";
/// The name in proxies that stand for endpoints. No object has it. Source: observed, glacier2router 3.7.8.
const DUMMY: &str = "dummy";
/// Tag of the second result of `getClientProxy`.
const HAS_ROUTING_TABLE: u32 = 1;
const NO_SESSION: SessionNotExistException = SessionNotExistException {};

/// The identity of the router.
pub(super) fn identity(sessions: &Sessions) -> Identity {
    Identity::with_category("router", &sessions.settings.instance_name)
}

async fn create_session(
    sessions: &Arc<Sessions>,
    request: Request,
    credentials: Credentials,
) -> Result<Response, SystemException> {
    match login::create(sessions, request.current(), credentials).await {
        Ok(session) => request.returned(|encoder| encoder.put(&session)),
        Err(Refusal::Passed(exception)) => request.respond(&Outcome::UserException(exception)),
        Err(Refusal::Denied(reason)) => {
            let refused = Err(PermissionDeniedException { reason });
            returned::<_, CannotCreateSessionOrPermissionDeniedError>(request, refused)
        }
        Err(Refusal::CannotCreate(reason)) => {
            let refused = Err(CannotCreateSessionException { reason });
            returned::<_, CannotCreateSessionOrPermissionDeniedError>(request, refused)
        }
    }
}

async fn refresh_session(
    sessions: &Arc<Sessions>,
    request: Request,
) -> Result<Response, SystemException> {
    request.decode(OperationMode::Normal, |_| Ok(()))?;
    let connection = request.current().connection();
    let session = connection.and_then(|connection| sessions.of(&connection));
    let is_there = match session {
        Some(session) => sessions.refresh(&session).await,
        None => false,
    };
    let refreshed = is_there.then_some(()).ok_or(NO_SESSION);
    returned::<_, SessionNotExistError>(request, refreshed)
}

async fn add_proxies(
    sessions: &Arc<Sessions>,
    request: Request,
) -> Result<Response, SystemException> {
    let session = session_of(sessions, &request)?;
    let parameters = request.parameters();
    let count = proxy_count(&parameters);
    let count_max = sessions.settings.routing_table_max.max(PROXIES_MAX);
    if count > count_max {
        sessions.counters.proxies_refused.add(1);
        let text = format!("expected at most {count_max} proxies at a time, got {count}");
        return Err(SystemException::UnknownException(text));
    }
    // Others run before all are registered, so that several such requests may be at work.
    let taken = session.memory.take(ROUTE_TEXTS * parameters.len());
    let _memory = taken.map_err(|AccountFull| no_memory(sessions))?;
    let proxies: Vec<Option<Proxy>> =
        request.decode(OperationMode::Idempotent, |decoder| decoder.get())?;
    let len_max = sessions.settings.routing_table_bytes;
    let mut lens = Vec::new();
    let mut refused = None;
    for (at, proxy) in proxies.iter().flatten().enumerate() {
        give_way(at).await;
        let reference = proxy.reference();
        let len = text_len(reference);
        if len > len_max || !sessions.address_filter.allows(reference, len) {
            refused = Some(proxy);
            break;
        }
        lens.push(len);
    }
    if let Some(refused) = refused {
        sessions.counters.proxies_refused.add(1);
        tracing::warn!(
            "{:?} at {} may not reach {:?}: its connection is closed",
            session.user,
            request.current().peer(),
            shortened(&refused.to_string())
        );
        session.client().connection.abort();
        return Err(SystemException::ObjectNotExist(RequestFailed::default()));
    }
    let new_forwarder = || {
        Forwarder::new(
            &sessions.settings.to_servers,
            &sessions.counters,
            &session.to_servers_traffic,
            &sessions.tasks,
        )
    };
    let mut evicted: Vec<Option<Proxy>> = Vec::new();
    for (at, (proxy, len)) in proxies.iter().flatten().zip(lens).enumerate() {
        give_way(at).await;
        let (communicator, judge) = (&sessions.communicator, sessions.judge.as_ref());
        let added = session.add_route(proxy.reference(), len, communicator, judge, new_forwarder);
        let gone = added.map_err(|reason| match reason {
            NoRoute::SessionEnded => refuse(sessions, &request),
            NoRoute::NoMemory(AccountFull) => no_memory(sessions),
        })?;
        evicted.extend(gone.into_iter().map(Some));
    }
    sessions.counters.routes_evicted.add(evicted.len());
    request.returned(|encoder| encoder.put(&evicted))
}

/// The number of proxies in the parameters of `addProxies`; 0 if they cannot be read, which shows when they are decoded.
fn proxy_count(parameters: &[u8]) -> usize {
    let encapsulation = Encapsulation::parse(parameters);
    let decoder = encapsulation.and_then(|it| it.decoder());
    let count = decoder.and_then(|mut decoder| decoder.size("proxies"));
    count.unwrap_or_default()
}

fn no_memory(sessions: &Sessions) -> SystemException {
    sessions.counters.memory_full.add(1);
    SystemException::UnknownException(overloaded(NO_MEMORY))
}

/// Lets others run after some of many proxies. A client waits for the answer before it uses them.
async fn give_way(at: usize) {
    if at % PROXIES_AT_A_TIME == PROXIES_AT_A_TIME - 1 {
        tokio::task::yield_now().await;
    }
}

/// The most proxies that a client may register in one request, or those of a routing table if that has room for more.
const PROXIES_MAX: usize = 1000;
/// Proxies that are registered before others run.
const PROXIES_AT_A_TIME: usize = 64;

/// The session of a request.
///
/// # Errors
/// If there is no session, the connection is closed, as in Glacier2.
pub(super) fn session_of(
    sessions: &Sessions,
    request: &Request,
) -> Result<Arc<Session>, SystemException> {
    let connection = request.current().connection();
    if let Some(session) = connection.and_then(|own| sessions.of(&own)) {
        session.touch();
        return Ok(session);
    }
    Err(refuse(sessions, request))
}

/// The beginning of a text that a client has sent, for the log.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Refuses a request without a session, and closes its connection. A gateway that goes away has ended the session, and
/// says so.
fn refuse(sessions: &Sessions, request: &Request) -> SystemException {
    if sessions.is_shutting_down() {
        return SystemException::UnknownException(going_away("it has ended its sessions"));
    }
    sessions.counters.requests_without_session.add(1);
    tracing::debug!(
        "a request without a session, from {}",
        request.current().peer()
    );
    if let Some(connection) = request.current().connection().filter(is_stream) {
        connection.abort();
    }
    SystemException::ObjectNotExist(RequestFailed::default())
}

/// False for datagrams, because the datagrams of all clients come over one connection.
pub(super) fn is_stream(connection: &Connection) -> bool {
    connection.info().transport != "udp"
}

/// Returns nothing, or throws an exception.
fn returned<X, E: OperationError + From<X>>(
    request: Request,
    result: Result<(), X>,
) -> Result<Response, SystemException> {
    request.reply(result.map_err(E::from), ExceptionFormat::Sliced, |(), _| ())
}

/// Finds the router for clients that do not know the name of the instance.
pub(super) struct Finder(pub(super) Arc<Sessions>);

impl RouterFinder for Finder {
    async fn get_router(&self, _current: &Current) -> Result<RouterProxy, InvokeError> {
        let router = self.0.client_adapter.proxy(identity(&self.0));
        Ok(RouterProxy::from_proxy(router))
    }
}
