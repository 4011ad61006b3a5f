//! Where log lines of the libraries go: standard error, as many as were asked for.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::output;

/// Starts logging. `FLOE_LOG` goes before `RUST_LOG`, either goes before `-v`.
pub(crate) fn start(verbosity: u8) {
    let filter = ["FLOE_LOG", "RUST_LOG"]
        .iter()
        .find_map(|name| EnvFilter::try_from_env(name).ok())
        .unwrap_or_else(|| {
            EnvFilter::new(match verbosity {
                0 => "warn",
                1 => "info",
                2 => "debug",
                _ => "trace",
            })
        });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(output::has_talk_colour())
        .with_target(verbosity > 0)
        .without_time()
        .init();
}
