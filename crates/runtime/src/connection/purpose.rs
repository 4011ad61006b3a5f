//! The purpose for which a connection is made.

use std::sync::{Arc, Weak};

use floe_wire::connection::Role;

use super::pool::PoolKey;
use crate::admission::Admission;
use crate::dispatch::AdapterCore;
use crate::settings::Settings;

/// The direction of a connection, with the values that this direction needs.
pub(crate) struct Purpose {
    pub(super) role: Role,
    pub(super) settings: Arc<Settings>,
    /// Where an outgoing connection leads.
    pub(super) key: Option<PoolKey>,
    /// The adapter that serves requests of the peer.
    pub(super) adapter: Option<Weak<AdapterCore>>,
    /// Its share of the limits on connections.
    pub(super) admission: Option<Admission>,
}

impl Purpose {
    /// To send requests to this endpoint.
    pub(super) fn outgoing(key: PoolKey, settings: Arc<Settings>) -> Self {
        Self {
            role: Role::Client,
            settings,
            key: Some(key),
            adapter: None,
            admission: None,
        }
    }

    /// To serve requests of the peer with this adapter, which admitted the connection and has these settings.
    pub(crate) fn incoming(
        adapter: Weak<AdapterCore>,
        settings: Arc<Settings>,
        admission: Option<Admission>,
    ) -> Self {
        Self {
            role: Role::Server,
            settings,
            key: None,
            adapter: Some(adapter),
            admission,
        }
    }
}
