//! SOAP programs: this end is their WS-Notification broker.

mod settings;

pub use settings::Settings;
