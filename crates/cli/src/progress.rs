//! Shows the progress of long work in one line of a terminal. Without a terminal it shows nothing.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// The line.
pub(crate) struct ProgressLine {
    is_terminal: bool,
}

impl ProgressLine {
    /// Nothing is shown yet.
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Shows this in place of what was shown.
    pub(crate) fn rewrite(&self, text: impl Display) {
        if self.is_terminal {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
        }
    }

    /// Takes the line away, before something else is written.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
