//! The settings of a running hub, some of which can change.

use std::sync::Arc;

use super::HubSettings;
use crate::lock::RwLock;

/// The settings that a hub started with, and those in force now.
pub(crate) struct LiveSettings {
    /// Names, endpoints and the store follow these until the hub ends.
    at_start: HubSettings,
    /// Queues and timeouts follow these.
    current: RwLock<Arc<HubSettings>>,
}

impl LiveSettings {
    pub(crate) fn new(settings: HubSettings) -> Self {
        Self {
            current: RwLock::new(Arc::new(settings.clone())),
            at_start: settings,
        }
    }

    /// The settings that the hub started with.
    pub(crate) fn at_start(&self) -> &HubSettings {
        &self.at_start
    }

    /// The settings in force now.
    pub(crate) fn current(&self) -> Arc<HubSettings> {
        self.current.read().clone()
    }

    /// Puts other settings in force. Returns the names of the changed fields that take effect only at the next start.
    pub(crate) fn replace(&self, settings: Arc<HubSettings>) -> Vec<&'static str> {
        let pending = self.at_start.fixed_differences(&settings);
        let mut current = self.current.write();
        *current = settings;
        pending
    }
}
