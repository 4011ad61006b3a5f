//! Takes the reserve of the disk again when there is room.

use std::sync::Weak;
use std::time::Duration;

use super::registry::Registry;
use crate::blocking_work::{self, WorkKind};

/// How often it looks. It costs a question to the file system.
const INTERVAL: Duration = Duration::from_secs(10);

/// Looks until the registry is gone.
pub(super) async fn watch(registry: Weak<Registry>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(own) = registry.upgrade() else {
            return;
        };
        let look = move || drop(own.storage_problems());
        // If the runtime is shutting down, nobody needs the reserve.
        let _ = blocking_work::run(WorkKind::Maintenance, look).await;
    }
}
