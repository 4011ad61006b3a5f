//! DDS programs: this end is a participant of their domain.

mod settings;

pub use settings::Settings;
