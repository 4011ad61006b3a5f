//! Notices to the operator of a server: what it says of itself besides its log, such as a setting that has no effect.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

/// The functions that take notices. By default notices are log lines of `tracing`.
#[derive(Debug, Clone, Copy)]
pub struct Notices {
    /// Takes what is as it should be, such as where metrics are served.
    pub note: fn(&str),
    /// Takes what needs attention.
    pub warn: fn(&str),
    /// Sets the level from which on is logged, such as `info`: a file of settings says it.
    pub set_level: fn(&str),
}

impl Default for Notices {
    fn default() -> Self {
        Self {
            note: |text| tracing::info!("{text}"),
            warn: |text| tracing::warn!("{text}"),
            // A program that embeds a server has chosen its log.
            set_level: |_| (),
        }
    }
}

static NOTICES: OnceLock<Notices> = OnceLock::new();

/// Lets these take the notices of all servers of this process. The first call decides; returns false if another one came
/// before.
pub fn set_notices(notices: Notices) -> bool {
    NOTICES.set(notices).is_ok()
}

fn notices() -> Notices {
    NOTICES.get().copied().unwrap_or_default()
}

/// Says what is as it should be.
pub(crate) fn note(text: impl fmt::Display) {
    (notices().note)(&text.to_string());
}

/// Says what needs attention.
pub(crate) fn warn(text: impl fmt::Display) {
    (notices().warn)(&text.to_string());
}

/// Logs from this level on.
pub(crate) fn set_level(level: &str) {
    (notices().set_level)(level);
}

/// Warns that others can read a file with a secret.
pub fn warn_of_readers(path: &Path) {
    let shown = path.display();
    warn(format_args!(
        "warning: {shown} has secrets, and other users of this computer can read it: chmod go= {shown}"
    ));
}
