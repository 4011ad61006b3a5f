//! `#define`: the parameters and the text of a macro.

use super::Preprocessor;
use super::macros::{Macro, Parameters, REST};
use crate::diagnostic::{Code, Span};
use crate::lexer::{Lexer, Token, TokenKind};

/// Macros whose text is the place where they stand: the text can neither define nor remove them.
const PLACES: &[&str] = &["__LINE__", "__FILE__"];
/// Names that are no macros. Observed: to slice2cpp of Ice 3.7.8, removing them is no error.
pub(super) const NO_MACROS: &[&str] = &["defined", REST];

impl Preprocessor<'_, '_> {
    pub(super) fn define(&mut self, lexer: &mut Lexer, span: Span) {
        let Some(name) = self.macro_name(lexer, span) else {
            return;
        };
        if NO_MACROS.contains(&name.source().as_str()) {
            self.report_reserved(&name);
            return;
        }
        if self.refuse_place(&name) {
            return;
        }
        let mut body = Vec::new();
        let mut parameters = None;
        if let Some(first) = lexer.next_in_line() {
            if first.is('(') && !first.spaced {
                parameters = parameters_of(|| lexer.next_in_line());
                if parameters.is_none() {
                    let message = "the parameters of this macro are not a list of different names";
                    let help = "write `#define NAME(first, second) text`; `...` may be the last";
                    self.error(Code::BadDirective, name.span, message, help);
                    return;
                }
            } else {
                body.push(first);
            }
        }
        while let Some(token) = lexer.next_in_line() {
            body.push(token);
        }
        self.check_body(&body, parameters.as_ref());
        let definition = Macro {
            parameters,
            body: body.into(),
            defined: Some(name.span),
        };
        self.warn_if_redefined(&name, &definition);
        self.macros.insert(name.source().into(), definition);
    }

    /// Reports a macro that a text can neither define nor remove.
    pub(super) fn refuse_place(&mut self, name: &Token) -> bool {
        let is_place = PLACES.contains(&name.source().as_str());
        if is_place {
            self.report_reserved(name);
        }
        is_place
    }

    fn report_reserved(&mut self, name: &Token) {
        let message = format!("`{}` has a meaning of its own", name.source());
        let help = "choose another name";
        self.error(Code::BadDirective, name.span, message, help);
    }

    /// Reports `##` that joins nothing, and `#` before what is no parameter.
    fn check_body(&mut self, body: &[Token], parameters: Option<&Parameters>) {
        let joins = |at: usize| body.get(at..).is_some_and(begins_with_paste);
        let last = body.len().saturating_sub(2);
        if let Some(at) = [0, last].into_iter().find(|at| joins(*at)) {
            let message = "`##` has nothing to join on one side";
            let help = "write it between two tokens, or remove it";
            self.error(Code::BadDirective, body[at].span, message, help);
            return;
        }
        let Some(parameters) = parameters else {
            return;
        };
        let mut at = 0;
        while at < body.len() {
            if joins(at) {
                at += 2;
                continue;
            }
            let next = body.get(at + 1).and_then(Token::word);
            let is_parameter = next.is_some_and(|name| parameters.index(name).is_some());
            if body[at].is('#') && !is_parameter {
                let message = "`#` stands before a parameter of the macro";
                let help = "write `#` directly before the name of a parameter, or remove it";
                self.error(Code::BadDirective, body[at].span, message, help);
                return;
            }
            at += 1;
        }
    }
}

/// Returns true if tokens begin with `##`.
fn begins_with_paste(tokens: &[Token]) -> bool {
    matches!(tokens, [first, second, ..] if first.is('#') && second.is('#') && !second.spaced)
}

/// The parameters of a macro behind the opening parenthesis, up to the closing one; `None` if they
/// are not a list of names that all differ.
pub(super) fn parameters_of(mut next: impl FnMut() -> Option<Token>) -> Option<Parameters> {
    let mut parameters = Parameters::default();
    loop {
        let token = next()?;
        match token.kind {
            TokenKind::Punct(')') if parameters.len() == 0 => return Some(parameters),
            TokenKind::Word(word) if *word != *REST && parameters.add(word.clone()) => {}
            TokenKind::Punct('.') | TokenKind::Unknown('.') => {
                let rest = [next()?.source(), next()?.source(), next()?.source()];
                let is_rest = rest[0] == "." && rest[1] == "." && rest[2] == ")";
                parameters.add_rest();
                return is_rest.then_some(parameters);
            }
            _ => return None,
        }
        match next()? {
            token if token.is(')') => return Some(parameters),
            token if token.is(',') => {}
            _ => return None,
        }
    }
}
