//! One way to lay out Slice: indents, braces, spaces and line breaks, and nothing else.
//!
//! ```text
//! piece.rs     a text taken apart into tokens, comments and directives
//! layout.rs    pieces gathered into statements and blocks
//! wrap.rs      a statement on as few lines as it fits on
//! spacing.rs   the spaces inside of a line
//! comment.rs   comments at their new place
//! ```
//!
//! It works on the text as it is written, before the preprocessor: directives and the branches of
//! all conditions stay. No token is added, removed or moved past another, which is checked at the end.

mod comment;
mod layout;
mod piece;
mod spacing;
mod wrap;

use std::fmt;

use layout::MAX_DEPTH;
use piece::{Kind, Piece, scan};

/// Spaces for each level of braces.
const INDENT: usize = 4;
/// A statement that would be wider is wrapped where it can be.
const MAX_WIDTH: usize = 100;

/// A text that cannot be laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Describes the problem: one line, lower case, no full stop.
    pub message: String,
}

impl FormatError {
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or("");
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            message: message.into(),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            message,
        } = self;
        write!(formatter, "{line}:{column}: {message}")
    }
}

impl std::error::Error for FormatError {}

/// Lays out Slice text. Laying out the result again changes nothing.
///
/// - four spaces a level; braces on lines of their own, but a block that is written on one line, has
///   no block inside, and fits stays there: `enum Color { red, green }`
/// - a statement stands on one line of up to 100 columns, or is wrapped: at its parameters and before `throws`
/// - comments stay before or behind what they stood at; a statement with a comment inside keeps its lines
/// - of several empty lines one stays; line ends are all like the first one
///
/// The model of the text stays the same. One thing can tell the difference: a macro that makes a
/// string of its argument (`#`) sees the spaces in it.
///
/// ```
/// let text = "module Demo{/** A place. */\nstruct Point{int x;int y;}\nenum E{a,// first\nb}}";
/// let formatted = "\
/// module Demo
/// {
///     /** A place. */
///     struct Point { int x; int y; }
///     enum E
///     {
///         a, // first
///         b
///     }
/// }
/// ";
/// assert_eq!(floe_slice::format(text).unwrap(), formatted);
/// ```
///
/// # Errors
/// A comment or string without an end, a name that is not ASCII, or blocks that nest more than 100 deep. Whether the text is legal
/// otherwise is not asked.
pub fn format(text: &str) -> Result<String, FormatError> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let has_crlf = text
        .split_once('\n')
        .is_some_and(|(line, _)| line.ends_with('\r'));
    let mut text = text.replace("\r\n", "\n");
    if text.ends_with('\\') {
        // It would continue the line into the line end that every text gets.
        text.push('\n');
    }
    let pieces = scan(&text)?;
    let formatted = layout::lay_out(&pieces).map_err(|piece| {
        let message = format!("blocks nest more than {MAX_DEPTH} deep");
        FormatError::at(&text, piece.start, message)
    })?;
    check_same(&text, &pieces, &formatted)?;
    let formatted = match has_crlf {
        true => formatted.replace('\n', "\r\n"),
        false => formatted,
    };
    Ok(format!("{mark}{formatted}"))
}

/// Compares what a text says before and after; a difference is a text that nobody has thought of.
fn check_same(text: &str, pieces: &[Piece<'_>], formatted: &str) -> Result<(), FormatError> {
    let again = scan(formatted)?;
    let differs = pieces
        .iter()
        .zip(&again)
        .position(|(old, new)| !says_same(old, new));
    let at = match differs {
        // A byte order mark is one only at the start.
        None if formatted.starts_with('\u{feff}') => 0,
        None if pieces.len() == again.len() => return Ok(()),
        found => found.unwrap_or(pieces.len().min(again.len())),
    };
    let offset = pieces.get(at).map_or(text.len(), |piece| piece.start);
    let message = "this cannot be laid out without a change of its meaning";
    Err(FormatError::at(text, offset, message))
}

fn says_same(old: &Piece<'_>, new: &Piece<'_>) -> bool {
    let words = |piece: &Piece<'_>| -> Vec<String> {
        let lines = piece.text.lines();
        lines.map(|line| line.trim().to_owned()).collect()
    };
    old.kind == new.kind
        && match old.kind {
            Kind::BlockComment | Kind::LineComment => words(old) == words(new),
            _ => old.text == new.text,
        }
}
