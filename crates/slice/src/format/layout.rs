//! Pieces gathered into statements and blocks, and written line by line.

use super::comment::placed;
use super::piece::{Columns, Kind, Piece};
use super::spacing::{is_spaced, join};
use super::wrap::{depth_after, is_metadata, wrap};
use super::{INDENT, MAX_WIDTH};

/// As many blocks may be open. Deeper ones would take more room for their indents than for their text.
pub(super) const MAX_DEPTH: usize = 100;

/// Lays out the pieces of a text.
///
/// # Errors
/// The piece whose block is too deep.
pub(super) fn lay_out<'p, 't>(pieces: &'p [Piece<'t>]) -> Result<String, &'p Piece<'t>> {
    let mut layout = Layout {
        pieces,
        at: 0,
        statement: Vec::new(),
        depth: 0,
        blocks: Vec::new(),
        branches: Vec::new(),
        text: String::new(),
        columns: Columns::default(),
        is_fresh: true,
        closes: false,
    };
    while let Some(piece) = pieces.get(layout.at) {
        layout.step();
        if layout.blocks.len() > MAX_DEPTH {
            return Err(piece);
        }
    }
    layout.flush();
    Ok(layout.text)
}

/// The words that a definition begins with.
const DEFINITIONS: &[&str] = &[
    "module",
    "interface",
    "class",
    "exception",
    "struct",
    "enum",
    "sequence",
    "dictionary",
    "const",
    "local",
];

/// A pair of braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// Items end with a comma.
    Enum,
    /// Items end with a semicolon or a block.
    Other,
}

struct Layout<'p, 't> {
    pieces: &'p [Piece<'t>],
    at: usize,
    /// The pieces since the last statement ended.
    statement: Vec<Piece<'t>>,
    /// Parentheses and brackets that are open in it.
    depth: usize,
    /// The blocks that are open.
    blocks: Vec<Block>,
    /// The blocks that were open at each `#if`: the other branches begin with the same.
    branches: Vec<Vec<Block>>,
    text: String,
    /// The columns of the text.
    columns: Columns,
    /// True if nothing was written since the start of the text or of a block.
    is_fresh: bool,
    /// True if the last line ends with a closing brace, which a semicolon may follow.
    closes: bool,
}

impl<'t> Layout<'_, 't> {
    fn step(&mut self) {
        let piece = self.pieces[self.at].clone();
        if piece.is_aside() {
            self.aside(piece);
        } else if self.depth == 0 && piece.is("{") {
            self.open();
        } else if self.depth == 0 && piece.is("}") {
            self.close(piece);
        } else {
            self.token(piece);
        }
        self.at += 1;
    }

    fn token(&mut self, piece: Piece<'t>) {
        if self.begins_definition(&piece) {
            self.flush();
        }
        let closes = std::mem::take(&mut self.closes);
        if closes && self.statement.is_empty() && piece.is(";") {
            self.text.truncate(self.text.len() - 1);
            self.text.push_str(";\n");
            return;
        }
        self.depth = depth_after(self.depth, &piece);
        let ends = self.depth == 0
            && (piece.is(";")
                || piece.is("]]")
                || piece.is(",") && self.blocks.last() == Some(&Block::Enum)
                || piece.is("]") && self.ends_metadata_line());
        self.statement.push(piece);
        if ends {
            self.flush();
        }
    }

    /// Returns true if what came before is complete without a semicolon, as the use of a macro is.
    fn begins_definition(&self, piece: &Piece<'t>) -> bool {
        let follows = self.statement.last().is_some_and(|last| {
            last.is(")") || last.kind == Kind::Word && !DEFINITIONS.contains(&last.text)
        });
        self.depth == 0 && follows && piece.line_ends > 0 && DEFINITIONS.contains(&piece.text)
    }

    /// Returns true if the bracket at hand closes metadata that stand on lines of their own.
    fn ends_metadata_line(&self) -> bool {
        let next = self.pieces.get(self.at + 1);
        if next.is_none_or(|next| next.line_ends == 0) {
            return false;
        }
        let tokens = self.statement.iter().filter(|piece| !piece.is_aside());
        is_metadata(tokens.chain([&self.pieces[self.at]]))
    }

    /// A comment or directive.
    fn aside(&mut self, piece: Piece<'t>) {
        let next = self.pieces.get(self.at + 1);
        let leads = piece.kind == Kind::BlockComment
            && next.is_some_and(|next| next.line_ends == 0 && !next.is_aside());
        let closes_next = next.is_some_and(|next| next.is("}"));
        let is_doc = piece.text.starts_with("/**");
        if self.statement.is_empty() && leads && is_doc {
            self.own_line(&piece);
        } else if !self.statement.is_empty() || leads && !closes_next {
            self.statement.push(piece);
        } else {
            self.alone(&piece);
        }
    }

    /// Writes a comment or directive that belongs to no statement.
    fn alone(&mut self, piece: &Piece<'t>) {
        if piece.kind == Kind::Directive {
            self.blank_line(piece);
            self.text.push_str(piece.text);
            self.text.push('\n');
            self.is_fresh = false;
            self.closes = false;
            self.branch(piece.text);
            return;
        }
        // A doc comment behind a brace is that of the first item.
        let is_first_doc = self.is_fresh && piece.text.starts_with("/**");
        let is_behind = piece.line_ends == 0 && self.text.ends_with('\n') && !is_first_doc;
        if is_behind && !self.ends_with_directive() {
            self.text.truncate(self.text.len() - 1);
            let column = self.columns.at(&self.text, self.text.len());
            self.text.push(' ');
            self.text.push_str(&placed(piece, column + 1));
            self.text.push('\n');
            self.closes = false;
            return;
        }
        self.own_line(piece);
    }

    fn own_line(&mut self, comment: &Piece<'t>) {
        let indent = self.indent();
        self.blank_line(comment);
        self.line(indent, &placed(comment, indent));
        self.closes = false;
    }

    /// Returns true if the last thing written is a directive, behind which a comment would be a part of it.
    fn ends_with_directive(&self) -> bool {
        self.at > 0 && self.pieces[self.at - 1].kind == Kind::Directive
    }

    /// Keeps the blocks of the branches of a condition apart.
    fn branch(&mut self, directive: &str) {
        let word = directive[1..].trim_start();
        if word.starts_with("if") {
            self.branches.push(self.blocks.clone());
        } else if word.starts_with("el") {
            if let Some(blocks) = self.branches.last() {
                self.blocks = blocks.clone();
            }
        } else if word.starts_with("endif") {
            self.branches.pop();
        }
    }

    fn open(&mut self) {
        let brace = self.pieces[self.at].clone();
        if let Some(end) = self.one_line_end() {
            let mut whole = std::mem::take(&mut self.statement);
            whole.extend_from_slice(&self.pieces[self.at..=end]);
            let indent = self.indent();
            self.blank_line(&whole[0].clone());
            self.line(indent, &join(&whole));
            self.closes = true;
            self.at = end;
            return;
        }
        let is_enum = self.statement.iter().any(|piece| piece.text == "enum");
        self.flush();
        let indent = self.indent();
        if self.text.is_empty() || self.closes {
            self.blank_line(&brace);
        }
        self.line(indent, "{");
        self.blocks.push(match is_enum {
            true => Block::Enum,
            false => Block::Other,
        });
        self.is_fresh = true;
        self.closes = false;
    }

    /// Where the block that opens here closes, if it may stay on one line.
    fn one_line_end(&self) -> Option<usize> {
        let first = self.statement.first()?;
        let has_aside = self.statement.iter().any(Piece::is_aside);
        if has_aside || self.pieces[self.at].line_ends > 0 {
            return None;
        }
        let mut end = self.at + 1;
        loop {
            let piece = self.pieces.get(end)?;
            if piece.is_aside() || piece.is("{") || piece.line_ends > 0 {
                return None;
            }
            if piece.is("}") {
                break;
            }
            end += 1;
        }
        let is_module = first.text == "module" && end > self.at + 1;
        let content = &self.pieces[self.at..=end];
        let width = join(&self.statement).chars().count() + 1 + join(content).chars().count();
        // A semicolon may follow.
        (!is_module && self.indent() + width < MAX_WIDTH).then_some(end)
    }

    fn close(&mut self, brace: Piece<'t>) {
        self.flush();
        self.blocks.pop();
        let indent = self.indent();
        self.line(indent, brace.text);
        self.closes = true;
    }

    /// Writes the statement so far.
    fn flush(&mut self) {
        self.depth = 0;
        let mut statement = std::mem::take(&mut self.statement);
        let tokens = statement.iter().rposition(|piece| !piece.is_aside());
        let behind = statement.split_off(tokens.map_or(0, |last| last + 1));
        if let Some(first) = statement.first().cloned() {
            let indent = self.indent();
            self.blank_line(&first);
            match statement.iter().any(Piece::is_aside) {
                true => self.keep_lines(&statement, indent),
                false => {
                    for (extra, line) in wrap(&statement, indent) {
                        self.line(indent + extra, &line);
                    }
                }
            }
            self.closes = false;
        }
        for piece in &behind {
            self.alone(piece);
        }
    }

    /// Writes a statement with comments or directives inside: its lines stay as they are.
    fn keep_lines(&mut self, statement: &[Piece<'t>], indent: usize) {
        let mut line = String::new();
        let mut column = indent;
        let mut columns = Columns::from(column);
        for (index, piece) in statement.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &statement[before]);
            let breaks = before.is_some_and(|before| {
                piece.line_ends > 0
                    || matches!(before.kind, Kind::Directive | Kind::LineComment)
                    || piece.kind == Kind::Directive
            });
            if breaks {
                self.line(column, &std::mem::take(&mut line));
                column = match piece.kind {
                    Kind::Directive => 0,
                    _ => indent + INDENT,
                };
                columns = Columns::from(column);
            } else if before.is_some_and(|before| is_spaced(before, piece)) {
                line.push(' ');
            }
            match piece.is_comment() {
                true => {
                    let column = columns.at(&line, line.len());
                    line.push_str(&placed(piece, column));
                }
                false => line.push_str(piece.text),
            }
            if piece.kind == Kind::Directive {
                self.branch(piece.text);
            }
        }
        self.line(column, &line);
    }

    /// Keeps an empty line before a piece, except at the start of a block.
    fn blank_line(&mut self, piece: &Piece<'t>) {
        if piece.line_ends > 1 && !self.is_fresh {
            self.text.push('\n');
        }
    }

    fn line(&mut self, column: usize, line: &str) {
        self.text.push_str(&" ".repeat(column));
        self.text.push_str(line);
        self.text.push('\n');
        self.is_fresh = false;
    }

    fn indent(&self) -> usize {
        self.blocks.len() * INDENT
    }
}
