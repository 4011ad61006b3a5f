//! Errors of parsing a reference.

use std::fmt;

use crate::cdr::{DecodeError, QUOTED_LEN_MAX};

/// A text that is no reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The kind of error.
    pub kind: ParseErrorKind,
    /// The text, cut if it is long.
    pub text: String,
}

/// The kind of error in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// It begins neither with `IOR:` nor with `corbaloc:`.
    UnknownScheme,
    /// It is longer than [`TEXT_LEN_MAX`](super::TEXT_LEN_MAX).
    TooLong(usize),
    /// Its hexadecimal digits are not pairs of digits.
    NotHex,
    /// Its bytes are no reference.
    Decode(DecodeError),
    /// A part of a `corbaloc` is wrong: what was expected, and what came.
    Corbaloc {
        /// The text that was expected there.
        expected: &'static str,
        /// The text that came.
        got: String,
    },
    /// It names an initial reference of the ORB (`corbaloc:rir:`), which only the program knows.
    InitialReference,
}

impl ParseError {
    pub(super) fn new(text: &str, kind: ParseErrorKind) -> Self {
        Self {
            kind,
            text: crate::cdr::quoted(text),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match &self.kind {
            ParseErrorKind::UnknownScheme => {
                write!(
                    f,
                    "expected a reference that begins with IOR: or corbaloc:, got `{text}`"
                )
            }
            ParseErrorKind::TooLong(len) => write!(
                f,
                "expected a reference of at most {} characters, got {len}: `{text}`",
                super::TEXT_LEN_MAX
            ),
            ParseErrorKind::NotHex => {
                write!(
                    f,
                    "expected pairs of hexadecimal digits after IOR:, got `{text}`"
                )
            }
            ParseErrorKind::Decode(error) => {
                write!(
                    f,
                    "the bytes of the reference `{text}` are invalid: {error}; copy all of it"
                )
            }
            ParseErrorKind::Corbaloc { expected, got } => {
                let got: String = got.chars().take(QUOTED_LEN_MAX).collect();
                write!(
                    f,
                    "expected {expected}, got `{}` in `{text}`",
                    got.escape_debug()
                )
            }
            ParseErrorKind::InitialReference => write!(
                f,
                "`{text}` names an initial reference, which has no address: use corbaloc with a host, such as \
                 corbaloc::host:2809/NameService"
            ),
        }
    }
}

impl std::error::Error for ParseError {}
