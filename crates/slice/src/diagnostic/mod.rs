//! Diagnostics: what the front-end says about a source text.
//!
//! `code.rs` lists the findings, `render.rs` lays one out as text. Which finding applies is
//! decided by the phases that report it.

mod code;
mod render;
mod reporter;

pub use code::Code;
pub(crate) use reporter::Reporter;

use crate::model::FileId;

/// A range of bytes in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range from the start of this span to the end of `last`; this span alone if `last` lies
    /// in another file or before it.
    pub(crate) fn to(self, last: Span) -> Span {
        if last.file == self.file && last.end >= self.end {
            Span {
                end: last.end,
                ..self
            }
        } else {
            self
        }
    }

    /// The empty place right after this span.
    pub(crate) fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// The longest message, in characters: names and strings in it may be of any length.
const MAX_MESSAGE: usize = 300;

/// A message of one line and of bounded length, safe to show in a terminal.
fn shortened(message: String) -> String {
    let mut message = message.replace(char::is_control, "\u{fffd}");
    if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
        message.truncate(end);
        message.push_str("...");
    }
    message
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Legal but suspect.
    Warning,
    /// Not legal: no code can be made from it.
    Error,
}

impl Severity {
    /// The word that a rendered diagnostic begins with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Which rule.
    pub code: Code,
    /// How bad; always the severity of the code.
    pub severity: Severity,
    /// Describes the problem: one line, lower case, no full stop.
    pub message: String,
    /// Where; `None` only if no file could be read.
    pub span: Option<Span>,
    /// Other places that explain it.
    pub labels: Vec<Label>,
    /// The remedy.
    pub help: Option<String>,
}

/// A place that helps to understand a diagnostic.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// Describes the content of the place.
    pub message: String,
}

impl Diagnostic {
    /// A diagnostic at a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: shortened(message.into()),
            span: Some(span),
            labels: Vec::new(),
            help: None,
        }
    }

    /// A diagnostic about something that has no place in a file.
    pub fn without_place(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: shortened(message.into()),
            span: None,
            labels: Vec::new(),
            help: None,
        }
    }

    /// Adds another place.
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            message: shortened(message.into()),
        });
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(shortened(help.into()));
        self
    }

    /// Returns true if it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
