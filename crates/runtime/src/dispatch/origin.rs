//! Where a request came from: what the requests of one connection have in common.

use std::sync::{Arc, Weak};

use crate::adapter::AdapterCore;
use crate::communicator::Communicator;
use crate::connection::Connection;

/// The connection of a request, and who dispatches it.
///
/// It goes into each request and comes back with the response, so that the requests of one read share
/// it without counting. Between two reads it keeps nobody alive.
pub(crate) struct Origin {
    /// None for a call from the same communicator.
    connection: Option<Arc<Connection>>,
    /// That of the connection when this was made.
    adapter: Weak<AdapterCore>,
    /// There while a request is.
    owner: Option<(Arc<AdapterCore>, Communicator)>,
    /// Who sent the datagram, for people.
    sender: Option<String>,
}

impl Origin {
    /// That of the requests of a connection; `None` if its adapter or communicator is gone.
    pub(crate) fn new(connection: &Arc<Connection>) -> Option<Arc<Self>> {
        Self::of_sender(connection, connection.sender())
    }

    /// The same for requests of a datagram, if there is a sender: it is not asked for again.
    pub(crate) fn of_sender(
        connection: &Arc<Connection>,
        sender: Option<String>,
    ) -> Option<Arc<Self>> {
        let (adapter, communicator) = connection.owner()?;
        Some(Arc::new(Self {
            connection: Some(connection.clone()),
            adapter: Arc::downgrade(&adapter),
            owner: Some((adapter, communicator)),
            sender,
        }))
    }

    /// That of a call from the same communicator.
    pub(crate) fn here(adapter: Arc<AdapterCore>, communicator: Communicator) -> Arc<Self> {
        Arc::new(Self {
            connection: None,
            adapter: Weak::new(),
            owner: Some((adapter, communicator)),
            sender: None,
        })
    }

    /// Lets go of the owners, if no request needs them any more; false if one does, or if the next
    /// request is another sender's.
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

    /// Finds the owners again, if the connection has no other adapter by now; false if they are gone,
    /// or a request of another read is under way.
    #[inline]
    pub(crate) fn renew(self: &mut Arc<Self>) -> bool {
        if self.owner.is_some() {
            return true;
        }
        let Some(own) = Arc::get_mut(self) else {
            return false;
        };
        own.owner = own.adapter.upgrade().and_then(|adapter| {
            let communicator = adapter.communicator()?;
            Some((adapter, communicator))
        });
        own.owner.is_some()
    }

    pub(crate) fn connection(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref()
    }

    /// Whether it is that of requests of this connection.
    pub(crate) fn is_of(&self, connection: &Arc<Connection>) -> bool {
        let own = self.connection.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, connection))
    }

    /// Who sent the datagram, for people.
    pub(crate) fn sender(&self) -> Option<&str> {
        self.sender.as_deref()
    }

    pub(crate) fn adapter(&self) -> &Arc<AdapterCore> {
        let (adapter, _) = self.owner.as_ref().expect("a request holds its owners");
        adapter
    }

    pub(crate) fn communicator(&self) -> &Communicator {
        let (_, communicator) = self.owner.as_ref().expect("a request holds its owners");
        communicator
    }
}
