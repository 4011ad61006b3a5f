//! A log on standard error, for programs that want no other.

use tracing::Level;

/// Writes warnings and errors to standard error from now on, a line each.
///
/// Floe logs with the crate `tracing`. A program that installs a subscriber of its own needs none of this, and keeps its own:
/// the call does nothing then.
pub fn log_to_stderr() {
    // The error says that a subscriber is there.
    let _ = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(Level::WARN)
        .try_init();
}
