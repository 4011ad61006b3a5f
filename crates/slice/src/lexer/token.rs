//! Tokens, the output of the lexer.

use std::rc::Rc;

use crate::diagnostic::Span;

/// A token, with the place that a message about it points at.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Where it stands; for the text of a macro, where the macro is used.
    pub(crate) span: Span,
    /// The doc comment before it; only set on the output of the preprocessor.
    pub(crate) doc: Option<Rc<str>>,
    /// True if it is the first token of its line.
    pub(crate) starts_line: bool,
    /// True if white space or a comment stands before it.
    pub(crate) spaced: bool,
    /// True if it is the name of a macro that must not be expanded any more.
    pub(crate) is_final: bool,
}

/// The kind of a token and its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// An identifier or keyword.
    Word(Rc<str>),
    /// `\name`, without the backslash: an identifier even if it is spelled like a keyword.
    Escaped(Rc<str>),
    /// A number, not yet checked.
    Number(Rc<str>),
    /// The text between the quotes of a string, escapes not yet resolved.
    Str(Rc<str>),
    /// The text between the apostrophes of a character constant, escapes not yet resolved; only in
    /// conditions.
    Char(Rc<str>),
    /// `::`
    Scope,
    /// `[[`
    OpenFile,
    /// `]]`
    CloseFile,
    /// One of the other ASCII punctuation characters.
    Punct(char),
    /// A doc comment with its markers; never in the output of the preprocessor.
    Doc(Rc<str>),
    /// A character that nobody expects.
    Unknown(char),
}

impl Token {
    pub(crate) fn new(kind: TokenKind, span: Span) -> Self {
        Self {
            kind,
            span,
            doc: None,
            starts_line: false,
            spaced: false,
            is_final: false,
        }
    }

    pub(crate) fn is(&self, punctuation: char) -> bool {
        self.kind == TokenKind::Punct(punctuation)
    }

    /// The text of an identifier or keyword.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(text) => Some(text),
            _ => None,
        }
    }

    /// How many bytes of text the token has, about. Copies of a token share its text.
    pub(crate) fn text_len(&self) -> usize {
        match &self.kind {
            TokenKind::Word(text)
            | TokenKind::Escaped(text)
            | TokenKind::Number(text)
            | TokenKind::Str(text)
            | TokenKind::Char(text)
            | TokenKind::Doc(text) => text.len(),
            _ => 1,
        }
    }

    /// The token as written, for a message or for `#` in a macro.
    pub(crate) fn source(&self) -> String {
        match &self.kind {
            TokenKind::Word(text) | TokenKind::Number(text) | TokenKind::Doc(text) => {
                text.to_string()
            }
            TokenKind::Escaped(text) => format!("\\{text}"),
            TokenKind::Str(text) => format!("\"{text}\""),
            TokenKind::Char(text) => format!("'{text}'"),
            TokenKind::Scope => "::".to_owned(),
            TokenKind::OpenFile => "[[".to_owned(),
            TokenKind::CloseFile => "]]".to_owned(),
            TokenKind::Punct(character) | TokenKind::Unknown(character) => character.to_string(),
        }
    }
}
