//! Requests on their way to a server or to a client.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use floe::dispatch::{DispatchSlot, Request, Requests, Response};
use floe::forwarding::{Event, HOPS_KEY};
use floe::message::RequestFailed;
use floe::settings::Compression;
use floe::{
    Context, Current, Dispatcher, Identity, InvocationMode, Proxy, Reference, SystemException,
    TypedProxy,
};

use tokio::sync::oneshot;

use super::account::{AccountFull, Held};
use super::connection_context;
use super::forwarder::Forwarder;
use super::outgoing::{self, COPIED_LEN_MAX, Outgoing};
use super::overload::{NO_MEMORY, overloaded};
use super::resumption::{self, Callback, Resumption};
use super::resumption_object;
use super::router::session_of;
use super::server_link::{Origin, ServerLink};
use super::session::{Route, Session};
use super::sessions::Sessions;
use crate::core::ForwardMode;
use crate::settings::{Batching, ForwardingSettings};

/// Dispatches requests of clients to objects behind the gateway.
pub(super) struct ToServers(pub(super) Arc<Sessions>);

impl Dispatcher for ToServers {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| to_server(self.0.clone(), request));
    }
}

/// Dispatches requests of servers to objects of clients.
pub(super) struct ToClients(pub(super) Arc<Sessions>);

impl Dispatcher for ToClients {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| to_client(self.0.clone(), request));
    }
}

async fn to_server(
    sessions: Arc<Sessions>,
    mut request: Request,
) -> Result<Response, SystemException> {
    let session = session_of(&sessions, &request)?;
    if !session.rates.allow() {
        sessions.counters.rate_exceeded.add(1);
        let text = "too many requests of this user or address";
        return Err(SystemException::UnknownException(overloaded(text)));
    }
    let identity = request.current().identity();
    // Before the filter, as in Glacier2: only the route tells the adapter id, and a client whose object was evicted must
    // be asked to register it again.
    let Some(route) = session.route(&identity) else {
        return Err(SystemException::ObjectNotExist(RequestFailed {
            identity,
            facet: request.current().facet().to_owned(),
            operation: ADD_PROXY.to_owned(),
        }));
    };
    let reference = route.twoway.reference();
    if !session.filter.allows(&identity, reference) {
        sessions.counters.requests_refused.add(1);
        tracing::debug!("{:?} may not call {:?}", session.user, identity.to_string());
        return Err(SystemException::ObjectNotExist(RequestFailed::default()));
    }
    if makes_session_elsewhere(request.current(), request.operation()) {
        sessions.counters.requests_refused.add(1);
        let text = SESSION_FOR_ALL.to_owned();
        return Err(SystemException::UnknownException(text));
    }
    let client = session.client();
    let checked =
        sessions
            .guard
            .check_call(&client.caller, &identity, request.operation(), reference);
    if let Err(refused) = checked {
        sessions.counters.requests_refused.add(1);
        return Err(refused);
    }
    let settings = &sessions.settings.to_servers;
    let routed = RoutedRequest::take(&mut request, settings, &client.connection_entries, &[]);
    let target = route.target(&routed.mode, request.current().facet());
    session.to_servers_traffic.forwarded.add(1);
    sessions.counters.to_servers.add(1);
    sessions.counters.to_servers_bytes.add(routed.event.len());
    let memory = routed.take_memory(&session, &sessions, route.memory_of(&target))?;
    let origin = Some(session.origin.clone());
    let numbers = session.resumption.get().zip(routed.numbers);
    let Some((resumption, (number, floor))) = numbers else {
        return routed
            .forward(request, &route.forwarder, target, memory, origin)
            .await;
    };
    let outgoing = routed.outgoing(target, memory, origin);
    let token = routed.token;
    let forwarder = &route.forwarder;
    let forwarder = forwarder.clone();
    let execute = async move { forwarder.forward(outgoing, token).await };
    let answer = resumption.once(number, floor, execute).await;
    outgoing::respond(request, answer)
}

/// Returns true if a request would create or resume a session with another gateway. All clients of this gateway share
/// its connection to the other gateway. They would therefore share the session, with the rights of the client that made
/// it. Such sessions would also let requests circulate between gateways for ever.
fn makes_session_elsewhere(current: &Current, operation: &str) -> bool {
    let is_router = current.identity().name == "router";
    is_router
        && (operation.starts_with("createSession") || current.facet() == resumption_object::FACET)
}

const SESSION_FOR_ALL: &str = "expected a session with one gateway, got a request for one with another gateway behind it: \
    all clients of this gateway would share that session; connect to the other gateway directly";

/// The operation in an exception that asks the client to register the object.
const ADD_PROXY: &str = "ice_add_proxy";

async fn to_client(
    sessions: Arc<Sessions>,
    mut request: Request,
) -> Result<Response, SystemException> {
    let identity = request.current().identity();
    let session = sessions.of_category(&identity.category);
    let Some(session) = session else {
        sessions.counters.callbacks_refused.add(1);
        return Err(SystemException::ObjectNotExist(RequestFailed::default()));
    };
    let settings = &sessions.settings.to_clients;
    // A client is nobody to show a token to.
    let routed = RoutedRequest::take(&mut request, settings, &Context::new(), &[TOKEN]);
    session.to_client_traffic.forwarded.add(1);
    sessions.counters.to_clients.add(1);
    sessions.counters.to_clients_bytes.add(routed.event.len());
    let memory = routed.take_memory(&session, &sessions, 0)?;
    let link = request.current().connection();
    let link = link.map(|connection| ServerLink::of(&connection));
    // Kept until the request has its answer, or is in a queue if it gets none.
    let (_room, guard) = match &link {
        Some(link) => {
            let taken = link.to_client(&session, routed.len).await;
            let (room, guard) = taken.inspect_err(|_| sessions.counters.queue_full.add(1))?;
            (Some(room), guard)
        }
        None => (None, None),
    };
    let mut forwarding = pin!(async {
        if let Some(resumption) = session.resumption.get() {
            return routed.deliver(request, identity, resumption, memory).await;
        }
        let connection = &session.client().connection;
        let compression = sessions.settings.to_clients.compression_to(connection);
        let object = connection.proxy(identity);
        let facet = request.current().facet();
        let target = changed(&object, &routed.mode, facet, compression);
        routed
            .forward(request, &session.to_client, target, memory, None)
            .await
    });
    // From here on, the forwarder keeps the order.
    let begun = outgoing::poll_once(forwarding.as_mut()).await;
    drop(guard);
    match begun {
        Poll::Ready(response) => response,
        Poll::Pending => forwarding.await,
    }
}

/// A request, and how it is forwarded.
struct RoutedRequest {
    mode: ForwardMode,
    /// The request replaces a queued one with the same token and target.
    token: Option<String>,
    /// The number of the request and the floor of its sender, if they crossed a connection that may break.
    numbers: Option<(u64, u64)>,
    /// The context that is forwarded.
    context: Context,
    event: Event,
    /// Bytes of all texts and parameters that are kept for as long as the request waits.
    len: usize,
}

/// Memory that a request takes besides its texts and parameters, in bytes.
const REQUEST_LEN: usize = 256;

/// The key of the context entry by which a caller says who it is, to hubs that take tokens.
const TOKEN: &str = "floe.token";

/// The key of the context entry that holds the token of a request that overrides others.
const OVERRIDE: &str = "_ovrd";

impl RoutedRequest {
    /// Takes what is forwarded out of a request. The request keeps what its reply needs, in memory of its own: it may
    /// wait for long, and must not keep the whole read buffer alive.
    fn take(
        request: &mut Request,
        settings: &ForwardingSettings,
        entries: &Context,
        withheld: &[&str],
    ) -> Self {
        let event = request.event();
        let mut mode = ForwardMode::of(request.current().is_oneway());
        let mut token = None;
        let mut numbers = None;
        let mut context = Context::new();
        let has_context = outgoing::has_context(&event);
        if has_context {
            context = request.current().context();
            if let Some(letters) = context.get(ForwardMode::KEY) {
                let (asked, unknown) = mode.apply(letters, settings.buffered);
                mode = asked;
                if !unknown.is_empty() {
                    tracing::warn!(
                        "{} asks in _fwd for {unknown:?}, which means nothing",
                        request.current().peer()
                    );
                }
            }
            token = context.get(OVERRIDE).filter(|_| settings.buffered).cloned();
            numbers = resumption::numbers(&context);
            context.remove(resumption::NUMBER);
            context.remove(resumption::FLOOR);
            context.retain(|key, _| !withheld.contains(&key.as_str()));
            if !settings.forward_context {
                // Without its count, an event could go round between hubs on both sides for ever.
                context.retain(|key, _| key == HOPS_KEY);
            }
        }
        if !entries.is_empty() {
            // Servers rely on the entries of this gateway, so the client must not add any of its own.
            context = connection_context::without_forged(context);
            context.extend(entries.clone());
        }
        if settings.buffered && settings.batching == Batching::Always {
            mode = mode.batched();
        }
        let event = match (has_context || !context.is_empty(), settings.buffered) {
            (true, _) => outgoing::with_context(&event, &context),
            // Copy a request that may wait, so that it does not keep the whole read buffer alive.
            (false, true) => event.detached(),
            (false, false) if event.len() <= COPIED_LEN_MAX => event.detached(),
            (false, false) => event,
        };
        request.release_parameters();
        let current = request.current();
        let identity = current.identity();
        let texts = identity.name.len() + identity.category.len() + current.facet().len();
        let token_len = token.as_ref().map_or(0, |token| 2 * token.len());
        let context_len: usize = context.iter().map(|(key, it)| key.len() + it.len()).sum();
        // A request that waits keeps these bytes for its answer.
        let head_len = texts + request.event().len();
        Self {
            len: event.len() + head_len + texts + token_len + context_len,
            mode,
            token,
            numbers,
            context,
            event,
        }
    }

    async fn forward(
        self,
        request: Request,
        forwarder: &Arc<Forwarder>,
        target: Proxy,
        memory: Held,
        origin: Option<Arc<Origin>>,
    ) -> Result<Response, SystemException> {
        let outgoing = self.outgoing(target, memory, origin);
        let answer = forwarder.forward(outgoing, self.token).await;
        outgoing::respond(request, answer)
    }

    fn outgoing(&self, target: Proxy, memory: Held, origin: Option<Arc<Origin>>) -> Outgoing {
        Outgoing {
            target,
            is_compressed: self.mode.is_compressed,
            event: self.event.clone(),
            memory: Some(memory),
            origin,
        }
    }

    /// Takes the memory that the request needs until it has its answer, with that of its target.
    ///
    /// # Errors
    /// There is not enough memory.
    fn take_memory(
        &self,
        session: &Session,
        sessions: &Sessions,
        target_len: usize,
    ) -> Result<Held, SystemException> {
        let taken = session.memory.take(REQUEST_LEN + self.len + target_len);
        taken.map_err(|AccountFull| {
            sessions.counters.memory_full.add(1);
            SystemException::UnknownException(overloaded(NO_MEMORY))
        })
    }

    /// Delivers a request to a client whose connection may break. A oneway request is complete as soon as it is
    /// accepted.
    async fn deliver(
        self,
        request: Request,
        identity: Identity,
        resumption: &Resumption,
        memory: Held,
    ) -> Result<Response, SystemException> {
        let is_twoway = self.mode.mode == InvocationMode::Twoway;
        let (answer, answered) = oneshot::channel();
        resumption.accept(Callback {
            identity,
            facet: request.current().facet().to_owned(),
            is_compressed: self.mode.is_compressed,
            event: self.event.detached(),
            context: self.context,
            len: self.len,
            _memory: memory,
            answer: Mutex::new(is_twoway.then_some(answer)),
        })?;
        let answer = match is_twoway {
            true => answered.await.unwrap_or_else(|_| Err(resumption::ended())),
            false => Ok(None),
        };
        outgoing::respond(request, answer)
    }
}

impl Route {
    /// The object, with the mode and facet of a request.
    fn target(&self, mode: &ForwardMode, facet: &str) -> Proxy {
        let is_plain = facet.is_empty() && !mode.is_secure && !mode.is_compressed;
        match mode.mode {
            InvocationMode::Twoway if is_plain => self.twoway.clone(),
            InvocationMode::Oneway if is_plain => self.oneway().clone(),
            _ => changed(&self.twoway, mode, facet, self.compression),
        }
    }
}

/// Returns the same object with another mode and facet, and with this compression if the mode asks for any.
fn changed(object: &Proxy, mode: &ForwardMode, facet: &str, compression: Compression) -> Proxy {
    let reference = object.reference();
    let is_same = reference.facet == facet
        && reference.mode == mode.mode
        && reference.secure == mode.is_secure;
    let proxy = match is_same {
        true => object.clone(),
        false => object.with_reference(Reference {
            facet: facet.to_owned(),
            mode: mode.mode,
            secure: mode.is_secure,
            ..reference.clone()
        }),
    };
    match mode.is_compressed {
        true => proxy.ice_compression(compression),
        false => proxy,
    }
}
