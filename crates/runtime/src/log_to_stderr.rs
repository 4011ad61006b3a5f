//! A log on standard error, for programs that want no other.

use tracing::Level;

/// Writes warnings and errors to standard error from now on, a line each.
///
/// Floe logs with the crate `tracing`. If the program has installed a subscriber of its own, the call does nothing.
pub fn log_to_stderr() {
    // It fails if the program has already installed a subscriber.
    let _ = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(Level::WARN)
        .try_init();
}
