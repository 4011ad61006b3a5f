//! Tokens as layout sees them: operators in one piece, attributes apart, and where spaces stand.
//!
//! The rules are those that generated code needs. It compares nothing with `<` or `>` and computes
//! nothing with `*`, `-` or `&`: these are brackets of parameters, and prefixes.

use std::fmt;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A token.
#[derive(Debug, PartialEq)]
pub(super) enum Token {
    /// An identifier, a keyword, a literal or a lifetime.
    Word(String),
    /// An operator.
    Operator(String),
    /// The line of a doc comment.
    Doc(String),
    /// The content of an attribute's brackets.
    Attribute(Vec<Self>),
    /// The content of brackets.
    Group(Delimiter, Vec<Self>),
}

/// The parts that stand on lines of their own where a group is broken: an item, a statement, a field, an argument.
#[derive(Clone, Copy)]
pub(super) struct Entry<'t> {
    pub(super) attributes: &'t [Token],
    pub(super) tokens: &'t [Token],
}

impl Token {
    pub(super) fn is_comma(&self) -> bool {
        self.is(",")
    }

    pub(super) fn is_semicolon(&self) -> bool {
        self.is(";")
    }

    pub(super) fn is_brace(&self) -> bool {
        matches!(self, Self::Group(Delimiter::Brace, _))
    }

    fn is_attribute(&self) -> bool {
        matches!(self, Self::Doc(_) | Self::Attribute(_))
    }

    pub(super) fn is(&self, expected: &str) -> bool {
        matches!(self, Self::Word(text) | Self::Operator(text) if text == expected)
    }

    fn is_any(&self, expected: &[&str]) -> bool {
        expected.iter().any(|expected| self.is(expected))
    }
}

/// Writes the tokens on one line.
pub(super) fn write_flat(tokens: &[Token], text: &mut impl fmt::Write) -> fmt::Result {
    for (index, token) in tokens.iter().enumerate() {
        if is_parted(&tokens[..index], token) {
            text.write_char(' ')?;
        }
        match token {
            Token::Word(token) | Token::Operator(token) => text.write_str(token)?,
            Token::Doc(doc) => {
                text.write_str("///")?;
                text.write_str(doc)?;
            }
            Token::Attribute(inner) => {
                text.write_str("#[")?;
                write_flat(inner, text)?;
                text.write_char(']')?;
            }
            Token::Group(delimiter, inner) => {
                let (open, close) = brackets(*delimiter);
                let inner = match inner.split_last() {
                    Some((last, others)) if last.is_comma() && !is_tuple(*delimiter, others) => {
                        others
                    }
                    _ => inner,
                };
                let is_import = index > 0 && tokens[index - 1].is("::");
                let space = match token.is_brace() && !inner.is_empty() && !is_import {
                    true => " ",
                    false => "",
                };
                text.write_str(open)?;
                text.write_str(space)?;
                write_flat(inner, text)?;
                text.write_str(space)?;
                text.write_str(close)?;
            }
        }
    }
    Ok(())
}

/// How many columns tokens take on one line.
pub(super) fn width(tokens: &[Token]) -> usize {
    let mut width = Width(0);
    write_flat(tokens, &mut width).expect("counting does not fail");
    width.0
}

/// Counts the columns of what is written.
struct Width(usize);

impl fmt::Write for Width {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

/// The tokens of a stream.
pub(super) fn tokens(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) => tokens.push(Token::Word(ident.to_string())),
            TokenTree::Literal(literal) => tokens.push(Token::Word(literal.to_string())),
            // What a group without brackets holds stands as it is.
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                tokens.extend(self::tokens(group.stream()));
            }
            TokenTree::Group(group) => {
                tokens.push(Token::Group(
                    group.delimiter(),
                    self::tokens(group.stream()),
                ));
            }
            TokenTree::Punct(punct) => {
                let is_joint = punct.spacing() == Spacing::Joint;
                let next = trees.peek().map(ToString::to_string).unwrap_or_default();
                match (punct.as_char(), trees.peek()) {
                    ('#', Some(TokenTree::Group(group))) => {
                        tokens.push(attribute(group.stream()));
                        trees.next();
                    }
                    ('\'', _) => {
                        tokens.push(Token::Word(format!("'{next}")));
                        trees.next();
                    }
                    (first, _) if is_joint && OPERATORS.contains(&&*format!("{first}{next}")) => {
                        tokens.push(Token::Operator(format!("{first}{next}")));
                        trees.next();
                    }
                    (first, _) => tokens.push(Token::Operator(first.to_string())),
                }
            }
        }
    }
    tokens
}

/// Returns true if a group of these tokens may be a tuple of one, which has a comma.
fn is_tuple(delimiter: Delimiter, tokens: &[Token]) -> bool {
    delimiter == Delimiter::Parenthesis && entries(tokens).len() == 1
}

/// An attribute; documentation as the comment that it is.
fn attribute(stream: TokenStream) -> Token {
    let inner = tokens(stream);
    if let [doc, equals, Token::Word(literal)] = inner.as_slice()
        && doc.is("doc")
        && equals.is("=")
        && let Ok(text) = syn::parse_str::<syn::LitStr>(literal)
        && !text.value().contains(IN_NO_COMMENT)
    {
        return Token::Doc(text.value());
    }
    Token::Attribute(inner)
}

/// The entries of a sequence of tokens.
pub(super) fn entries(tokens: &[Token]) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let (mut start, mut angles, mut bars) = (0, 0_i32, 0);
    // The bases of a trait are parted by commas.
    let mut is_trait = false;
    for (index, token) in tokens.iter().enumerate() {
        angles += i32::from(token.is("<")) - i32::from(token.is(">"));
        bars += i32::from(token.is("|"));
        let is_outside = angles == 0 && bars % 2 == 0 && !is_trait;
        is_trait |= token.is("trait");
        let next = tokens.get(index + 1);
        let ends = match token {
            Token::Operator(operator) => operator == ";" || operator == "," && is_outside,
            Token::Group(Delimiter::Brace, _) => !next.is_some_and(continues),
            _ => false,
        };
        if ends || next.is_none() {
            entries.push(entry(&tokens[start..=index]));
            start = index + 1;
            is_trait = false;
        }
    }
    entries
}

fn entry(tokens: &[Token]) -> Entry<'_> {
    let count = tokens
        .iter()
        .take_while(|token| token.is_attribute())
        .count();
    let (attributes, tokens) = tokens.split_at(count);
    Entry { attributes, tokens }
}

/// Returns true if a token belongs to the entry whose block stands in front of it.
fn continues(token: &Token) -> bool {
    token.is_any(&[",", ";", ".", "?", "else", "=", "=>"])
}

/// Returns true if a token and the `::` behind it belong to one path.
pub(super) fn begins_path(token: &Token) -> bool {
    let is_name = |word: &String| !word.starts_with('\'') && !KEYWORDS.contains(&&**word);
    matches!(token, Token::Word(word) if is_name(word)) || token.is("::")
}

/// Returns true if a space stands between tokens and the next one.
pub(super) fn is_parted(before: &[Token], next: &Token) -> bool {
    let Some(previous) = before.last() else {
        return false;
    };
    if next.is_any(&[",", ";", ".", "?", ":", ">"]) {
        return false;
    }
    if previous.is("::") {
        return false;
    }
    if previous.is_any(&["<", "&", ".", "!", "*", "-"]) {
        return next.is_brace();
    }
    if (previous.is("|") || next.is("|")) && is_in_bars(before) {
        return false;
    }
    // In front of the next token is nothing that takes it as a suffix.
    let is_apart = previous.is_any(&BINARY)
        || previous.is_any(&KEYWORDS)
        || matches!(previous, Token::Word(word) if word.starts_with('\''))
        || previous.is("|");
    match next {
        // `impl ::floe::encoding::Encode`, but `impl<T>`.
        Token::Operator(operator) if operator == "<" => is_apart && !previous.is("impl"),
        Token::Operator(operator) if operator == "::" => is_apart || ends_generics(before),
        Token::Operator(operator) if operator == "!" => is_apart,
        Token::Group(Delimiter::Parenthesis | Delimiter::Bracket, _) => is_apart,
        _ => true,
    }
}

/// Returns true if tokens end between the bars of a closure's parameters.
fn is_in_bars(tokens: &[Token]) -> bool {
    tokens.iter().filter(|token| token.is("|")).count() % 2 == 1
}

/// Returns true if tokens end with the parameters of an `impl`.
fn ends_generics(tokens: &[Token]) -> bool {
    let depth = |token: &Token| i32::from(token.is(">")) - i32::from(token.is("<"));
    let mut open = 0;
    let start = tokens.iter().rposition(|token| {
        open += depth(token);
        open == 0
    });
    let before = start.and_then(|start| start.checked_sub(1));
    let is_impl = before.is_some_and(|before| tokens[before].is("impl"));
    is_impl && tokens.last().is_some_and(|last| last.is(">"))
}

/// Returns true if a group is the body of an item or of a `match`, or holds statements: such a block is never on one
/// line.
pub(super) fn is_block(tokens: &[Token], index: usize) -> bool {
    let Token::Group(Delimiter::Brace, inner) = &tokens[index] else {
        return false;
    };
    let holds = |token: &Token| token.is(";") || token.is_attribute();
    let mut head = tokens[..index].iter();
    !inner.is_empty() && (head.any(|token| token.is_any(&BLOCKS)) || inner.iter().any(holds))
}

/// Returns true if the group behind these tokens holds items, with blank lines between them.
pub(super) fn holds_items(before: &[Token], delimiter: Delimiter) -> bool {
    let kind = before.iter().find(|token| token.is_any(&BLOCKS));
    let is_container = kind.is_some_and(|kind| kind.is_any(&["impl", "trait", "mod"]));
    delimiter == Delimiter::Brace && is_container
}

/// Returns true if the entries behind these tokens are short ones of a macro call, so that several stand on a line.
pub(super) fn is_list(before: &[Token], entries: &[Entry<'_>]) -> bool {
    let is_short = |entry: &Entry<'_>| {
        let is_long = |token: &Token| match token {
            Token::Group(Delimiter::Parenthesis, _) => width(std::slice::from_ref(token)) > SHORT,
            Token::Group(..) => true,
            _ => false,
        };
        entry.attributes.is_empty() && !entry.tokens.iter().any(is_long)
    };
    let is_in_macro = !before.iter().any(|token| token.is_any(&BLOCKS));
    is_in_macro
        && entries.len() > 2
        && entries.iter().all(is_short)
        && !entries
            .iter()
            .any(|entry| entry.tokens.iter().any(|token| token.is(";")))
}

/// Returns true if the entries of a call or a pattern are many names, so that several stand on a line.
pub(super) fn are_names(entries: &[Entry<'_>]) -> bool {
    let is_name = |entry: &Entry<'_>| {
        let is_part = |token: &Token| match token {
            Token::Group(_, inner) => inner.is_empty(),
            token => !token.is_any(&[":", "?", "|", "=", "::"]),
        };
        entry.attributes.is_empty() && entry.tokens.iter().all(is_part)
    };
    entries.len() > NAMES_MAX && entries.iter().all(is_name)
}

/// Returns true if a group behind these tokens is a tuple of types, so that several stand on a line.
pub(super) fn are_types(before: &[Token], entries: &[Entry<'_>]) -> bool {
    fn are_parts(tokens: &[Token]) -> bool {
        tokens.iter().all(|token| match token {
            Token::Word(_) => true,
            Token::Operator(_) => token.is_any(&["&", "::", "<", ">", ","]),
            Token::Group(Delimiter::Bracket, inner) => are_parts(inner),
            _ => false,
        })
    }
    let is_element = before.last().is_some_and(Token::is_comma);
    is_element && entries.iter().all(|entry| are_parts(entry.tokens))
}

/// As many names stand below one another.
const NAMES_MAX: usize = 4;

/// Returns true if the group behind these tokens is the argument of a macro.
pub(super) fn is_macro(before: &[Token]) -> bool {
    before.last().is_some_and(|last| last.is("!"))
}

/// Returns true if an item is the call of a macro.
pub(super) fn is_macro_call(tokens: &[Token]) -> bool {
    let is_path = |token: &&Token| !token.is("!") && !matches!(token, Token::Group(..));
    let path = tokens.iter().take_while(is_path).count();
    tokens.get(path).is_some_and(|token| token.is("!"))
}

/// Brackets that are no longer than this do not make an entry of a list long: `String::from("none")`.
const SHORT: usize = 20;

/// The brackets of a group.
pub(super) fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// Rust refuses comments with these characters: a line end of old, and those that change the order of a text. A literal has
/// them as escapes.
const IN_NO_COMMENT: [char; 10] = [
    '\r', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
    '\u{2068}', '\u{2069}',
];

const OPERATORS: [&str; 7] = ["::", "->", "=>", "..", "==", "&&", "||"];

/// Operators with a space on either side, or behind them.
const BINARY: [&str; 10] = ["=", "=>", "->", "+", ",", ":", ";", "==", "||", "&&"];

/// Keywords that a path, a type or a bracket may follow.
const KEYWORDS: [&str; 16] = [
    "as", "async", "const", "dyn", "else", "for", "if", "impl", "in", "let", "match", "move",
    "mut", "return", "use", "where",
];

/// The keywords of items and expressions whose block is never on one line.
const BLOCKS: [&str; 8] = [
    "enum", "fn", "impl", "loop", "match", "mod", "struct", "trait",
];
