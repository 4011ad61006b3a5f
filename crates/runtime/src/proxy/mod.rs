//! Proxies: local handles of remote objects.
//!
//! - `call.rs`: typed invocations, as generated proxies make them
//! - `invoke.rs`: untyped ones
//! - `batch.rs`: requests that are collected and sent together
//! - `attempt.rs`: one invocation, with its deadline and its retry
//! - `route.rs`: which connection it takes
//! - `typed.rs`: what all typed proxies have in common

mod attempt;
mod batch;
mod call;
mod invoke;
mod route;
mod typed;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use floe_wire::encoding::{DecodeError, Decoder, Encoder, Nilable};
use floe_wire::message::{BatchWriter, Context};
use floe_wire::reference::Reference;

pub use call::OperationInfo;
pub use typed::TypedProxy;

use crate::communicator::Communicator;
use crate::connection::Connection;
use crate::settings::{EndpointSelection, Settings};

/// Local handle of a remote object, of whatever type. A clone is the same proxy.
///
/// Two proxies are equal if they refer to the same object in the same way; timeouts and contexts,
/// which never travel, do not count.
#[derive(Clone)]
#[doc(alias = "Ice.ObjectPrx")]
pub struct Proxy {
    inner: Arc<Inner>,
}

struct Inner {
    reference: Reference,
    communicator: Option<Communicator>,
    local: Local,
    /// The connection used last. The pool owns it.
    connection: Mutex<Weak<Connection>>,
    /// Requests that wait for a flush.
    batch: Mutex<BatchWriter>,
}

/// What a proxy is told and never tells others.
#[derive(Clone)]
struct Local {
    context: Context,
    timeout: Option<Duration>,
    /// Proxies with different ids use different connections.
    connection_id: Arc<str>,
    /// Whether the connection used last is used again, without a look at the endpoints.
    is_connection_cached: bool,
    selection: EndpointSelection,
    prefer_secure: bool,
}

impl Local {
    fn new(settings: &Settings) -> Self {
        Self {
            context: Context::new(),
            timeout: settings.invocation_timeout,
            connection_id: "".into(),
            is_connection_cached: true,
            selection: settings.endpoint_selection,
            prefer_secure: settings.prefer_secure,
        }
    }
}

impl Proxy {
    pub(crate) fn new(reference: Reference, communicator: Option<Communicator>) -> Self {
        let local = match &communicator {
            Some(communicator) => Local::new(communicator.settings()),
            None => Local::new(&Settings::default()),
        };
        Self::from_parts(reference, communicator, local)
    }

    fn from_parts(reference: Reference, communicator: Option<Communicator>, local: Local) -> Self {
        let inner = Inner {
            reference,
            communicator,
            local,
            connection: Mutex::default(),
            batch: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// What it refers to, and how it asks.
    pub fn reference(&self) -> &Reference {
        &self.inner.reference
    }

    /// The context that is sent with each request.
    pub fn context(&self) -> &Context {
        &self.inner.local.context
    }

    /// How long an invocation waits for its reply; `None` waits for ever.
    pub fn timeout(&self) -> Option<Duration> {
        self.inner.local.timeout
    }

    /// The communicator that it belongs to; none if it was decoded outside of one.
    pub fn communicator(&self) -> Option<&Communicator> {
        self.inner.communicator.as_ref()
    }

    /// The same with another reference.
    #[must_use]
    pub fn with_reference(&self, reference: Reference) -> Self {
        let own = &self.inner.reference;
        let is_same_place = reference.target == own.target
            && reference.secure == own.secure
            && reference.mode.is_datagram() == own.mode.is_datagram();
        let Inner {
            communicator,
            local,
            ..
        } = &*self.inner;
        let other = Self::from_parts(reference, communicator.clone(), local.clone());
        if is_same_place {
            self.share_connection(&other);
        }
        other
    }

    /// The same with other local settings.
    fn with_local(&self, change: impl FnOnce(&mut Local)) -> Self {
        let Inner {
            reference,
            communicator,
            ..
        } = &*self.inner;
        let mut local = self.inner.local.clone();
        change(&mut local);
        let is_same_place = local.connection_id == self.inner.local.connection_id;
        let other = Self::from_parts(reference.clone(), communicator.clone(), local);
        if is_same_place {
            self.share_connection(&other);
        }
        other
    }
}

/// As Ice 3.7 writes it.
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

/// A decoded proxy belongs to the communicator that the decoder knows of.
impl Nilable for Proxy {
    const NIL_WIRE_LEN: usize = Reference::NIL_WIRE_LEN;

    fn encode_nilable(value: Option<&Self>, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(value.map(Self::reference), encoder);
    }

    fn decode_nilable(decoder: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError> {
        let reference = Reference::decode_nilable(decoder)?;
        let communicator = decoder.context().and_then(|context| context.downcast_ref());
        Ok(reference.map(|reference| Self::new(reference, communicator.cloned())))
    }
}
