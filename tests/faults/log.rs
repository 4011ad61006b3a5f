//! The log, line by line: warnings and errors of all tests of this process.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::stage::until;

/// Lines, which a clone shares.
#[derive(Clone, Default)]
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    /// True if they go to standard error, too.
    is_shown: bool,
}

impl Log {
    /// That of the whole process; tests tell their lines by the addresses of their peers.
    pub(crate) fn of_all() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            tracing::subscriber::set_global_default(log.clone()).expect("nobody else logs");
            log
        })
    }

    /// Shows all lines of this process on standard error.
    pub(crate) fn show() {
        let log = Self {
            is_shown: true,
            ..Self::default()
        };
        tracing::subscriber::set_global_default(log).expect("nobody else logs");
    }

    /// One of its own, for what this thread alone does.
    pub(crate) fn of_thread() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("nobody panics").clone()
    }

    pub(crate) fn lines_with(&self, text: &str) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.contains(text));
        lines
    }

    /// Waits for the line with a text, and checks that there is one alone. The port of a peer does not
    /// tell it apart from all others: tests beside this one use thousands of them.
    pub(crate) fn only_line_with(&self, text: &str) -> String {
        until(&format!("a line with \"{text}\" is logged"), || {
            !self.lines_with(text).is_empty()
        });
        let lines = self.lines_with(text);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        lines[0].clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        if self.is_shown {
            eprintln!("{}", line.0);
        }
        self.lines.lock().expect("nobody panics").push(line.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The message of an event.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Text never fails.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
