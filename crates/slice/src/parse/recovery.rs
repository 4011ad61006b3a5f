//! How the parser goes on after an error.

use super::keyword::begins_definition;
use super::{Failed, Parsed, Parser};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// Skips the rest of a construct that began at `start`: to behind the next `;` or the end of its
    /// block, to before a `}` that closes what surrounds it, or to before the next definition.
    pub(super) fn recover(&mut self, start: usize) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token.kind {
                TokenKind::Punct('{') => depth += 1,
                TokenKind::Punct('}') if depth == 0 => return,
                TokenKind::Punct('}') => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        self.eat(';');
                        return;
                    }
                }
                TokenKind::Punct(';') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                TokenKind::Word(ref word)
                    if depth == 0
                        && self.at > start
                        && token.starts_line
                        && begins_definition(word) =>
                {
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The `;` behind a construct. If it is missing, it is reported and taken as written.
    pub(super) fn semicolon(&mut self, after: &str) {
        if self.eat(';') {
            return;
        }
        let span = self.previous().after();
        let is_known =
            self.previous_is_unterminated() || self.peek().is_none() && self.has_reported_end;
        if !is_known {
            let message = format!("expected `;` after {after}");
            let help = "add a `;` here";
            self.error(Code::MissingSemicolon, span, message, help);
        }
        let goes_on = |token: &Token| {
            !token.starts_line && !token.is('}') && !token.word().is_some_and(begins_definition)
        };
        if self.peek().is_some_and(goes_on) {
            self.recover(self.at);
        }
    }

    /// Returns true if the last token is a string without closing quote, which has swallowed its line.
    fn previous_is_unterminated(&self) -> bool {
        let previous = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        previous.is_some_and(|token| match &token.kind {
            TokenKind::Str(raw) => token.span.end - token.span.start == raw.len() + 1,
            _ => false,
        })
    }

    pub(super) fn lone_semicolon(&mut self) {
        let span = self.here();
        self.at += 1;
        self.error(Code::Syntax, span, "this `;` ends nothing", "remove it");
    }

    /// The `}` of a block that was opened at `open`.
    pub(super) fn close(&mut self, open: Span, what: &str) {
        if self.eat('}') || self.has_reported_end {
            return;
        }
        self.has_reported_end |= self.peek().is_none();
        let message = format!(
            "expected `}}` to close this {what}, found {}",
            self.describe()
        );
        let diagnostic = Diagnostic::new(Code::Syntax, self.here(), message)
            .label(open, format!("the {what} is opened here"));
        self.reporter.report(diagnostic);
    }

    /// `{`, as many as there are of what `one` parses, and `}`.
    pub(super) fn block<T>(
        &mut self,
        what: &str,
        mut one: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let open = self.expect('{', &format!("to open the {what}"))?;
        let mut found = Vec::new();
        while let Some(token) = self.peek() {
            if token.is('}') || self.begins_next_definition() {
                break;
            }
            if token.is(';') {
                self.lone_semicolon();
                continue;
            }
            let start = self.at;
            match one(self) {
                Ok(value) => found.push(value),
                Err(Failed) => {
                    self.recover(start);
                    self.ensure_progress(start);
                }
            }
        }
        self.close(open, what);
        self.eat(';');
        Ok(found)
    }

    /// Returns true if a definition begins here, so that a `}` must be missing before it. `sequence<T> name;` is
    /// more likely meant as a member.
    fn begins_next_definition(&self) -> bool {
        let is_collection = self.peek_at(1).is_some_and(|next| next.is('<'));
        self.peek_word().is_some_and(begins_definition) && !is_collection
    }

    /// Steps over a token that nobody can use, lest the same error comes again for ever.
    pub(super) fn ensure_progress(&mut self, start: usize) {
        if self.at == start && !self.peek_is('}') {
            self.at += 1;
        }
    }
}
