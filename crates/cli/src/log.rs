//! Writes the log lines of the libraries to standard error, from the level that the user asked for.

mod limit;
mod stderr_queue;

use std::fmt;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, reload};

use crate::endpoint::readable;
use crate::output;
use limit::LimitedLines;
pub(crate) use stderr_queue::{finish, start as start_thread, write};

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people, with the time in UTC
    Text,
    /// One JSON object a line, with the time in UTC
    Json,
}

/// The parts of the log that may change after it has started.
struct Started {
    format: Option<LogFormat>,
    /// True if somebody has said how much is logged, other than the configuration.
    is_level_chosen: bool,
    filter: reload::Handle<Targets, Registry>,
}

static STARTED: OnceLock<Started> = OnceLock::new();

/// Starts logging. `FLOE_LOG` goes before `RUST_LOG`, either goes before `-v`.
pub(crate) fn start(verbosity: u8, format: Option<LogFormat>) {
    let wanted = own_filter().or_else(foreign_filter);
    let is_level_chosen = wanted.is_some() || verbosity > 0;
    let filter = wanted.unwrap_or_else(|| {
        self::filter(match verbosity {
            0 => "warn",
            1 => "info",
            2 => "debug",
            _ => "trace",
        })
    });
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(LimitedLines::default())
        .with_ansi(output::has_talk_colour() && format != Some(LogFormat::Json))
        .with_target(verbosity > 0);
    let lines = match format {
        None => lines.without_time().boxed(),
        Some(LogFormat::Text) => lines.boxed(),
        Some(LogFormat::Json) => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_target(true)
            .boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    STARTED.get_or_init(|| Started {
        format,
        is_level_chosen,
        filter: handle,
    });
}

/// Logs from this level on, unless the environment or `-v` has chosen; whether it does.
pub(crate) fn set_level(level: &str) -> bool {
    match STARTED.get() {
        Some(started) if !started.is_level_chosen => started.filter.reload(filter(level)).is_ok(),
        _ => false,
    }
}

/// Says what is as it should be of a program that keeps running: to people, or where its log is for programs, to
/// these, as information.
pub(crate) fn note(text: impl fmt::Display) {
    match STARTED.get().and_then(|started| started.format) {
        Some(LogFormat::Json) => tracing::info!(target: NOTES, "{text}"),
        _ => output::talk(readable(&text.to_string())),
    }
}

/// The target of what is always logged, unless somebody has chosen what is.
const NOTES: &str = "floe_cli::notes";

/// Logs this level and what is above it, and notes, unless it is a level of which only failures are wanted.
fn filter(level: &str) -> Targets {
    let text = match level {
        "off" | "error" => level.to_owned(),
        level => format!("{level},{NOTES}=info"),
    };
    text.parse().unwrap_or_default()
}

/// Says what needs attention of a program that keeps running: to people, or where its log is for programs, to
/// these, as a warning.
pub(crate) fn say(text: impl fmt::Display) {
    match STARTED.get().and_then(|started| started.format) {
        Some(LogFormat::Json) => tracing::warn!("{text}"),
        _ => output::talk(readable(&text.to_string())),
    }
}

/// Reads the filter of `FLOE_LOG`. `RUST_LOG` may mean other programs; this one can only mean us, so what
/// makes no sense is said.
fn own_filter() -> Option<Targets> {
    let text = std::env::var("FLOE_LOG").ok()?;
    if text.trim().is_empty() {
        return None;
    }
    let parsed = text.parse::<Targets>().map_err(|error| error.to_string());
    let filter = match unknown_word(&text) {
        Some(word) => Err(format!("`{word}` is no level")),
        None => parsed,
    };
    filter
        .map_err(|error| {
            output::talk(format_args!(
                "floe: warning: ignored FLOE_LOG=`{text}`: {error}; expected error, warn, info, \
                 debug or trace, for all or as in floe_hub=debug"
            ));
        })
        .ok()
}

/// Reads the filter of `RUST_LOG`, if it makes sense to us.
fn foreign_filter() -> Option<Targets> {
    let text = std::env::var("RUST_LOG").ok();
    text.filter(|text| !text.trim().is_empty())?.parse().ok()
}

/// A word that is taken for the name of a module, of which there is none.
fn unknown_word(text: &str) -> Option<&str> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let mut words = text.split(',').map(str::trim);
    words.find(|word| {
        let is_name = word.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        let is_level = LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        is_name && !is_level && !word.is_empty() && !word.starts_with("floe")
    })
}

#[cfg(test)]
mod tests {
    use super::unknown_word;

    #[test]
    fn a_word_that_is_neither_level_nor_module_is_found() {
        for text in [
            "debug",
            "WARN,floe_hub=trace",
            "floe_wire",
            "tokio=info",
            "3",
            "",
        ] {
            assert_eq!(unknown_word(text), None, "{text}");
        }
        assert_eq!(unknown_word("info, garbage"), Some("garbage"));
    }
}
