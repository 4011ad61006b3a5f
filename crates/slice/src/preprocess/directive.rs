//! Directives: the lines that begin with `#`.

use std::rc::Rc;

use super::condition::evaluate;
use super::macros::Macro;
use super::{Abort, Preprocessor, Reader};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::{Lexer, Token, TokenKind};

const DIRECTIVES: &str = "the directives are #include, #define, #undef, #if, #ifdef, #ifndef, \
                          #elif, #else, #endif, #pragma, #line and #error";

impl Preprocessor<'_, '_> {
    /// Obeys the directive whose `#` was just read, and leaves the reader at the end of its line.
    pub(super) fn directive(&mut self, reader: &mut Reader, hash: Span) -> Result<(), Abort> {
        let name = reader.lexer.next_in_line();
        let span = name.as_ref().map_or(hash, |name| hash.to(name.span));
        let word = name.as_ref().and_then(Token::word);
        let is_empty = name
            .as_ref()
            .is_none_or(|name| matches!(name.kind, TokenKind::Number(_)));
        let is_read = reader.conditions.are_met();
        let result = match word {
            Some("if" | "ifdef" | "ifndef" | "elif" | "else" | "endif") => {
                self.conditional(reader, word.unwrap_or_default(), span)
            }
            _ if !is_read => Ok(()),
            Some("include") => self.include(reader, span),
            Some("define") => {
                self.define(&mut reader.lexer, span);
                Ok(())
            }
            Some("undef") => {
                if let Some(name) = self.macro_name(&mut reader.lexer, span) {
                    self.macros.remove(name.source().as_str());
                }
                Ok(())
            }
            Some("pragma") => {
                let what = reader.lexer.next_in_line();
                if what.as_ref().and_then(Token::word) == Some("once") {
                    self.once.insert(reader.file);
                }
                Ok(())
            }
            Some("error") => {
                self.user_error(&mut reader.lexer, span);
                Ok(())
            }
            Some("line") => Ok(()),
            // `#` alone is legal, and `# 12 "file"` is what other preprocessors leave behind.
            None if is_empty => Ok(()),
            _ => {
                let message = "this is not a preprocessor directive";
                self.error(Code::BadDirective, span, message, DIRECTIVES);
                Ok(())
            }
        };
        reader.lexer.skip_line();
        if is_read && reader.conditions.are_met() {
            self.report_problems(&mut reader.lexer);
        }
        reader.lexer.take_problems();
        result
    }

    fn conditional(&mut self, reader: &mut Reader, word: &str, span: Span) -> Result<(), Abort> {
        let is_read = reader.conditions.are_met();
        let outcome = match word {
            "endif" => reader.conditions.close(),
            "else" => reader.conditions.alternate(None),
            "elif" => {
                let is_true =
                    reader.conditions.wants_elif() && self.condition(&mut reader.lexer, span)?;
                reader.conditions.alternate(Some(is_true))
            }
            "if" => {
                let is_true = is_read && self.condition(&mut reader.lexer, span)?;
                reader.conditions.open(span, is_true);
                Ok(())
            }
            _ => {
                let is_true = is_read
                    && self
                        .macro_name(&mut reader.lexer, span)
                        .is_some_and(|name| {
                            self.macros.contains(&name.source()) == (word == "ifdef")
                        });
                reader.conditions.open(span, is_true);
                Ok(())
            }
        };
        if let Err(message) = outcome {
            let help = "each #else and #endif belongs to one #if, #ifdef or #ifndef of its file";
            self.error(Code::UnbalancedConditional, span, message, help);
        }
        Ok(())
    }

    fn condition(&mut self, lexer: &mut Lexer, span: Span) -> Result<bool, Abort> {
        let mut tokens = Vec::new();
        while let Some(token) = lexer.next_in_line() {
            if token.word() == Some("defined") {
                tokens.push(self.defined(lexer, token));
            } else {
                tokens.push(token);
            }
        }
        let tokens = self.expand_line(tokens)?;
        match evaluate(&tokens) {
            Ok(value) => Ok(value != 0),
            Err((place, message)) => {
                let help = "a condition is built of integers, macros, defined(NAME), and the operators of C";
                self.error(Code::BadDirective, place.unwrap_or(span), message, help);
                Ok(false)
            }
        }
    }

    /// `defined NAME` or `defined(NAME)` as the number 0 or 1.
    fn defined(&mut self, lexer: &mut Lexer, defined: Token) -> Token {
        let mut next = lexer.next_in_line();
        let has_parenthesis = next.as_ref().is_some_and(|token| token.is('('));
        if has_parenthesis {
            next = lexer.next_in_line();
        }
        let name = next.as_ref().and_then(Token::word);
        let value = name.is_some_and(|name| self.macros.contains(name));
        let is_closed = !has_parenthesis || lexer.next_in_line().is_some_and(|token| token.is(')'));
        if name.is_none() || !is_closed {
            let message = "`defined` is followed by a name or by a name in parentheses";
            let help = "write `defined(NAME)`";
            self.error(Code::BadDirective, defined.span, message, help);
        }
        let digit = if value { "1" } else { "0" };
        Token {
            kind: TokenKind::Number(digit.into()),
            ..defined
        }
    }

    fn define(&mut self, lexer: &mut Lexer, span: Span) {
        let Some(name) = self.macro_name(lexer, span) else {
            return;
        };
        let mut body = Vec::new();
        let mut parameters = None;
        if let Some(first) = lexer.next_in_line() {
            if first.is('(') && !first.spaced {
                parameters = self.parameters(lexer, name.span);
                if parameters.is_none() {
                    return;
                }
            } else {
                body.push(first);
            }
        }
        while let Some(token) = lexer.next_in_line() {
            body.push(token);
        }
        let definition = Macro {
            parameters,
            body: body.into(),
            defined: Some(name.span),
        };
        self.warn_if_redefined(&name, &definition);
        self.macros.insert(name.source().into(), definition);
    }

    fn parameters(&mut self, lexer: &mut Lexer, name: Span) -> Option<Vec<Rc<str>>> {
        let mut parameters = Vec::new();
        loop {
            let token = lexer.next_in_line();
            match token.as_ref().map(|token| &token.kind) {
                Some(TokenKind::Punct(')')) if parameters.is_empty() => return Some(parameters),
                Some(TokenKind::Word(word)) => parameters.push(word.clone()),
                _ => break,
            }
            match lexer.next_in_line() {
                Some(token) if token.is(')') => return Some(parameters),
                Some(token) if token.is(',') => {}
                _ => break,
            }
        }
        let message = "the parameters of this macro are not a list of names";
        let help = "write `#define NAME(first, second) text`";
        self.error(Code::BadDirective, name, message, help);
        None
    }

    fn warn_if_redefined(&mut self, name: &Token, definition: &Macro) {
        let Some(before) = self.macros.get(&name.source()) else {
            return;
        };
        let Some(defined) = before.defined.filter(|_| !before.is_same(definition)) else {
            return;
        };
        let message = format!("the macro `{}` gets another definition", name.source());
        let diagnostic = Diagnostic::new(Code::MacroRedefined, name.span, message)
            .label(defined, "first defined here")
            .help("write `#undef` before it if this is meant");
        self.reporter.report(diagnostic);
    }

    fn macro_name(&mut self, lexer: &mut Lexer, span: Span) -> Option<Token> {
        let token = lexer.next_in_line();
        if token.as_ref().is_none_or(|token| token.word().is_none()) {
            let message = "the name of a macro is missing";
            let help = "write the name after the directive";
            self.error(Code::BadDirective, span, message, help);
            return None;
        }
        token
    }

    fn user_error(&mut self, lexer: &mut Lexer, span: Span) {
        let mut words = Vec::new();
        while let Some(token) = lexer.next_in_line() {
            words.push(token.source());
        }
        lexer.take_problems();
        let message = format!("#error {}", words.join(" "));
        let diagnostic = Diagnostic::new(Code::UserError, span, message.trim());
        self.reporter.report(diagnostic);
    }
}
