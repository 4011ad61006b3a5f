//! The names by which a locator finds an adapter.

/// The names by which a locator finds an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdapterNames {
    /// Never empty.
    pub(crate) id: String,
    /// Never empty.
    pub(crate) replica_group_id: Option<String>,
}

impl AdapterNames {
    /// Makes the names. An empty name counts as none, as in Ice, and a replica group without an id
    /// is ignored.
    pub(crate) fn new(id: Option<&str>, replica_group_id: Option<&str>) -> Option<Self> {
        let owned = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self {
            id: owned(id)?,
            replica_group_id: owned(replica_group_id),
        })
    }

    /// The name in its proxies: that of the replica group, or its id.
    pub(crate) fn published(&self) -> &str {
        self.replica_group_id.as_ref().unwrap_or(&self.id)
    }

    /// Returns true if proxies that name this adapter id lead here.
    pub(crate) fn has(&self, adapter_id: &str) -> bool {
        self.id == adapter_id || self.replica_group_id.as_deref() == Some(adapter_id)
    }
}
