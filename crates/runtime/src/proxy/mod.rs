//! Proxies: local handles of remote objects.
//!
//! - `typed.rs`: the trait of all typed proxies
//! - `options.rs`: the local options of a proxy, which are never sent; `compression.rs`: whether its messages are
//!   compressed
//! - `route.rs`: selects the connection of an invocation; `locator.rs`: asks a locator where an object is
//! - `router.rs`: requests that go through a router
//! - `given.rs`: proxies that peers have given, and where they must not lead
//! - `head_cache.rs`: the encoded heads of requests; `operation_info.rs`: a contract's facts about an operation
//! - `secrets.rs`: which proxies may carry secrets
//! - `interface_by_value.rs`: what Ice 3.7 sends for an interface by value
//! - `collected.rs`: requests that a batch proxy has collected
//!
//! `crate::call` makes the calls of a proxy: calls, invocations, events, flushes.

mod collected;
mod compression;
pub(crate) mod given;
mod head_cache;
mod interface_by_value;
mod locator;
mod operation_info;
mod options;
mod route;
pub(crate) mod router;
mod secrets;
mod typed;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use floe_wire::encoding::{Decode, DecodeError, Decoder, Encode, EncodeError, Encoder, Nilable};
use floe_wire::message::{Context, RequestTarget};
use floe_wire::reference::{Identity, ParseReferenceError, Reference, Target};

pub(crate) use collected::{CollectedRequests, FullBatch};
pub use interface_by_value::InterfaceByValue;
pub use operation_info::OperationInfo;
pub(crate) use route::RoutedConnection;
pub use typed::TypedProxy;

use crate::communicator::Communicator;
use crate::connection::{Connection, ConnectionCore};
use crate::error::InvokeError;
use head_cache::HeadCache;
use options::ProxyOptions;
use route::CachedConnection;

/// Local handle of a remote object, of whatever type. A clone is the same proxy.
///
/// Two proxies are equal if they refer to the same object in the same way. Timeouts, contexts and other local options
/// do not count.
#[derive(Clone)]
#[doc(alias = "Ice.ObjectPrx")]
pub struct Proxy {
    pub(crate) inner: Arc<ProxyCore>,
}

pub(crate) struct ProxyCore {
    pub(crate) reference: Arc<Reference>,
    /// The target of each request, encoded on first use.
    pub(crate) target: OnceLock<RequestTarget>,
    /// The encoded heads of requests, one for each operation.
    pub(crate) head_cache: HeadCache,
    pub(crate) communicator: Option<Communicator>,
    pub(crate) options: ProxyOptions,
    /// The longest batch that the proxy sends, in bytes.
    pub(crate) batch_size_max: usize,
    /// The connection used last. The pool owns it.
    pub(crate) cached: Mutex<CachedConnection>,
    /// True once the proxy has used a connection, and so no longer looks for a collocated adapter. Never set if a
    /// locator finds the object.
    pub(crate) is_remote: AtomicBool,
    /// Requests that wait for a flush.
    pub(crate) batch: Mutex<CollectedRequests>,
    /// True once the communicator has listed the proxy as having collected requests.
    pub(crate) is_in_batches: AtomicBool,
}

impl Proxy {
    pub(crate) fn new(reference: Reference, communicator: Option<Communicator>) -> Self {
        let options = ProxyOptions::of(communicator.as_ref());
        Self::from_parts(Arc::new(reference), communicator, options)
    }

    fn from_parts(
        reference: Arc<Reference>,
        communicator: Option<Communicator>,
        options: ProxyOptions,
    ) -> Self {
        let batch_size_max = collected::size_max(&reference, communicator.as_ref());
        let inner = ProxyCore {
            reference,
            target: OnceLock::new(),
            head_cache: HeadCache::default(),
            communicator,
            options,
            batch_size_max,
            cached: Mutex::default(),
            is_remote: AtomicBool::new(false),
            batch: Mutex::default(),
            is_in_batches: AtomicBool::new(false),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    pub(crate) fn from_inner(inner: Arc<ProxyCore>) -> Self {
        Self { inner }
    }

    /// The reference, and the local options.
    pub fn reference(&self) -> &Reference {
        &self.inner.reference
    }

    /// The context that is sent with each request, besides the communicator's.
    pub fn context(&self) -> &Context {
        &self.inner.options.context
    }

    /// How long an invocation waits for its reply; `None` waits for ever.
    pub fn timeout(&self) -> Option<Duration> {
        self.inner.options.timeout
    }

    /// Returns true if calls skip the wire if the object is in the same communicator.
    pub fn is_collocation_optimized(&self) -> bool {
        self.inner.options.is_collocated
    }

    /// Returns true if it is bound to a connection.
    pub fn is_fixed(&self) -> bool {
        self.inner.options.fixed.is_some()
    }

    /// How long a wait for a reply polls before it sleeps.
    pub fn polling(&self) -> Duration {
        self.inner.options.polling
    }

    /// The communicator of the proxy; `None` if it was decoded outside of one.
    pub fn communicator(&self) -> Option<&Communicator> {
        self.inner.communicator.as_ref()
    }

    /// Returns a copy of the proxy with another reference.
    #[must_use]
    pub fn with_reference(&self, reference: Reference) -> Self {
        self.derive(Arc::new(reference), self.inner.options.clone())
    }

    /// Returns a copy of the proxy that is bound to a connection.
    pub(crate) fn with_connection(&self, connection: Arc<ConnectionCore>) -> Self {
        self.with_options(|options| options.fixed = Some(connection))
    }

    fn with_options(&self, change: impl FnOnce(&mut ProxyOptions)) -> Self {
        let mut options = self.inner.options.clone();
        change(&mut options);
        self.derive(self.inner.reference.clone(), options)
    }

    /// Makes a proxy that differs from this one. It shares the connection if it would find the same one.
    fn derive(&self, reference: Arc<Reference>, options: ProxyOptions) -> Self {
        let (own, own_options) = (&self.inner.reference, &self.inner.options);
        let router = |options: &ProxyOptions| options.router.as_ref().map(Arc::as_ptr);
        let judge = |options: &ProxyOptions| {
            let judge = options.judge.as_ref();
            judge.map(|judge| Arc::as_ptr(judge).cast::<()>())
        };
        let is_same_place = reference.target == own.target
            && (reference.identity == own.identity || !self.is_located_by_identity())
            && reference.secure == own.secure
            && reference.mode.is_datagram() == own.mode.is_datagram()
            && options.connection_id == own_options.connection_id
            && options.is_given == own_options.is_given
            && judge(&options) == judge(own_options)
            && router(&options) == router(own_options);
        let other = Self::from_parts(reference, self.inner.communicator.clone(), options);
        if is_same_place {
            *other.lock_cached() = self.lock_cached().clone();
            let is_remote = self.inner.is_remote.load(Ordering::Relaxed);
            other.inner.is_remote.store(is_remote, Ordering::Relaxed);
        }
        other
    }
}

/// The format of Ice 3.7.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.reference.fmt(f)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.inner.reference)
    }
}

impl PartialEq for Proxy {
    fn eq(&self, other: &Self) -> bool {
        self.inner.reference == other.inner.reference
    }
}

impl Eq for Proxy {}

impl Hash for Proxy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.reference.hash(state);
    }
}

impl PartialOrd for Proxy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Proxy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.inner.reference.cmp(&other.inner.reference)
    }
}

/// A decoded proxy belongs to the decoder's communicator.
impl Nilable for Proxy {
    const NIL_WIRE_LEN: usize = Reference::NIL_WIRE_LEN;

    fn encode_nilable(value: Option<&Self>, encoder: &mut Encoder<'_>) {
        if value.is_some_and(Self::is_fixed) {
            return encoder.fail(EncodeError::FixedProxy);
        }
        Reference::encode_nilable(value.map(Self::reference), encoder);
    }

    fn decode_nilable(decoder: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError> {
        let reference = Reference::decode_nilable(decoder)?;
        let communicator = decoder.context().and_then(Communicator::of_context);
        Ok(reference.map(|reference| Self::new(reference, communicator)))
    }
}

/// A proxy where the contract excludes nil: `rust:nonnull`.
impl Encode for Proxy {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Self::encode_nilable(Some(self), encoder);
    }
}

impl Decode for Proxy {
    const MIN_WIRE_LEN: usize = Self::NIL_WIRE_LEN;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::decode_present(decoder)
    }
}

/// Making proxies.
impl Communicator {
    /// Makes a proxy from its stringified form, such as `greeter:tcp -h 127.0.0.1 -p 4061`, with the type that the
    /// caller expects. Nothing is sent: the object may not exist, or may have another type.
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is not a proxy, or is the nil proxy.
    #[doc(alias = "stringToProxy")]
    pub fn proxy<P: TypedProxy>(&self, text: &str) -> Result<P, ParseReferenceError> {
        Ok(P::from_proxy(self.proxy_from(text.parse()?)))
    }

    /// Makes a proxy from a reference.
    pub fn proxy_from(&self, reference: Reference) -> Proxy {
        Proxy::new(reference, Some(self.clone()))
    }

    /// Sends the requests that all batch proxies have collected.
    ///
    /// # Errors
    /// The first failure. The other batches are sent anyway.
    #[doc(alias = "flushBatchRequests")]
    pub async fn flush_batches(&self) -> Result<(), InvokeError> {
        self.core().batches().flush(None).await
    }
}

/// Proxies to objects of the peer.
impl Connection {
    /// A proxy to an object of the peer, bound to this connection. It calls over this connection alone, its invocations
    /// are never retried, and it cannot be sent to a peer.
    #[doc(alias = "createProxy", alias = "ice_fixed")]
    pub fn proxy(&self, identity: Identity) -> Proxy {
        let reference = Reference::new(identity, Target::Direct(Vec::new()));
        Proxy::new(reference, self.communicator()).with_connection(self.core().clone())
    }

    /// Sends the requests that batch proxies have collected, if they would use this connection.
    ///
    /// # Errors
    /// The first failure. The other batches are sent anyway.
    #[doc(alias = "flushBatchRequests")]
    pub async fn flush_batches(&self) -> Result<(), InvokeError> {
        match self.communicator() {
            Some(communicator) => {
                let batches = communicator.core().batches();
                batches.flush(Some(self.core())).await
            }
            None => Ok(()),
        }
    }

    fn communicator(&self) -> Option<Communicator> {
        Communicator::from_owner(self.core().connections()?.owner()?)
    }
}
