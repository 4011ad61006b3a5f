//! Settings of one adapter.

use std::sync::Arc;
use std::time::Duration;

use floe_wire::connection::Liveness;

use super::Settings;

/// The names of one adapter, and its limits where they differ from those of the communicator.
///
/// ```
/// # async fn run() -> Result<(), floe::AdapterError> {
/// use floe::settings::{AdapterSettings, Liveness};
/// use floe::Communicator;
///
/// let communicator = Communicator::new();
/// let mut settings = AdapterSettings::default();
/// settings.connection_limit = Some(1_000);
/// settings.message_size_max = Some(64 * 1024);
/// settings.liveness = Some(Liveness::ice_38());
/// let adapter = communicator.adapter_with("tcp -p 4061", settings).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AdapterSettings {
    /// How many accepted connections it may have at a time. Default none. The communicator's limit,
    /// [`Settings::connection_limit`](crate::Settings::connection_limit), always applies as well.
    pub connection_limit: Option<usize>,
    /// [`connection_limit`](Self::connection_limit) for each address of a peer; sockets of this host count together.
    /// Default none.
    pub connection_limit_per_address: Option<usize>,
    /// Heartbeats, idle check and inactivity of the connections that it accepts. Default
    /// [`Settings::incoming`](crate::Settings::incoming).
    #[doc(alias("Adapter.ACM", "Adapter.Connection"))]
    pub liveness: Option<Liveness>,
    /// Largest message that a peer may send to it, in bytes. Default
    /// [`Settings::message_size_max`](crate::Settings::message_size_max).
    #[doc(alias = "Adapter.MessageSizeMax")]
    pub message_size_max: Option<usize>,
    /// How deeply class instances may be nested in the requests that its servants get. Default
    /// [`Settings::class_graph_depth_max`](crate::Settings::class_graph_depth_max).
    pub class_graph_depth_max: Option<usize>,
    /// How many requests of one of its connections may be in dispatch. Default
    /// [`Settings::dispatch_limit`](crate::Settings::dispatch_limit).
    pub dispatch_limit: Option<usize>,
    /// How many requests of all its connections together may be in dispatch. Default
    /// [`Settings::adapter_dispatch_limit`](crate::Settings::adapter_dispatch_limit).
    pub adapter_dispatch_limit: Option<usize>,
    /// How many bytes may wait to be sent on one of its connections. Default
    /// [`Settings::output_limit`](crate::Settings::output_limit).
    pub output_limit: Option<usize>,
    /// How long the opening of a connection to it may take (TLS, WebSockets). Default
    /// [`Settings::connect_timeout`](crate::Settings::connect_timeout).
    pub connect_timeout: Option<Duration>,
    /// How long a graceful close of its connections may take. Default
    /// [`Settings::close_timeout`](crate::Settings::close_timeout).
    pub close_timeout: Option<Duration>,
    /// The id by which a locator finds the adapter. Its proxies then contain this id instead of endpoints, and
    /// [`Adapter::register`](crate::Adapter::register) registers it with the locator. Default none; an empty id is
    /// none.
    #[doc(alias = "Adapter.AdapterId")]
    pub adapter_id: Option<String>,
    /// The id of a group of adapters with the same objects, which its proxies name instead of its own: a locator picks
    /// the adapter to call. It is ignored without an id. Default none; an empty id is none.
    #[doc(alias = "Adapter.ReplicaGroupId")]
    pub replica_group_id: Option<String>,
}

impl AdapterSettings {
    /// Returns the settings of its communicator. Each one that this adapter sets itself replaces the communicator's.
    pub(crate) fn over(&self, communicator: &Settings) -> Arc<Settings> {
        let mut settings = communicator.clone();
        replace(&mut settings.incoming, &self.liveness);
        replace(&mut settings.message_size_max, &self.message_size_max);
        replace(
            &mut settings.class_graph_depth_max,
            &self.class_graph_depth_max,
        );
        replace(&mut settings.dispatch_limit, &self.dispatch_limit);
        replace(
            &mut settings.adapter_dispatch_limit,
            &self.adapter_dispatch_limit,
        );
        replace(&mut settings.output_limit, &self.output_limit);
        replace(&mut settings.connect_timeout, &self.connect_timeout);
        replace(&mut settings.close_timeout, &self.close_timeout);
        Arc::new(settings)
    }
}

fn replace<T: Clone>(setting: &mut T, own: &Option<T>) {
    if let Some(own) = own {
        *setting = own.clone();
    }
}
