//! Text to tokens, for the preprocessor and the parser alike.
//!
//! The lexer knows neither keywords nor directives, and it never fails: what it cannot read becomes
//! a [`TokenKind::Unknown`] token or a [`Problem`], which the preprocessor drops in skipped groups.

mod comment;
mod token;

use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::{Code, Span};
use crate::model::FileId;
pub(crate) use token::{Token, TokenKind};

/// Something wrong in the text itself, reported if the text is not skipped.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// Reads one file from start to end.
pub(crate) struct Lexer {
    file: FileId,
    text: Arc<str>,
    at: usize,
    /// True if only white space stood before `at` on its line.
    at_line_start: bool,
    /// True if something stood between the last token and `at`.
    spaced: bool,
    problems: Vec<Problem>,
}

impl Lexer {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Self {
        Self {
            file,
            text,
            at: 0,
            at_line_start: true,
            spaced: false,
            problems: Vec::new(),
        }
    }

    /// The next token; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Option<Token> {
        if let Some(comment) = self.skip_blanks(true) {
            return Some(comment);
        }
        self.token()
    }

    /// The next token of the same line; `None` at its end. Doc comments are skipped.
    pub(crate) fn next_in_line(&mut self) -> Option<Token> {
        while self.skip_blanks(false).is_some() {}
        if self.rest().starts_with('\n') {
            return None;
        }
        self.token()
    }

    /// Ignores what is left of the line.
    pub(crate) fn skip_line(&mut self) {
        while self.next_in_line().is_some() {}
    }

    /// The name between `<>` or quotes after `#include`, with its delimiter: taken as it stands, for
    /// no escapes and no comments apply there.
    pub(crate) fn header_name(&mut self) -> Option<(char, String, Span)> {
        while self.skip_blanks(false).is_some() {}
        let open = self.rest().chars().next()?;
        let close = match open {
            '<' => '>',
            '"' => '"',
            _ => return None,
        };
        let line = self.rest().lines().next().unwrap_or("");
        let len = line[1..].find(close)?;
        let name = line[1..=len].to_owned();
        let span = self.take(len + 2);
        Some((open, name, span))
    }

    /// How many bytes were read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Takes what was found wrong since the last call.
    pub(crate) fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    fn token(&mut self) -> Option<Token> {
        let first = self.rest().chars().next()?;
        let starts_line = std::mem::replace(&mut self.at_line_start, false);
        let spaced = std::mem::replace(&mut self.spaced, false);
        let (kind, span) = match first {
            'a'..='z' | 'A'..='Z' | '_' => self.word(),
            '0'..='9' => self.number(),
            '.' if self.byte_at(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            '"' => self.string(),
            '\'' => self.character(),
            '\\' => self.escaped_word(),
            _ if first.is_alphabetic() => self.word(),
            _ => self.punctuation(first),
        };
        Some(Token {
            starts_line,
            spaced,
            ..Token::new(kind, span)
        })
    }

    fn word(&mut self) -> (TokenKind, Span) {
        let len = word_len(self.rest());
        let span = self.take(len);
        let text = spliced(&self.text[span.start..span.end]);
        self.check_ascii(&text, span);
        (TokenKind::Word(text), span)
    }

    fn check_ascii(&mut self, name: &str, span: Span) {
        if !name.is_ascii() {
            self.problem(
                Code::IllegalCharacter,
                span,
                format!("`{name}` contains characters that are not ASCII letters, digits or `_`"),
                Some("names are written in ASCII; put other text into comments or strings"),
            );
        }
    }

    fn escaped_word(&mut self) -> (TokenKind, Span) {
        let len = word_len(&self.rest()[1..]);
        let span = self.take(1 + len);
        if len == 0 || self.text.as_bytes()[span.start + 1].is_ascii_digit() {
            return (TokenKind::Unknown('\\'), span);
        }
        let text = spliced(&self.text[span.start + 1..span.end]);
        self.check_ascii(&text, span);
        (TokenKind::Escaped(text), span)
    }

    /// Everything that a C preprocessor takes for a number; whether Slice does, the parser finds out.
    fn number(&mut self) -> (TokenKind, Span) {
        let bytes = self.rest().as_bytes();
        let is_hex = bytes.starts_with(b"0x") || bytes.starts_with(b"0X");
        let mut len = 0;
        while let Some(byte) = bytes.get(len) {
            let after_exponent = !is_hex && len > 0 && matches!(bytes[len - 1], b'e' | b'E');
            if is_number_part(*byte) || after_exponent && matches!(byte, b'+' | b'-') {
                len += 1;
                continue;
            }
            let splices = splices_len(&self.rest()[len..]);
            let next = bytes.get(len + splices).copied();
            if splices == 0 || !next.is_some_and(is_number_part) {
                break;
            }
            len += splices;
        }
        let span = self.take(len);
        let text = spliced(&self.text[span.start..span.end]);
        (TokenKind::Number(text), span)
    }

    /// A string literal; its token keeps the escapes. A backslash also hides an end of line.
    fn string(&mut self) -> (TokenKind, Span) {
        let bytes = self.rest().as_bytes();
        let mut len = 1;
        loop {
            match bytes.get(len) {
                Some(b'"') => break,
                Some(b'\\') if bytes.get(len + 1) == Some(&b'\r') => len += 3,
                Some(b'\\') => len += 2,
                None | Some(b'\n') => return self.unterminated_string(len),
                Some(_) => len += 1,
            }
        }
        let span = self.take(len + 1);
        let text = self.text[span.start + 1..span.end - 1].into();
        (TokenKind::Str(text), span)
    }

    fn unterminated_string(&mut self, len: usize) -> (TokenKind, Span) {
        let mut len = len.min(self.rest().len());
        while !self.rest().is_char_boundary(len) {
            len -= 1;
        }
        let len = self.rest()[..len].trim_end_matches('\r').len();
        let span = self.take(len);
        let kind = TokenKind::Str(self.text[span.start + 1..span.end].into());
        self.problem(
            Code::UnterminatedString,
            span,
            "this string has no closing quote on its line".to_owned(),
            Some("write a newline inside a string as `\\n`"),
        );
        (kind, span)
    }

    /// A character constant of a condition, `'a'`; its token keeps the escapes. An apostrophe that no
    /// other closes on its line, near enough for the eight characters that mean something, stands alone.
    fn character(&mut self) -> (TokenKind, Span) {
        let mut is_escaped = false;
        let near = self.rest().char_indices().take(CHARACTER_LEN_MAX);
        let near = near.take_while(|(_, character)| *character != '\n');
        let close = near.skip(1).find(|(_, character)| {
            let closes = *character == '\'' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            closes
        });
        let Some((close, _)) = close.filter(|(at, _)| *at > 1) else {
            return (TokenKind::Unknown('\''), self.take(1));
        };
        let span = self.take(close + 1);
        let text = self.text[span.start + 1..span.end - 1].into();
        (TokenKind::Char(text), span)
    }

    fn punctuation(&mut self, first: char) -> (TokenKind, Span) {
        let (kind, len) = match first {
            ':' if self.rest().starts_with("::") => (TokenKind::Scope, 2),
            '[' if self.rest().starts_with("[[") => (TokenKind::OpenFile, 2),
            ']' if self.rest().starts_with("]]") => (TokenKind::CloseFile, 2),
            _ if PUNCTUATION.contains(first) => (TokenKind::Punct(first), 1),
            _ => (TokenKind::Unknown(first), first.len_utf8()),
        };
        (kind, self.take(len))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn byte_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn take(&mut self, len: usize) -> Span {
        let start = self.at;
        self.at += len;
        self.span_from(start)
    }

    fn span_from(&self, start: usize) -> Span {
        Span {
            file: self.file,
            start,
            end: self.at,
        }
    }

    fn problem(&mut self, code: Code, span: Span, message: String, help: Option<&'static str>) {
        self.problems.push(Problem {
            code,
            span,
            message,
            help,
        });
    }
}

/// How far an apostrophe is looked for that closes another, in characters. Without a limit a line of apostrophes that all
/// stand alone would be read as often as it has some.
const CHARACTER_LEN_MAX: usize = 128;

/// The punctuation of Slice, of the preprocessor and of its conditions.
const PUNCTUATION: &str = "{}()[]<>,;:=*+-/%!&|^~?#";

fn is_number_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')
}

/// The length of the word that a text begins with, with the ends of lines that stand in it behind a
/// backslash.
fn word_len(text: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut len = 0;
    loop {
        let rest = &text[len..];
        len += rest.find(|one| !is_part(one)).unwrap_or(rest.len());
        let splices = splices_len(&text[len..]);
        if len == 0 || splices == 0 || !text[len + splices..].starts_with(is_part) {
            return len;
        }
        len += splices;
    }
}

/// The length of the ends of lines, each behind a backslash, that a text begins with.
fn splices_len(text: &str) -> usize {
    let mut rest = text;
    while let Some(next) = rest.strip_prefix("\\\n").or(rest.strip_prefix("\\\r\n")) {
        rest = next;
    }
    text.len() - rest.len()
}

/// A word or number without the ends of lines that stand in it behind a backslash.
fn spliced(text: &str) -> Rc<str> {
    match text.contains('\\') {
        true => text.replace("\\\r\n", "").replace("\\\n", "").into(),
        false => text.into(),
    }
}
