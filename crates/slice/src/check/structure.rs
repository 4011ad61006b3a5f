//! Structs.

use super::container::Names;
use super::scope::Target;
use super::{Checker, Context};
use crate::diagnostic::Code;
use crate::model::{DefinitionId, DefinitionKind, Struct};
use crate::parse::ast::{self, Name, TypeKind};

impl Checker {
    pub(super) fn structure(
        &mut self,
        name: &Name,
        members: &[ast::Member],
        has_errors: bool,
        context: Context,
    ) -> Option<DefinitionKind> {
        if members.is_empty() && has_errors {
            return None;
        }
        if members.is_empty() {
            let message = format!("the struct `{}` has no members", name.text);
            let help = "a struct has at least one member";
            self.error(Code::EmptyDefinition, name.span, message, help);
            return None;
        }
        for member in members {
            if let Some(tag) = &member.tag {
                let message = format!("the member `{}` of a struct is optional", member.name.text);
                let help = "only classes, exceptions and operations have optionals";
                self.error(Code::OptionalNotAllowed, tag.span, message, help);
            }
        }
        self.check_recursion(name, members, context)?;
        let mut members = self.members(members, &mut Names::default(), context.body());
        members.iter_mut().for_each(|member| member.tag = None);
        let depths: Vec<usize> = members.iter().map(|m| self.type_depth(m.r#type)).collect();
        let depth = self.depth_above(depths, name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Struct(Struct { members }))
    }

    fn check_recursion(
        &mut self,
        name: &Name,
        members: &[ast::Member],
        context: Context,
    ) -> Option<()> {
        let own = self.scopes.entry(context.scope, &name.text)?.target;
        let mut is_fine = true;
        for member in members {
            let TypeKind::Named(used) = &member.r#type.kind else {
                continue;
            };
            let target = self.lookup_quietly(used, context).map(Target::Definition);
            if target == Some(own) {
                let message = format!("the struct `{}` would contain itself", name.text);
                let help = "a class can refer to its own type, a struct cannot";
                self.error(Code::RecursiveStruct, member.r#type.span, message, help);
                is_fine = false;
            }
        }
        is_fine.then_some(())
    }

    /// Stores how deep a definition builds on others.
    pub(super) fn set_depth(&mut self, name: &Name, context: Context, depth: usize) {
        if let Some(id) = self.own_id(name, context) {
            self.facts[id.0].depth = depth;
        }
    }

    /// The id of the definition whose body is being checked.
    pub(super) fn own_id(&self, name: &Name, context: Context) -> Option<DefinitionId> {
        match self.scopes.entry(context.scope, &name.text)?.target {
            Target::Definition(id) => Some(id),
            _ => None,
        }
    }
}
