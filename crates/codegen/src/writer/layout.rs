//! Layout of tokens: lines of at most [`WIDTH`] columns that read as if `rustfmt` had broken them.
//!
//! The tokens of an entry (an item, a statement, a field, an argument) stand on one line if they fit.
//! If they do not, one bracketed group of the entry is broken, and its own entries are laid out
//! below each other in the same way. `token.rs` says what an entry is and where spaces stand.

use proc_macro2::{Delimiter, TokenStream};

use super::token::{self, Entry, Token, flat};

/// The text of items inside `depth` modules, with a blank line between items that do not belong together.
pub(crate) fn layout(tokens: TokenStream, depth: usize) -> String {
    let tokens = token::tokens(tokens);
    let mut layout = Layout {
        text: String::new(),
        indent: depth * INDENT,
    };
    layout.entries(&token::entries(&tokens), true);
    layout.text
}

/// Text in the making.
struct Layout {
    text: String,
    indent: usize,
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
            comment => self.text.push_str(&comment.to_string()),
        }
    }

    /// One entry, from where the line has come to.
    fn entry(&mut self, tokens: &[Token]) {
        let Some(at) = self.broken_group(tokens) else {
            return self.text.push_str(&flat(tokens));
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

    /// The group of an entry that is broken; `None` if the entry stands on one line.
    fn broken_group(&self, tokens: &[Token]) -> Option<usize> {
        let groups = || {
            let all = tokens.iter().enumerate();
            all.filter(
                |(_, token)| matches!(token, Token::Group(_, inner) if flat(inner).len() > SHORT),
            )
            .map(|(index, _)| index)
        };
        if let Some(block) = groups().find(|index| token::is_block(tokens, *index)) {
            return Some(block);
        }
        if self.column() + flat(tokens).chars().count() <= WIDTH {
            return None;
        }
        let fits = |index: &usize| self.column() + flat(&tokens[..*index]).chars().count() < WIDTH;
        groups().rfind(fits).or_else(|| groups().next())
    }

    /// How many columns of the line are taken.
    fn column(&self) -> usize {
        let line = self.text.rsplit('\n').next().unwrap_or("");
        line.chars().count()
    }

    fn group(&mut self, before: &[Token], delimiter: Delimiter, inner: &[Token]) {
        let (open, close) = token::brackets(delimiter);
        let entries = token::entries(inner);
        self.text.push_str(open);
        if let Some(last) = self.hugged(delimiter, &entries) {
            for entry in &entries[..entries.len() - 1] {
                self.text.push_str(&flat(entry.tokens));
                self.text.push(' ');
            }
            self.entry(last);
            return self.text.push_str(close);
        }
        self.text.push('\n');
        self.indent += INDENT;
        let is_list = match delimiter {
            Delimiter::Parenthesis => token::are_names(&entries),
            _ => token::is_list(before, &entries),
        };
        if is_list {
            self.fill(&entries);
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
        let others = others
            .iter()
            .map(|entry| flat(entry.tokens).chars().count() + 1);
        let width = others.sum::<usize>() + flat(head).chars().count() + " {".len();
        (is_call && !inner.is_empty() && self.column() + width <= WIDTH).then_some(last.tokens)
    }

    /// As many entries on each line as fit.
    fn fill(&mut self, entries: &[Entry<'_>]) {
        self.start_line();
        for (index, entry) in entries.iter().enumerate() {
            let text = flat(entry.tokens);
            if index > 0 && self.column() + 1 + text.chars().count() > WIDTH {
                self.text.push('\n');
                self.start_line();
            } else if index > 0 {
                self.text.push(' ');
            }
            self.text.push_str(&text);
        }
        self.text.push('\n');
    }

    /// A comma behind the last entry where `rustfmt` has one.
    fn add_comma(&mut self, before: &[Token], delimiter: Delimiter, entries: &[Entry<'_>]) {
        let has_commas = entries.len() > 1 && entries[0].tokens.last().is_some_and(Token::is_comma);
        let is_call = delimiter == Delimiter::Parenthesis && entries.len() == 1;
        let last = entries.last().and_then(|entry| entry.tokens.last());
        let lacks = last.is_some_and(|last| !last.is_comma() && !last.is_brace());
        if lacks && !token::is_macro(before) && (has_commas || is_call) {
            self.text.insert(self.text.len() - 1, ',');
        }
    }
}

/// Whether no blank line parts an item from the one before it: the macro call that implements traits
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

/// What is no longer stays between its brackets on one line: `(&'call self)`.
const SHORT: usize = 12;

const INDENT: usize = 4;
