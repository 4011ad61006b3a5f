//! Names at their definition and at their use.

use super::ast::{Name, ScopedName};
use super::{Failed, Parsed, Parser};
use crate::diagnostic::{Code, Span};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// A name for `what`.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        let Some(token) = self.peek() else {
            return self.unexpected(&format!("expected a name for {what}"));
        };
        let span = token.span;
        let text = match &token.kind {
            TokenKind::Word(word) if self.is_keyword(word) => {
                let word = word.to_string();
                return self.keyword_as_name(what, word);
            }
            TokenKind::Word(word) | TokenKind::Escaped(word) => word.to_string(),
            _ => return self.unexpected(&format!("expected a name for {what}")),
        };
        self.at += 1;
        Ok(Name { text, span })
    }

    /// Reports a keyword where a name is needed. If what follows fits a name, it is taken as one.
    fn keyword_as_name(&mut self, what: &str, word: String) -> Parsed<Name> {
        let span = self.here();
        let message = format!("`{word}` is a keyword and cannot name {what}");
        let help = format!("write `\\{word}`, or choose another name");
        self.error(Code::KeywordAsName, span, message, &help);
        let fits = self.peek_at(1).is_some_and(|next| {
            matches!(
                next.kind,
                TokenKind::Punct(';' | ',' | ')' | '(' | '{' | '}' | '=') | TokenKind::Scope
            )
        });
        if !fits {
            return Err(Failed);
        }
        self.at += 1;
        Ok(Name { text: word, span })
    }

    /// A name that is used, perhaps with modules before it.
    pub(super) fn scoped_name(&mut self, what: &str) -> Parsed<ScopedName> {
        let start = self.at;
        let is_absolute = self.eat_kind(&TokenKind::Scope);
        let mut parts = vec![match is_absolute {
            true => self.inner_name(what)?,
            false => self.name(what)?,
        }];
        while self.eat_kind(&TokenKind::Scope) {
            parts.push(self.inner_name(what)?);
        }
        let span = self.tokens[start].span.to(self.previous());
        self.check_scoped_name(start, span);
        Ok(ScopedName {
            is_absolute,
            parts,
            span,
        })
    }

    /// A name behind `::`, where a keyword is none.
    fn inner_name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.peek();
        let word = token.and_then(|token| Some((token.word()?.to_owned(), token.span)));
        let Some((text, span)) = word else {
            return self.name(what);
        };
        self.at += 1;
        Ok(Name { text, span })
    }

    /// To Ice, a name with its modules is one word: no blanks in it, and no backslash but the first.
    pub(super) fn check_scoped_name(&mut self, start: usize, span: Span) {
        let rest = self.tokens[start + 1..self.at].iter();
        let (mut is_spaced, mut is_escaped) = (false, false);
        for token in rest {
            is_spaced |= token.spaced;
            is_escaped |= matches!(token.kind, TokenKind::Escaped(_));
        }
        if is_escaped {
            let message = "no backslash stands behind `::`";
            let help = "remove it: keywords need none there";
            self.error(Code::Syntax, span, message, help);
        } else if is_spaced {
            let message = "no blanks stand around `::`";
            self.error(Code::Syntax, span, message, "remove them");
        }
    }

    /// Names with commas between them.
    pub(super) fn scoped_names(&mut self, what: &str) -> Parsed<Vec<ScopedName>> {
        let mut names = vec![self.scoped_name(what)?];
        while self.eat(',') {
            names.push(self.scoped_name(what)?);
        }
        Ok(names)
    }
}
