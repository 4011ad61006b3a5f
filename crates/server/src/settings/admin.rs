//! The administrative object of a hub, as a file describes it.

use floe_hub::AdminSettings;

/// The object, as far as the file has been read. It becomes settings at its end.
#[derive(Debug, Default)]
pub(super) struct Admin {
    /// Where it listens.
    pub(super) listen: Option<String>,
    /// The category of its identity.
    pub(super) instance_name: Option<String>,
    /// The name of the service.
    pub(super) service_name: Option<String>,
}

impl Admin {
    /// The settings without views, if the file says where it listens.
    pub(super) fn finish(self) -> Option<AdminSettings> {
        let mut settings = AdminSettings::new(self.listen?);
        if let Some(name) = self.instance_name {
            settings.instance_name = name;
        }
        if let Some(name) = self.service_name {
            settings.service_name = name;
        }
        Some(settings)
    }
}
