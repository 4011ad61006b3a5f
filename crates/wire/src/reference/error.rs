//! Errors in the text of a proxy, an endpoint or an identity.

use std::borrow::Cow;
use std::fmt;

use crate::encoding::Printable;

/// Text that is not a valid proxy, endpoint list or identity.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseReferenceError {
    /// The position of the error in bytes.
    pub offset: usize,
    /// The expected text.
    pub expected: Cow<'static, str>,
    /// The text that is there, shortened; empty at the end.
    pub found: String,
    /// The remedy; may be empty.
    pub help: &'static str,
}

impl ParseReferenceError {
    pub(super) fn new(offset: usize, expected: impl Into<Cow<'static, str>>, found: &str) -> Self {
        Self {
            offset,
            expected: expected.into(),
            found: shortened(found),
            help: "",
        }
    }

    pub(super) fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

impl fmt::Display for ParseReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at byte {}: expected {}, got ",
            self.offset, self.expected
        )?;
        match self.found.as_str() {
            "" => f.write_str("nothing")?,
            found => write!(f, "`{}`", Printable(found))?,
        }
        match self.help {
            "" => Ok(()),
            help => write!(f, "; {help}"),
        }
    }
}

/// As the text for people, so that an error that ends `main` reads well.
impl fmt::Debug for ParseReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ParseReferenceError {}

/// The maximum number of characters of the faulty text in an error.
const MAX_FOUND_CHARS: usize = 60;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_FOUND_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
