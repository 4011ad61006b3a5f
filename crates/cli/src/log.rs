//! Writes the log lines of the libraries to standard error, from the level that the user asked for.

mod limit;
mod stderr_queue;

use std::fmt;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
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
    let lines = layer(format, LimitedLines::default(), verbosity);
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

/// Writes log lines in this format.
fn layer<S, W>(
    format: Option<LogFormat>,
    writer: W,
    verbosity: u8,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(output::has_talk_colour() && format != Some(LogFormat::Json))
        .with_target(verbosity > 0);
    // One line stays one line: JSON escapes by itself what peers have sent.
    let fields = debug_fn(write_field).delimited(" ");
    match format {
        None => lines.fmt_fields(fields).without_time().boxed(),
        Some(LogFormat::Text) => lines.fmt_fields(fields).boxed(),
        Some(LogFormat::Json) => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_target(true)
            .boxed(),
    }
}

/// Writes a field of a log line. Text of a peer may be in it, such as the reason of an exception: what would end the line, or
/// what a terminal would obey, is escaped here for all log lines.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = output::escaped_line(&value);
    match field.name() {
        "message" => write!(writer, "{value}"),
        name => write!(
            writer,
            "{}={value}",
            name.strip_prefix("r#").unwrap_or(name)
        ),
    }
}

/// Logs from this level on, unless the environment or `-v` has chosen.
pub(crate) fn set_level(level: &str) {
    if let Some(started) = STARTED.get().filter(|started| !started.is_level_chosen) {
        // It fails only if the log has ended.
        let _ = started.filter.reload(filter(level));
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
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Log lines in memory.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn text_of_a_peer_stays_in_its_log_line() {
        for format in [None, Some(LogFormat::Text), Some(LogFormat::Json)] {
            let lines = Lines::default();
            let layer = layer(format, lines.clone(), 0);
            let subscriber = tracing_subscriber::registry().with(layer);
            tracing::subscriber::with_default(subscriber, || {
                let reason = "no\nERROR floe_hub: the disk is gone\r\u{1b}[2J\u{2028}x";
                tracing::warn!(topic = %reason, count = 3, text = reason, "it failed: {reason}");
            });
            let written = lines.0.lock().unwrap().clone();
            let written = String::from_utf8(written).unwrap();
            assert_eq!(written.lines().count(), 1, "{written:?}");
            assert!(!written.contains(['\r', '\u{1b}']), "{written:?}");
            assert!(written.contains("it failed: no\\nERROR"), "{written:?}");
            if format != Some(LogFormat::Json) {
                assert!(written.contains(" topic=no\\nERROR"), "{written:?}");
                assert!(written.contains(" count=3 "), "{written:?}");
            }
        }
    }

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
