//! The origin of a request: what the requests of one connection share.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use floe_wire::encoding::Buffer;
use floe_wire::message::IncomingRequest;

use super::AdapterCore;
use crate::environment::Owner;

/// The connection of a request, as a dispatch sees it.
pub(crate) trait RequestSource: Any + Send + Sync {
    /// Describes the peer, in messages.
    fn peer(&self) -> &str;

    /// Compresses the reply to a request whose caller accepts compression.
    fn compress_reply(&self, request: &IncomingRequest, reply: &mut Buffer);

    /// Lets requests that want this much of the limits count as dispatches until [`RequestSource::release`]. Returns how much
    /// they get: no more than is left. Only a dispatch of this connection may call it.
    fn hold(&self, wanted: usize) -> usize;

    /// Gives back what requests took of the limits.
    fn release(&self, held: usize);

    /// Sends replies to requests whose dispatch has ended. `replies` is empty afterwards.
    fn answer(self: Arc<Self>, replies: &mut Buffer, count: usize);

    /// Returns true if the connection is closed.
    fn is_closed(&self) -> bool;
}

/// The adapter that answers the requests of a connection. It can be replaced.
#[derive(Default)]
pub(crate) struct AdapterSlot {
    /// Without an adapter, each request gets `ObjectNotExist`.
    adapter: RwLock<Option<Weak<AdapterCore>>>,
    /// Changes whenever the adapter is replaced.
    version: AtomicU64,
}

impl AdapterSlot {
    pub(crate) fn new(adapter: Option<Weak<AdapterCore>>) -> Self {
        Self {
            adapter: RwLock::new(adapter),
            version: AtomicU64::new(0),
        }
    }

    pub(crate) fn get(&self) -> Option<Arc<AdapterCore>> {
        let adapter = self.adapter.read().unwrap_or_else(PoisonError::into_inner);
        adapter.as_ref()?.upgrade()
    }

    pub(crate) fn set(&self, adapter: Option<&Arc<AdapterCore>>) {
        let adapter = adapter.map(Arc::downgrade);
        *self.adapter.write().unwrap_or_else(PoisonError::into_inner) = adapter;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Returns true if this is the current adapter.
    pub(crate) fn is(&self, adapter: &Arc<AdapterCore>) -> bool {
        let own = self.adapter.read().unwrap_or_else(PoisonError::into_inner);
        let is_own = |own: &Weak<_>| std::ptr::eq(own.as_ptr(), Arc::as_ptr(adapter));
        own.as_ref().is_some_and(is_own)
    }

    /// A number that differs each time the adapter is replaced.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

/// The origin of a request.
///
/// It keeps the adapter and the communicator alive while requests exist. Between requests they may
/// end.
pub(crate) struct Origin {
    /// `None` if the caller is in the same communicator.
    source: Option<(Arc<dyn RequestSource>, Arc<AdapterSlot>)>,
    adapter: Weak<AdapterCore>,
    /// `None` between two requests.
    owner: Option<(Arc<AdapterCore>, Arc<Owner>)>,
    /// The sender of a datagram.
    sender: Option<String>,
}

impl Origin {
    /// The origin of the requests of a connection; `None` if no adapter answers them.
    pub(crate) fn new(
        source: Arc<dyn RequestSource>,
        slot: &Arc<AdapterSlot>,
        sender: Option<String>,
    ) -> Option<Arc<Self>> {
        let adapter = slot.get()?;
        let owner = adapter.owner()?;
        Some(Arc::new(Self {
            source: Some((source, slot.clone())),
            adapter: Arc::downgrade(&adapter),
            owner: Some((adapter, owner)),
            sender,
        }))
    }

    /// The origin of requests from the same communicator.
    pub(crate) fn collocated(adapter: Arc<AdapterCore>, owner: Arc<Owner>) -> Arc<Self> {
        Arc::new(Self {
            source: None,
            adapter: Weak::new(),
            owner: Some((adapter, owner)),
            sender: None,
        })
    }

    /// Releases its owners. Returns false if the origin cannot be used for another request.
    pub(crate) fn release(self: &mut Arc<Self>) -> bool {
        if self.sender.is_some() {
            return false;
        }
        let Some(own) = Arc::get_mut(self) else {
            return false;
        };
        own.owner = None;
        true
    }

    /// Holds its owners again, for another request. Returns false if they are gone.
    #[inline]
    pub(crate) fn renew(self: &mut Arc<Self>) -> bool {
        if self.owner.is_some() {
            return true;
        }
        let Some(own) = Arc::get_mut(self) else {
            return false;
        };
        own.owner = own.adapter.upgrade().and_then(|adapter| {
            let owner = adapter.owner()?;
            Some((adapter, owner))
        });
        own.owner.is_some()
    }

    pub(crate) fn source(&self) -> Option<&Arc<dyn RequestSource>> {
        self.source.as_ref().map(|(source, _)| source)
    }

    /// Returns true if this is the origin of the connection with this slot.
    #[inline]
    pub(crate) fn is_of(&self, slot: &Arc<AdapterSlot>) -> bool {
        let own = self.source.as_ref();
        own.is_some_and(|(_, own)| Arc::ptr_eq(own, slot))
    }

    pub(crate) fn sender(&self) -> Option<&str> {
        self.sender.as_deref()
    }

    #[inline]
    pub(crate) fn adapter(&self) -> &Arc<AdapterCore> {
        let (adapter, _) = self.owner.as_ref().expect("a request holds its owners");
        adapter
    }

    /// The communicator.
    #[inline]
    pub(crate) fn owner(&self) -> &Arc<Owner> {
        let (_, owner) = self.owner.as_ref().expect("a request holds its owners");
        owner
    }
}
