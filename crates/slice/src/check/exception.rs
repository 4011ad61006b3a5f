//! Exceptions.

use super::container::Names;
use super::{Checker, Context};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{DefinitionId, DefinitionKind, Exception};
use crate::parse::ast::{self, Name, ScopedName};

impl Checker {
    pub(super) fn exception(
        &mut self,
        name: &Name,
        base: Option<&ScopedName>,
        members: &[ast::Member],
        context: Context,
    ) -> Option<DefinitionKind> {
        let base = match base {
            Some(base) => Some(self.base_exception(base, name, context)?),
            None => None,
        };
        let mut names = Names::default();
        let mut ancestor = base;
        while let Some(id) = ancestor {
            let DefinitionKind::Exception(exception) = &self.definition(id).kind else {
                break;
            };
            for member in &exception.members {
                names.inherit(&member.name, member.span);
            }
            ancestor = exception.base;
        }
        let members = self.members(members, &mut names, context.body());
        let mut depths: Vec<usize> = members.iter().map(|m| self.type_depth(m.r#type)).collect();
        depths.extend(base.map(|base| self.facts[base.0].depth));
        let depth = self.depth_above(depths, name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Exception(Exception { base, members }))
    }

    fn base_exception(
        &mut self,
        base: &ScopedName,
        name: &Name,
        context: Context,
    ) -> Option<DefinitionId> {
        let id = self.find_definition(base, context, "exception")?;
        let is_self = self.facts[id.0].completed.is_none();
        let place = self.definition(id).span;
        if !matches!(self.definition(id).kind, DefinitionKind::Exception(_)) {
            let message = format!(
                "`{}` is {} and not an exception",
                base.text(),
                self.noun(id)
            );
            let diagnostic = Diagnostic::new(Code::WrongKind, base.span, message)
                .label(place, "defined here")
                .help("an exception extends another exception");
            self.report(diagnostic);
            return None;
        }
        if is_self {
            let message = format!("the exception `{}` extends itself", name.text);
            self.error(
                Code::IncompleteType,
                base.span,
                message,
                "name another base",
            );
            return None;
        }
        Some(id)
    }
}
