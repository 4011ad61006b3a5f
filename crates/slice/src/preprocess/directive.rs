//! Directives: the lines that begin with `#`.

use super::condition::evaluate;
use super::macros::Macro;
use super::{Abort, Preprocessor, Reader};
use crate::check::nearest;
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::lexer::{Lexer, Token, TokenKind};

const DIRECTIVES: &str = "#include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif, \
                          #pragma, #line, #error";

/// The largest line number that Ice's preprocessor takes.
const MAX_LINE: u32 = 32_767;

impl Preprocessor<'_, '_> {
    /// Obeys the directive whose `#` was just read, and leaves the reader at the end of its line.
    pub(super) fn directive(&mut self, reader: &mut Reader, hash: Span) -> Result<(), Abort> {
        let name = reader.lexer.next_in_line();
        let span = name.as_ref().map_or(hash, |name| hash.to(name.span));
        let word = name.as_ref().and_then(Token::word);
        let is_37 = self.options.language == Language::V37;
        let is_empty = name
            .as_ref()
            .is_none_or(|name| matches!(name.kind, TokenKind::Number(_)) && !is_37);
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
                    if !self.refuse_place(&name) {
                        self.macros.remove(name.source().as_str());
                    }
                    self.end_of_directive(&mut reader.lexer);
                }
                Ok(())
            }
            Some("pragma") => {
                self.pragma(reader, span);
                Ok(())
            }
            Some("error") => {
                self.user_error(&mut reader.lexer, span);
                Ok(())
            }
            Some("line") => {
                self.line(&mut reader.lexer, span)?;
                Ok(())
            }
            // `#` alone is legal, and `# 12 "file"`, which other preprocessors leave behind, does no
            // harm; Ice 3.7 refuses it.
            None if is_empty => Ok(()),
            _ => {
                self.unknown_directive(word.unwrap_or_default(), span);
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
            "endif" => {
                let outcome = reader.conditions.close();
                self.end_of_conditional(reader);
                outcome
            }
            "else" => {
                let outcome = reader.conditions.alternate(None);
                self.end_of_conditional(reader);
                outcome
            }
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
                            self.end_of_directive(&mut reader.lexer);
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
        let tokens = self.replace_defined(|| lexer.next_in_line());
        let mut expanded = self.expand_line(tokens, span)?.into_iter();
        // Observed: slice2cpp of Ice 3.7.8 takes a `defined` that comes of a macro when macros are expanded
        // in what follows it, which must be a name still.
        let tokens = self.replace_defined(|| expanded.next());
        match evaluate(&tokens) {
            Ok(is_true) => Ok(is_true),
            Err((place, message)) => {
                let help = "a condition is built of integers, macros, defined(NAME), and the operators of C";
                self.error(Code::BadDirective, place.unwrap_or(span), message, help);
                Ok(false)
            }
        }
    }

    /// The tokens with a number in the place of each `defined`.
    fn replace_defined(&mut self, mut next: impl FnMut() -> Option<Token>) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(token) = next() {
            tokens.push(match token.word() {
                Some("defined") => self.defined(token, &mut next),
                _ => token,
            });
        }
        tokens
    }

    /// `defined NAME` or `defined(NAME)` as the number 0 or 1.
    fn defined(&mut self, defined: Token, mut next: impl FnMut() -> Option<Token>) -> Token {
        let mut name = next();
        let has_parenthesis = name.as_ref().is_some_and(|token| token.is('('));
        if has_parenthesis {
            name = next();
        }
        let name = name.as_ref().and_then(Token::word);
        let value = name.is_some_and(|name| self.macros.contains(name));
        let is_closed = !has_parenthesis || next().is_some_and(|token| token.is(')'));
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

    pub(super) fn warn_if_redefined(&mut self, name: &Token, definition: &Macro) {
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

    pub(super) fn macro_name(&mut self, lexer: &mut Lexer, span: Span) -> Option<Token> {
        let token = lexer.next_in_line();
        if token.as_ref().is_none_or(|token| token.word().is_none()) {
            let message = "the name of a macro is missing";
            let help = "write the name after the directive";
            self.error(Code::BadDirective, span, message, help);
            return None;
        }
        token
    }

    /// `#pragma once`; no other means anything. Observed: slice2cpp of Ice 3.7.8 refuses the others too,
    /// but ignores what does not begin with a word.
    fn pragma(&mut self, reader: &mut Reader, span: Span) {
        let what = reader.lexer.next_in_line();
        if what.as_ref().and_then(Token::word) == Some("once") {
            self.once.insert(reader.file);
            self.end_of_directive(&mut reader.lexer);
        } else if let Some(what) = what {
            let (code, message) = match what.word() {
                Some(_) => (Code::BadDirective, "this pragma is unknown"),
                None => (Code::IgnoredDirective, "this pragma means nothing"),
            };
            let help = "the only one is `#pragma once`: remove this line";
            self.error(code, span, message, help);
        }
    }

    /// `#line 12 "file"`: what `__LINE__` and `__FILE__` are from the next line on. Messages go on to
    /// tell the places in the text itself.
    fn line(&mut self, lexer: &mut Lexer, span: Span) -> Result<(), Abort> {
        let mut tokens = Vec::new();
        while let Some(token) = lexer.next_in_line() {
            tokens.push(token);
        }
        let tokens = self.expand_line(tokens, span)?;
        let kinds: Vec<&TokenKind> = tokens.iter().map(|token| &token.kind).collect();
        let (number, name) = match kinds.as_slice() {
            [TokenKind::Number(number)] => (number.parse::<u32>(), None),
            [TokenKind::Number(number), TokenKind::Str(name)] => (number.parse(), Some(name)),
            _ => ("".parse(), None),
        };
        let Some(number) = number.ok().filter(|number| (1..=MAX_LINE).contains(number)) else {
            let message = "`#line` is followed by a number and perhaps a file name";
            let help = format!(
                "write `#line 12` or `#line 12 \"file.ice\"`; lines are from 1 to {MAX_LINE}"
            );
            self.error(Code::BadDirective, span, message, &help);
            return Ok(());
        };
        let here = self.files.sources.position(span).line as i64;
        self.place.shift = i64::from(number) - (here + 1);
        if let Some(name) = name {
            self.place.name = Some((*name).clone());
        }
        Ok(())
    }

    fn unknown_directive(&mut self, word: &str, span: Span) {
        let message = match word {
            "" => "this is not a preprocessor directive".to_owned(),
            _ => format!("`#{word}` is not a directive that Slice knows"),
        };
        let known = DIRECTIVES.split(&['#', ',', ' '][..]);
        let known = known.filter(|word| !word.is_empty());
        let help = match word {
            "include_next" | "import" => "did you mean `#include`?".to_owned(),
            _ => match nearest(word, known) {
                Some(meant) => format!("did you mean `#{meant}`?"),
                None => format!("the directives are {DIRECTIVES}"),
            },
        };
        self.error(Code::BadDirective, span, message, &help);
    }

    fn end_of_conditional(&mut self, reader: &mut Reader) {
        if reader.conditions.are_met() {
            self.end_of_directive(&mut reader.lexer);
        }
    }

    /// Reports what stands behind a directive that is complete.
    pub(super) fn end_of_directive(&mut self, lexer: &mut Lexer) {
        if let Some(extra) = lexer.next_in_line() {
            let message = format!(
                "`{}` stands behind the end of the directive",
                extra.source()
            );
            let help = "remove it, or make it a comment";
            self.error(Code::BadDirective, extra.span, message, help);
        }
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
