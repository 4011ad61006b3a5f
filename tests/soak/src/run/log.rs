//! The log of members: warnings, on standard error.

/// Starts logging in a member.
pub(crate) fn start() {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(std::io::stderr)
        .without_time()
        .with_ansi(false)
        .init();
}
