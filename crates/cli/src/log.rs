//! Where log lines of the libraries go: standard error, as many as were asked for.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::output;

/// Starts logging. `FLOE_LOG` goes before `RUST_LOG`, either goes before `-v`.
pub(crate) fn start(verbosity: u8) {
    let filter = own_filter()
        .or_else(|| EnvFilter::try_from_env("RUST_LOG").ok())
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

/// What `FLOE_LOG` asks for. `RUST_LOG` may mean other programs; this one can only mean us, so what
/// makes no sense is said.
fn own_filter() -> Option<EnvFilter> {
    let text = std::env::var("FLOE_LOG").ok()?;
    if text.trim().is_empty() {
        return None;
    }
    let parsed = EnvFilter::try_new(&text).map_err(|error| error.to_string());
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
