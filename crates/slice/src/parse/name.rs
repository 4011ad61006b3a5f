//! Names at their definition and at their use.

use super::ast::{Name, ScopedName};
use super::{Failed, Parsed, Parser};
use crate::diagnostic::Code;
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
        let start = self.here();
        let is_absolute = self.eat_kind(&TokenKind::Scope);
        let mut parts = vec![self.name(what)?];
        while self.eat_kind(&TokenKind::Scope) {
            parts.push(self.name(what)?);
        }
        Ok(ScopedName {
            is_absolute,
            parts,
            span: start.to(self.previous()),
        })
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
