//! Conditional groups, and the expressions of `#if` and `#elif`.

use super::number::{Number, apply, character, integer};
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::lexer::{Token, TokenKind};

/// How deep parentheses and signs may nest in an expression.
const MAX_EXPRESSION_DEPTH: usize = 100;

/// The conditional groups that are open in a file.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    groups: Vec<Group>,
}

/// One `#if` that has not met its `#endif`.
#[derive(Debug)]
struct Group {
    opened: Span,
    /// True if the text between here and the next `#elif`, `#else` or `#endif` counts.
    is_met: bool,
    /// True if a branch of this group has counted, or none may because the group itself is skipped.
    is_decided: bool,
    has_else: bool,
}

impl Conditions {
    /// Returns true if the text here counts.
    pub(super) fn are_met(&self) -> bool {
        self.groups.last().is_none_or(|group| group.is_met)
    }

    /// `#if` whose condition is true or false; `false` in a skipped group.
    pub(super) fn open(&mut self, opened: Span, is_true: bool) {
        let is_reached = self.are_met();
        self.groups.push(Group {
            opened,
            is_met: is_reached && is_true,
            is_decided: !is_reached || is_true,
            has_else: false,
        });
    }

    /// Returns true if the condition of an `#elif` here matters.
    pub(super) fn wants_elif(&self) -> bool {
        self.groups.last().is_some_and(|group| !group.is_decided)
    }

    /// `#elif` (with its condition) or `#else` (`None`).
    ///
    /// # Errors
    /// A message if it stands wrong.
    pub(super) fn alternate(&mut self, condition: Option<bool>) -> Result<(), &'static str> {
        let group = self.groups.last_mut().ok_or("no #if is open here")?;
        if group.has_else {
            return Err("this #if already has an #else");
        }
        group.has_else = condition.is_none();
        group.is_met = !group.is_decided && condition.unwrap_or(true);
        group.is_decided |= group.is_met;
        Ok(())
    }

    /// `#endif`.
    ///
    /// # Errors
    /// A message if it stands wrong.
    pub(super) fn close(&mut self) -> Result<(), &'static str> {
        self.groups.pop().map(drop).ok_or("no #if is open here")
    }

    /// Reports the innermost group that the end of the file left open.
    pub(super) fn report_open(&self, reporter: &mut Reporter) {
        if let Some(group) = self.groups.last() {
            let message = "this condition has no #endif";
            let diagnostic = Diagnostic::new(Code::UnbalancedConditional, group.opened, message);
            reporter.report(diagnostic.help("add `#endif` after the text that depends on it"));
        }
    }
}

/// Describes the error in an expression, and its place if a token is to blame.
pub(super) type ExpressionError = (Option<Span>, String);

/// Evaluates an expression whose macros are expanded and whose `defined` are replaced.
pub(super) fn evaluate(tokens: &[Token]) -> Result<bool, ExpressionError> {
    let mut parser = Expression {
        tokens,
        at: 0,
        depth: 0,
    };
    let value = parser.ternary(true)?;
    match parser.tokens.get(parser.at) {
        Some(extra) => Err(unexpected(extra)),
        None => Ok(value.is_true()),
    }
}

struct Expression<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

impl Expression<'_> {
    /// `live` is false in a part that does not matter, such as the right of `0 &&`: there a
    /// division by zero is no error.
    fn ternary(&mut self, live: bool) -> Result<Number, ExpressionError> {
        self.enter()?;
        let condition = self.binary(0, live)?;
        let value = if self.take("?") {
            let yes = self.ternary(live && condition.is_true())?;
            if !self.take(":") {
                return Err((self.here(), "expected `:` after `?`".to_owned()));
            }
            let no = self.ternary(live && !condition.is_true())?;
            Number {
                bits: if condition.is_true() {
                    yes.bits
                } else {
                    no.bits
                },
                is_unsigned: yes.is_unsigned || no.is_unsigned,
            }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, level: usize, live: bool) -> Result<Number, ExpressionError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(live);
        };
        let mut left = self.binary(level + 1, live)?;
        while let Some(operator) = operators.iter().find(|operator| self.take(operator)) {
            let live = live
                && match *operator {
                    "&&" => left.is_true(),
                    "||" => !left.is_true(),
                    _ => true,
                };
            let right = self.binary(level + 1, live)?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if live => return Err((self.here(), "division by zero".to_owned())),
                None => left,
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Result<Number, ExpressionError> {
        self.enter()?;
        let value = if self.take("!") {
            Number::from(!self.unary(live)?.is_true())
        } else if self.take("-") {
            self.unary(live)?.map(i64::wrapping_neg)
        } else if self.take("+") {
            self.unary(live)?
        } else if self.take("~") {
            self.unary(live)?.map(|bits| !bits)
        } else if self.take("(") {
            let value = self.ternary(live)?;
            if !self.take(")") {
                return Err((self.here(), "expected `)`".to_owned()));
            }
            value
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<Number, ExpressionError> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err((None, "expected a value".to_owned()));
        };
        self.at += 1;
        match &token.kind {
            TokenKind::Number(text) => integer(text)
                .ok_or_else(|| (Some(token.span), format!("`{text}` is not an integer"))),
            TokenKind::Char(text) => character(text).ok_or_else(|| {
                let message = format!("`'{text}'` is not a character constant");
                (Some(token.span), message)
            }),
            // A name that is not a macro counts as 0, in C as here.
            TokenKind::Word(_) => Ok(Number::from(false)),
            _ => Err(unexpected(token)),
        }
    }

    /// Takes an operator if it comes next; its characters are tokens that touch.
    fn take(&mut self, operator: &str) -> bool {
        let characters: Vec<char> = operator.chars().collect();
        for (index, character) in characters.iter().enumerate() {
            match self.tokens.get(self.at + index) {
                Some(token) if token.is(*character) && (index == 0 || !token.spaced) => {}
                _ => return false,
            }
        }
        let next = self.tokens.get(self.at + characters.len());
        let continues = |with: char| next.is_some_and(|token| token.is(with) && !token.spaced);
        let is_longer = match operator {
            "<" | ">" => continues('=') || continues(operator.chars().next().unwrap_or('<')),
            "!" => continues('='),
            "&" => continues('&'),
            "|" => continues('|'),
            _ => false,
        };
        if !is_longer {
            self.at += characters.len();
        }
        !is_longer
    }

    fn here(&self) -> Option<Span> {
        self.tokens.get(self.at).map(|token| token.span)
    }

    fn enter(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_EXPRESSION_DEPTH {
            return Err((self.here(), "the expression nests too deep".to_owned()));
        }
        Ok(())
    }
}

/// Binary operators, loosest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

fn unexpected(token: &Token) -> ExpressionError {
    let message = format!("unexpected `{}` in the condition", token.source());
    (Some(token.span), message)
}
