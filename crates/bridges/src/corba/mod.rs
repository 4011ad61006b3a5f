//! CORBA programs: this end is their naming service and their event channels.

mod settings;

pub use settings::Settings;
