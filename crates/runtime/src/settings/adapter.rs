//! Settings of one adapter.

use crate::liveness::Liveness;

/// The names of one adapter, and its limits where they differ from those of the communicator.
///
/// ```
/// # async fn run() -> Result<(), floe::AdapterError> {
/// use floe::{AdapterSettings, Communicator, Liveness};
///
/// let communicator = Communicator::new();
/// let mut settings = AdapterSettings::default();
/// settings.connection_limit = Some(1_000);
/// settings.liveness = Some(Liveness::ice_38());
/// let adapter = communicator.adapter_with("tcp -p 4061", settings).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AdapterSettings {
    /// How many accepted connections it may have at a time. Default none; the communicator's limit,
    /// [`Settings::connection_limit`](crate::Settings::connection_limit), holds in any case.
    pub connection_limit: Option<usize>,
    /// The same limit for each address of a peer; sockets of this host count together. Default none.
    pub connection_limit_per_address: Option<usize>,
    /// Heartbeats, idle check and inactivity of the connections that it accepts. Default
    /// [`Settings::incoming`](crate::Settings::incoming).
    #[doc(alias("Adapter.ACM", "Adapter.Connection"))]
    pub liveness: Option<Liveness>,
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
