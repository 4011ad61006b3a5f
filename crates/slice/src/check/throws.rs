//! Checks the exceptions that an operation throws, some of which never reach the caller.

use super::{Checker, Context};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{DefinitionId, DefinitionKind};
use crate::parse::ast::{self, ScopedName};

impl Checker {
    /// The exceptions of a `throws` clause, each once.
    pub(super) fn throws(&mut self, names: &[ScopedName], context: Context) -> Vec<DefinitionId> {
        let mut found: Vec<(DefinitionId, Span)> = Vec::new();
        for name in names {
            let Some(id) = self.find_definition(name, context, "exception") else {
                continue;
            };
            if !matches!(self.definition(id).kind, DefinitionKind::Exception(_)) {
                let message = format!(
                    "`{}` is {} and cannot be thrown",
                    name.text(),
                    self.noun(id)
                );
                let diagnostic = Diagnostic::new(Code::WrongKind, name.span, message)
                    .label(self.definition(id).span, "defined here")
                    .help("only exceptions are thrown");
                self.report(diagnostic);
            } else if let Some((_, before)) = found.iter().find(|(known, _)| *known == id) {
                let message = format!("the exception `{}` is listed twice", name.text());
                let diagnostic = Diagnostic::new(Code::DuplicateThrows, name.span, message)
                    .label(*before, "first listed here")
                    .help("remove one of them");
                self.report(diagnostic);
            } else {
                found.push((id, name.span));
            }
        }
        self.check_covered(&found);
        found.into_iter().map(|(id, _)| id).collect()
    }

    /// Warns of an exception that the clause allows already, as it names a base of it.
    fn check_covered(&mut self, throws: &[(DefinitionId, Span)]) {
        for (id, span) in throws {
            if self.is_suppressed(*span, "unreachable-throws") {
                continue;
            }
            let mut base = self.base_of(*id);
            while let Some(ancestor) = base {
                if let Some((_, covers)) = throws.iter().find(|(id, _)| *id == ancestor) {
                    let (name, of) = (self.simple_name(*id), self.simple_name(ancestor));
                    let message = format!("`{name}` is thrown already: it extends `{of}`");
                    let diagnostic = Diagnostic::new(Code::UnreachableThrows, *span, message)
                        .label(*covers, "this covers all that extend it")
                        .help("remove it from the clause; a caller gets the exception as it was thrown");
                    self.report(diagnostic);
                    break;
                }
                base = self.base_of(ancestor);
            }
        }
    }

    /// Warns of results that nobody gets, as the operation is only invoked oneway.
    pub(super) fn check_oneway(&mut self, operation: &ast::Operation) {
        let mut metadata = operation.prelude.metadata.iter();
        let Some(oneway) = metadata.find(|it| it.text == "oneway") else {
            return;
        };
        let out = operation.parameters.iter().find(|it| it.is_out);
        let place = match (&operation.returns, out, operation.throws.first()) {
            (Some((_, returned)), _, _) => (returned.span, "this value never arrives"),
            (None, Some(out), _) => (out.name.span, "this value never arrives"),
            (None, None, Some(throws)) => (throws.span, "this exception never arrives"),
            (None, None, None) => return,
        };
        let name = &operation.name;
        if self.is_suppressed(name.span, "oneway-result") {
            return;
        }
        let message = format!("`{}` is invoked oneway, and nothing comes back", name.text);
        let diagnostic = Diagnostic::new(Code::OnewayResult, oneway.span, message)
            .label(place.0, place.1)
            .help("remove the metadata `oneway`, or make the operation `void` without `out` and `throws`");
        self.report(diagnostic);
    }

    fn base_of(&self, id: DefinitionId) -> Option<DefinitionId> {
        match &self.definition(id).kind {
            DefinitionKind::Exception(exception) => exception.base,
            _ => None,
        }
    }

    fn simple_name(&self, id: DefinitionId) -> String {
        self.definition(id).name.clone()
    }
}
