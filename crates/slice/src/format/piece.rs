//! A text as pieces: tokens, comments and directives as they are written, with what lay between.

use std::sync::Arc;

use super::FormatError;
use crate::lexer::{Lexer, TokenKind};
use crate::model::FileId;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A number or a string.
    Literal,
    /// `::`, `[[`, `]]`, or one character of punctuation.
    Mark,
    /// `// ...`, which ends its line.
    LineComment,
    /// `/* ... */`
    BlockComment,
    /// A line of the preprocessor with all lines that continue it.
    Directive,
}

/// A part of a text that formatting moves, but never changes.
#[derive(Debug, Clone)]
pub(super) struct Piece<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    /// How many line ends stand before it; 0 also at the start of the text.
    pub(super) line_ends: usize,
    /// True if anything stands between it and the piece before.
    pub(super) spaced: bool,
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// In which column a block comment begins, from 0, with tab stops at every fourth.
    pub(super) column: usize,
}

impl Piece<'_> {
    pub(super) fn is(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }

    pub(super) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    /// Returns true if it is no token: it may stand anywhere, and nothing is wrapped around it.
    pub(super) fn is_aside(&self) -> bool {
        self.is_comment() || self.kind == Kind::Directive
    }
}

/// Takes a text with `\n` as line end apart.
///
/// # Errors
/// A comment or string without an end, or a character that Slice does not know.
pub(super) fn scan(text: &str) -> Result<Vec<Piece<'_>>, FormatError> {
    let mut scanner = Scanner {
        text,
        end: 0,
        pieces: Vec::new(),
        columns: Columns::default(),
    };
    let mut lexer = Lexer::new(FileId(0), Arc::from(text));
    while let Some(token) = lexer.next() {
        let span = token.span;
        scanner.gap(span.start);
        if token.starts_line && token.is('#') {
            lexer.skip_line();
            // What is wrong inside of a directive, such as a lone quote after `#error`, stays as it is.
            lexer.take_problems();
            let line = text[span.start..lexer.offset()].trim_end_matches([' ', '\t', '\r']);
            scanner.piece(Kind::Directive, span.start, span.start + line.len());
            continue;
        }
        let kind = match &token.kind {
            TokenKind::Word(_) | TokenKind::Escaped(_) => Kind::Word,
            TokenKind::Number(_) | TokenKind::Str(_) => Kind::Literal,
            TokenKind::Doc(doc) if doc.starts_with("//") => Kind::LineComment,
            TokenKind::Doc(_) => Kind::BlockComment,
            _ => Kind::Mark,
        };
        scanner.piece(kind, span.start, span.end);
        let fatal = |code| !matches!(code, crate::Code::NestedComment);
        if let Some(problem) = lexer.take_problems().into_iter().find(|it| fatal(it.code)) {
            return Err(FormatError::at(text, problem.span.start, problem.message));
        }
    }
    scanner.gap(text.len());
    if let Some(problem) = lexer.take_problems().into_iter().next() {
        return Err(FormatError::at(text, problem.span.start, problem.message));
    }
    Ok(scanner.pieces)
}

struct Scanner<'t> {
    text: &'t str,
    /// Where the last piece ended.
    end: usize,
    pieces: Vec<Piece<'t>>,
    columns: Columns,
}

impl Scanner<'_> {
    /// Takes the plain comments, up to `until`, out of what the lexer skipped.
    fn gap(&mut self, until: usize) {
        let mut at = self.end;
        while at < until {
            let rest = &self.text[at..until];
            if rest.starts_with("//") {
                let len = line_comment_len(rest);
                self.piece(Kind::LineComment, at, at + len);
                at += len;
            } else if let Some(inner) = rest.strip_prefix("/*") {
                let len = inner.find("*/").map_or(rest.len(), |end| end + 4);
                self.piece(Kind::BlockComment, at, at + len);
                at += len;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
    }

    fn piece(&mut self, kind: Kind, start: usize, end: usize) {
        let between = &self.text[self.end.min(start)..start];
        // Nothing else keeps its column, and a line may be as long as the text.
        let column = match kind {
            Kind::BlockComment => self.columns.at(self.text, start),
            _ => 0,
        };
        let piece = Piece {
            kind,
            text: &self.text[start..end],
            start,
            line_ends: between.replace("\\\n", "").matches('\n').count(),
            spaced: !between.is_empty(),
            column,
        };
        self.pieces.push(piece);
        self.end = end;
    }
}

/// The length of the `//` comment that `text` begins with, continued lines included.
fn line_comment_len(text: &str) -> usize {
    let mut len = 0;
    for line in text.split_inclusive('\n') {
        len += line.len();
        let ended = line.trim_end_matches(['\n', '\r']);
        if !ended.ends_with('\\') {
            return len - (line.len() - ended.len());
        }
    }
    len
}

/// Columns of a text, from the front to the back: each part of it is looked at once, because a line may be as long as
/// the text.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The offset that was asked for last.
    end: usize,
    /// Its column, from 0.
    column: usize,
}

impl Columns {
    /// Columns of a text that begins in this one.
    pub(super) fn from(column: usize) -> Self {
        Self { end: 0, column }
    }

    /// Returns the column of an offset, which lies behind those before.
    pub(super) fn at(&mut self, text: &str, end: usize) -> usize {
        let text = &text[self.end..end];
        self.column = match text.rsplit_once('\n') {
            Some((_, line)) => width(line, 0),
            None => width(text, self.column),
        };
        self.end = end;
        self.column
    }
}

/// The column in which a text ends that begins in column `start`, with tab stops at every fourth.
pub(super) fn width(text: &str, start: usize) -> usize {
    text.chars()
        .fold(start, |column, character| match character {
            '\t' => column / super::INDENT * super::INDENT + super::INDENT,
            _ => column + 1,
        })
}
