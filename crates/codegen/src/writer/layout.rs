//! Layout of tokens: lines of at most [`WIDTH`] columns that read as if `rustfmt` had broken them.
//!
//! The tokens of an entry (an item, a statement, a field, an argument) stand on one line if they fit.
//! If they do not, one bracketed group of the entry is broken, and its own entries are laid out
//! below each other in the same way. `token.rs` says what an entry is and where spaces stand.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream};

use super::imports::Imports;
use super::token::{self, Entry, Token, width};

/// Items as text, and the names that their module has to import for them.
#[derive(Debug, Default)]
pub(crate) struct LaidOut {
    pub(crate) text: String,
    pub(crate) imported: BTreeSet<String>,
}

/// Lays out items inside `depth` modules, with a blank line between items that do not belong together.
pub(crate) fn layout(tokens: TokenStream, depth: usize, imports: &Imports) -> LaidOut {
    let mut imported = BTreeSet::new();
    let tokens = imports.shorten(token::tokens(tokens), &mut imported);
    let text = lay_out(&tokens, depth);
    LaidOut { text, imported }
}

/// The text of items whose paths stay as they are.
pub(super) fn layout_whole(tokens: TokenStream, depth: usize) -> String {
    lay_out(&token::tokens(tokens), depth)
}

fn lay_out(tokens: &[Token], depth: usize) -> String {
    let mut layout = Layout {
        text: String::new(),
        indent: depth * INDENT,
        is_in_macro: false,
    };
    layout.entries(&token::entries(tokens), true);
    layout.text
}

/// Text in the making.
struct Layout {
    text: String,
    indent: usize,
    /// True within the argument of a macro, whose tokens mean what the macro says.
    is_in_macro: bool,
}

impl Layout {
    /// Each entry on lines of its own; between items stand blank lines.
    fn entries(&mut self, entries: &[Entry<'_>], are_items: bool) {
        for (index, entry) in entries.iter().enumerate() {
            if are_items && index > 0 && !belongs(entry, &entries[index - 1]) {
                self.text.push('\n');
            }
            for attribute in entry.attributes {
                self.start_line();
                self.attribute(attribute);
                self.text.push('\n');
            }
            if !entry.tokens.is_empty() {
                self.start_line();
                self.entry(entry.tokens);
                self.text.push('\n');
            }
        }
    }

    fn start_line(&mut self) {
        self.text.push_str(&" ".repeat(self.indent));
    }

    fn attribute(&mut self, attribute: &Token) {
        match attribute {
            Token::Attribute(inner) => {
                self.text.push_str("#[");
                self.entry(inner);
                self.text.push(']');
            }
            comment => self.flat(std::slice::from_ref(comment)),
        }
    }

    /// One entry, from where the line has come to.
    fn entry(&mut self, tokens: &[Token]) {
        let Some(at) = self.broken_group(tokens) else {
            return self.flat(tokens);
        };
        let (before, after) = (&tokens[..at], &tokens[at + 1..]);
        let Token::Group(delimiter, inner) = &tokens[at] else {
            unreachable!("only groups are broken");
        };
        self.entry(before);
        if token::is_parted(before, &tokens[at]) {
            self.text.push(' ');
        }
        self.group(before, *delimiter, inner);
        if let Some(next) = after.first() {
            if token::is_parted(&tokens[at..=at], next) {
                self.text.push(' ');
            }
            self.entry(after);
        }
    }

    /// Tokens on one line.
    fn flat(&mut self, tokens: &[Token]) {
        token::write_flat(tokens, &mut self.text).expect("a string takes any text");
    }

    /// The group of an entry that is broken; `None` if the entry stands on one line.
    fn broken_group(&self, tokens: &[Token]) -> Option<usize> {
        let groups = |width_min| {
            let all = tokens.iter().enumerate();
            let is_long = move |inner: &[Token]| width(inner) >= width_min;
            all.filter(move |(_, token)| matches!(token, Token::Group(_, inner) if is_long(inner)))
                .map(|(index, _)| index)
        };
        let long = || groups(SHORT + 1);
        if let Some(block) = groups(1).find(|index| token::is_block(tokens, *index)) {
            return Some(block);
        }
        if self.column() + width(tokens) <= WIDTH {
            return None;
        }
        if tokens.iter().any(|token| token.is("fn")) {
            return groups(1).next();
        }
        let fits = |index: &usize| self.column() + width(&tokens[..*index]) < WIDTH;
        long().rfind(fits).or_else(|| long().next())
    }

    /// How many columns of the line are taken.
    fn column(&self) -> usize {
        let line = self.text.rsplit('\n').next().unwrap_or("");
        line.chars().count()
    }

    fn group(&mut self, before: &[Token], delimiter: Delimiter, inner: &[Token]) {
        let was_in_macro = self.is_in_macro;
        self.is_in_macro |= token::is_macro(before);
        self.group_inside(before, delimiter, inner);
        self.is_in_macro = was_in_macro;
    }

    fn group_inside(&mut self, before: &[Token], delimiter: Delimiter, inner: &[Token]) {
        let (open, close) = token::brackets(delimiter);
        let entries = token::entries(inner);
        self.text.push_str(open);
        if let Some(last) = self.hugged(delimiter, &entries) {
            for entry in &entries[..entries.len() - 1] {
                self.flat(entry.tokens);
                self.text.push(' ');
            }
            self.entry(last);
            return self.text.push_str(close);
        }
        self.text.push('\n');
        self.indent += INDENT;
        let is_list = match delimiter {
            Delimiter::Parenthesis => {
                token::are_names(&entries) || token::are_types(before, &entries)
            }
            _ => token::is_list(before, &entries),
        };
        if is_list {
            self.fill(&entries);
            let is_macro = delimiter == Delimiter::Brace && !before[0].is("use");
            if !is_macro && !self.text.ends_with(",\n") {
                self.text.insert(self.text.len() - 1, ',');
            }
        } else {
            self.entries(&entries, token::holds_items(before, delimiter));
            self.add_comma(before, delimiter, &entries);
        }
        self.indent -= INDENT;
        self.start_line();
        self.text.push_str(close);
    }

    /// The last argument, if it ends with a block and the ones before it fit on the line with its head.
    fn hugged<'t>(&self, delimiter: Delimiter, entries: &[Entry<'t>]) -> Option<&'t [Token]> {
        let (last, others) = entries.split_last()?;
        let is_call = delimiter == Delimiter::Parenthesis && last.attributes.is_empty();
        let (Token::Group(Delimiter::Brace, inner), head) = last.tokens.split_last()? else {
            return None;
        };
        let others = others.iter().map(|entry| width(entry.tokens) + 1);
        let width = others.sum::<usize>() + width(head) + " {".len();
        (is_call && !inner.is_empty() && self.column() + width <= WIDTH).then_some(last.tokens)
    }

    /// As many entries on each line as fit.
    fn fill(&mut self, entries: &[Entry<'_>]) {
        self.start_line();
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 && self.column() + 1 + width(entry.tokens) > WIDTH {
                self.text.push('\n');
                self.start_line();
            } else if index > 0 {
                self.text.push(' ');
            }
            self.flat(entry.tokens);
        }
        self.text.push('\n');
    }

    /// A comma behind the last entry where `rustfmt` has one.
    ///
    /// A comma behind a lone entry changes nothing in Rust, but a macro may have no rule for it. Within one, a comma is
    /// added only where commas part the entries already, and behind the variants of an enum: there our macros take it.
    fn add_comma(&mut self, before: &[Token], delimiter: Delimiter, entries: &[Entry<'_>]) {
        let has_commas = entries.len() > 1 && entries[0].tokens.last().is_some_and(Token::is_comma);
        let is_lone = delimiter == Delimiter::Parenthesis && entries.len() == 1;
        let is_call = is_lone && !self.is_in_macro;
        let last = entries.last().and_then(|entry| entry.tokens.last());
        let is_complete = |last: &Token| {
            last.is_comma() || last.is_brace() && delimiter != Delimiter::Parenthesis
        };
        let lacks = last.is_some_and(|last| !is_complete(last));
        let is_enum = before.iter().any(|token| token.is("enum"));
        if lacks && !token::is_macro(before) && (has_commas || is_call || is_enum) {
            self.text.insert(self.text.len() - 1, ',');
        }
    }
}

/// Returns true if no blank line parts an item from the one before it: the macro call that implements traits
/// stands right behind the type, and constants stand together.
fn belongs(entry: &Entry<'_>, previous: &Entry<'_>) -> bool {
    let ends_statement =
        |entry: &Entry<'_>| entry.tokens.last().is_some_and(token::Token::is_semicolon);
    let is_type = token::is_macro_call(entry.tokens) || ends_statement(previous);
    let is_function = entry.tokens.iter().any(|token| token.is("fn"));
    entry.attributes.is_empty() && ends_statement(entry) && is_type && !is_function
}

/// How long a line may be.
const WIDTH: usize = 100;

/// Content up to this length stays between its brackets on one line: `(&'call self)`.
const SHORT: usize = 12;

const INDENT: usize = 4;
