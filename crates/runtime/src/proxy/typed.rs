//! The trait of all typed proxies.

use std::future::Future;
use std::time::Duration;

use floe_wire::compression::Compression;
use floe_wire::encoding::{Encoder, EncodingVersion};
use floe_wire::message::{Context, OperationMode, SystemException};
use floe_wire::reference::{Identity, InvocationMode, Reference};

use super::options::ProxyOptions;
use super::{OperationInfo, Proxy};
use crate::connection::Connection;
use crate::error::InvokeError;
use crate::invoker::Interceptor;
use crate::settings::EndpointSelection;

/// A proxy with a static type. Its methods begin with `ice_`, which no Slice name does, so they never hide an
/// operation.
pub trait TypedProxy: Clone + Send + Sync + Sized {
    /// Type id of the interface: `::Module::Name`.
    const TYPE_ID: &'static str;

    /// Gives an untyped proxy this type, unchecked.
    #[doc(alias = "uncheckedCast")]
    fn from_proxy(proxy: Proxy) -> Self;

    /// The untyped proxy.
    fn as_proxy(&self) -> &Proxy;

    /// Returns a proxy whose requests get a reply.
    #[must_use]
    fn ice_twoway(&self) -> Self {
        self.ice_mode(InvocationMode::Twoway)
    }

    /// Returns a proxy whose requests get no reply.
    #[must_use]
    fn ice_oneway(&self) -> Self {
        self.ice_mode(InvocationMode::Oneway)
    }

    /// Returns a proxy that collects requests until [`TypedProxy::ice_flush_batch`].
    #[must_use]
    fn ice_batch_oneway(&self) -> Self {
        self.ice_mode(InvocationMode::BatchOneway)
    }

    /// Returns a proxy that sends requests in datagrams. It does not learn whether they arrive.
    #[must_use]
    fn ice_datagram(&self) -> Self {
        self.ice_mode(InvocationMode::Datagram)
    }

    /// Returns a proxy that collects requests until [`TypedProxy::ice_flush_batch`], and sends them in datagrams.
    #[must_use]
    fn ice_batch_datagram(&self) -> Self {
        self.ice_mode(InvocationMode::BatchDatagram)
    }

    /// Returns a proxy with another invocation mode.
    #[must_use]
    fn ice_mode(&self, mode: InvocationMode) -> Self {
        self.ice_changed(|reference| reference.mode = mode)
    }

    /// Returns a proxy to another facet of the object; empty for the default facet.
    #[must_use]
    fn ice_facet(&self, facet: &str) -> Self {
        self.ice_changed(|reference| facet.clone_into(&mut reference.facet))
    }

    /// Returns a proxy to another object at the same endpoints.
    #[must_use]
    fn ice_identity(&self, identity: Identity) -> Self {
        self.ice_changed(|reference| reference.identity = identity)
    }

    /// Returns a proxy that encodes parameters in another version.
    #[must_use]
    #[doc(alias = "ice_encodingVersion")]
    fn ice_encoding(&self, encoding: EncodingVersion) -> Self {
        self.ice_changed(|reference| reference.encoding = encoding)
    }

    /// Returns a proxy that sends this context with each request, instead of its former context. Entries of the
    /// communicator's context are added, unless their key is present. For the context of a single call, make the call
    /// on the returned proxy: it shares the connection.
    #[must_use]
    fn ice_context(&self, context: Context) -> Self {
        with(self, |options| options.context = context)
    }

    /// Returns a proxy whose calls wait no longer than this for a reply; `None` waits for ever.
    #[must_use]
    #[doc(alias = "ice_invocationTimeout")]
    fn ice_timeout(&self, timeout: Option<Duration>) -> Self {
        with(self, |options| options.timeout = timeout)
    }

    /// Returns a proxy with another limit on how long a wait for a reply polls before it sleeps: see
    /// [`Settings::polling`](crate::Settings). If calls share a connection, the limit of the latest call holds.
    #[must_use]
    fn ice_polling(&self, polling: Duration) -> Self {
        with(self, |options| options.polling = polling)
    }

    /// Returns a proxy that uses only encrypted endpoints, or any.
    #[must_use]
    fn ice_secure(&self, secure: bool) -> Self {
        self.ice_changed(|reference| reference.secure = secure)
    }

    /// Returns a proxy that tries encrypted endpoints first, or last.
    #[must_use]
    fn ice_prefer_secure(&self, prefer_secure: bool) -> Self {
        with(self, |options| options.prefer_secure = prefer_secure)
    }

    /// Returns a proxy that tries its endpoints in another order.
    #[must_use]
    fn ice_endpoint_selection(&self, selection: EndpointSelection) -> Self {
        with(self, |options| options.selection = selection)
    }

    /// Returns a proxy that uses another router, or none: the proxy of an `Ice::Router`, such as a Glacier2. Such
    /// a router needs a session before the first request. Requests go over the router's own connection: if its proxy has
    /// a connection id, over the connection with that id, whose session may be another one than that of other ids.
    #[must_use]
    fn ice_router(&self, router: Option<&Proxy>) -> Self {
        Self::from_proxy(self.as_proxy().with_router(router))
    }

    /// Returns a proxy with another connection id: proxies share a connection only if their ids are equal. The default
    /// is the empty id.
    #[must_use]
    fn ice_connection_id(&self, id: &str) -> Self {
        with(self, |options| options.connection_id = id.into())
    }

    /// Returns a proxy with or without a cached connection. With one, the default, it keeps using its last connection.
    /// Without one, each invocation selects an endpoint anew, which spreads requests over all endpoints.
    #[must_use]
    fn ice_connection_cached(&self, is_cached: bool) -> Self {
        with(self, |options| options.is_connection_cached = is_cached)
    }

    /// Returns a proxy for which a cached answer of the locator is valid for this time. Zero asks for each new
    /// connection, and `None` keeps the answer until a connection fails. Proxies with endpoints do not use a locator.
    #[must_use]
    #[doc(alias = "ice_locatorCacheTimeout")]
    fn ice_locator_cache_timeout(&self, timeout: Option<Duration>) -> Self {
        with(self, |options| options.locator_cache_timeout = timeout)
    }

    /// Returns a proxy whose calls skip the wire, or do not, if the object is in the same communicator.
    #[must_use]
    #[doc(alias = "ice_collocationOptimized")]
    fn ice_collocation_optimized(&self, is_optimized: bool) -> Self {
        with(self, |options| options.is_collocated = is_optimized)
    }

    /// Returns a proxy with one more interceptor around each invocation, inside the present ones.
    #[must_use]
    fn ice_intercepted(&self, interceptor: impl Interceptor) -> Self {
        with(self, |options| options.interceptors.push(interceptor))
    }

    /// Returns a proxy that uses this connection and no other: see
    /// [`Connection::proxy`](crate::Connection::proxy).
    #[must_use]
    fn ice_fixed(&self, connection: &Connection) -> Self {
        Self::from_proxy(self.as_proxy().with_connection(connection.core().clone()))
    }

    /// The connection of the next invocations, which is made if there is none; `None` for an object of the same
    /// communicator.
    #[doc(alias = "ice_getConnection")]
    fn ice_connection(
        &self,
    ) -> impl Future<Output = Result<Option<Connection>, InvokeError>> + Send {
        self.as_proxy().connect_and_get()
    }

    /// The last connection, if it is still open.
    #[doc(alias = "ice_getCachedConnection")]
    fn ice_cached_connection(&self) -> Option<Connection> {
        self.as_proxy().cached_connection().map(Connection::new)
    }

    /// Returns a proxy whose requests are compressed, or are not. By default its endpoint decides (`-z`). Short
    /// messages are never compressed. The communicator's settings may override it.
    #[must_use]
    fn ice_compress(&self, is_compressed: bool) -> Self {
        with(self, |options| options.compress.is_on = Some(is_compressed))
    }

    /// Returns a proxy that uses this compression if the peer takes it, and bzip2 otherwise. A peer takes what its adapter
    /// offers ([`Settings::compressions`](crate::Settings::compressions)), and what it has asked for in replies on the same
    /// connection. A proxy with a router uses what the router takes.
    #[must_use]
    fn ice_compression(&self, compression: Compression) -> Self {
        with(self, |options| {
            options.compress.is_on = Some(true);
            options.compress.compression = compression;
        })
    }

    /// Returns a proxy that compresses requests from this many bytes on, header included. The default is
    /// [`Settings::compress_len_min`](crate::Settings::compress_len_min).
    #[must_use]
    fn ice_compress_from(&self, len_min: usize) -> Self {
        with(self, |options| options.compress.len_min = Some(len_min))
    }

    /// Sends the requests that this batch proxy has collected.
    fn ice_flush_batch(&self) -> impl Future<Output = Result<(), InvokeError>> + Send {
        self.as_proxy().flush_batch()
    }

    /// Checks that the object can be reached.
    fn ice_ping(&self) -> impl Future<Output = Result<(), InvokeError>> + Send {
        const PING: OperationInfo = OperationInfo::new("ice_ping", OperationMode::BUILTIN, false);
        self.as_proxy()
            .call(&PING, |_| (), |decoder| decoder.nothing())
    }

    /// Asks the object whether it has this type.
    fn ice_is_a(&self, type_id: &str) -> impl Future<Output = Result<bool, InvokeError>> + Send {
        const IS_A: OperationInfo = OperationInfo::new("ice_isA", OperationMode::BUILTIN, true);
        async move {
            let encode = |encoder: &mut Encoder<'_>| encoder.string(type_id);
            let call = self.as_proxy().call(&IS_A, encode, |decoder| decoder.get());
            call.await
        }
    }

    /// The most derived type of the object.
    fn ice_id(&self) -> impl Future<Output = Result<String, InvokeError>> + Send {
        const ID: OperationInfo = OperationInfo::new("ice_id", OperationMode::BUILTIN, true);
        self.as_proxy().call(&ID, |_| (), |decoder| decoder.get())
    }

    /// All types of the object, sorted.
    fn ice_ids(&self) -> impl Future<Output = Result<Vec<String>, InvokeError>> + Send {
        const IDS: OperationInfo = OperationInfo::new("ice_ids", OperationMode::BUILTIN, true);
        self.as_proxy().call(&IDS, |_| (), |decoder| decoder.get())
    }

    /// Converts a proxy to this type after asking the object whether it has the type; `None` if it does not, or if it
    /// lacks the facet.
    ///
    /// # Errors
    /// [`InvokeError`] if the object did not answer.
    #[doc(alias = "checkedCast")]
    fn checked(
        proxy: impl TypedProxy,
    ) -> impl Future<Output = Result<Option<Self>, InvokeError>> + Send {
        async move {
            match proxy.ice_is_a(Self::TYPE_ID).await {
                Ok(true) => Ok(Some(Self::from_proxy(proxy.as_proxy().clone()))),
                Ok(false) | Err(InvokeError::System(SystemException::FacetNotExist(_))) => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// Returns a copy of the proxy with a changed reference.
    #[doc(hidden)]
    #[must_use]
    fn ice_changed(&self, change: impl FnOnce(&mut Reference)) -> Self {
        let proxy = self.as_proxy();
        let mut reference = proxy.reference().clone();
        change(&mut reference);
        Self::from_proxy(proxy.with_reference(reference))
    }
}

/// Returns the proxy with changed local options.
fn with<P: TypedProxy>(proxy: &P, change: impl FnOnce(&mut ProxyOptions)) -> P {
    P::from_proxy(proxy.as_proxy().with_options(change))
}

impl TypedProxy for Proxy {
    const TYPE_ID: &'static str = "::Ice::Object";

    fn from_proxy(proxy: Proxy) -> Self {
        proxy
    }

    fn as_proxy(&self) -> &Proxy {
        self
    }
}
