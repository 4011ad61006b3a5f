//! Data members of structs, classes and exceptions.

use std::collections::HashMap;

use super::container::Names;
use super::{Checker, Context, doc, metadata};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{DefinitionId, Member, Type};
use crate::parse::ast::{self, Tag, Value};

/// Tags that are taken, with their place.
pub(super) type Tags = HashMap<i32, Span>;

impl Checker {
    /// Checks members in order; those that are wrong are reported and left out.
    pub(super) fn members(
        &mut self,
        members: &[ast::Member],
        names: &mut Names,
        context: Context,
    ) -> Vec<Member> {
        let mut tags = Tags::new();
        let checked = members.iter();
        checked
            .filter_map(|member| self.member(member, names, &mut tags, context))
            .collect()
    }

    fn member(
        &mut self,
        member: &ast::Member,
        names: &mut Names,
        tags: &mut Tags,
        context: Context,
    ) -> Option<Member> {
        self.check_metadata(&member.prelude.metadata, metadata::Place::Member);
        let hidden = values_of(member).filter(|value| self.is_hidden_value(value, names));
        let is_hidden = hidden.count() > 0;
        let is_new = self.add_name(&member.name, "member", names);
        let resolved = self.resolve_type(&member.r#type, context);
        if is_hidden {
            return None;
        }
        let tag = self.tag(member.tag.as_ref(), tags, context);
        let r#type = resolved?;
        self.check_optional_type(tag, r#type, member.r#type.span);
        let default = match &member.default {
            Some(value) => Some(self.value(r#type, value, context)?),
            None => None,
        };
        is_new.then(|| Member {
            name: member.name.text.clone(),
            r#type,
            tag,
            default,
            metadata: member.prelude.metadata.clone(),
            doc: member.prelude.doc.as_deref().and_then(doc::clean),
            span: member.name.span,
        })
    }

    /// The value of a tag, which no other may have.
    pub(super) fn tag(
        &mut self,
        tag: Option<&Tag>,
        tags: &mut Tags,
        context: Context,
    ) -> Option<i32> {
        let tag = tag?;
        let value = self.integer(&tag.value, context)?;
        let Ok(number @ 0..) = i32::try_from(value) else {
            let message = format!("the tag {value} is out of range");
            let help = "tags are from 0 to 2147483647";
            self.error(Code::BadTag, tag.value.span, message, help);
            return None;
        };
        if let Some(before) = tags.insert(number, tag.span) {
            let message = format!("the tag {number} is used twice");
            let diagnostic = Diagnostic::new(Code::BadTag, tag.span, message)
                .label(before, "first used here")
                .help("give each optional a tag of its own");
            self.report(diagnostic);
        }
        Some(number)
    }

    /// Ice 3.8 has no optional classes.
    pub(super) fn check_optional_type(&mut self, tag: Option<i32>, r#type: Type, span: Span) {
        if tag.is_some() && self.is_38() && self.uses_classes(r#type) {
            let message = "in Ice 3.8, an optional cannot be a class or contain one";
            let help = "a class can be null: it needs no `optional`";
            self.error(Code::OptionalNotAllowed, span, message, help);
        }
    }

    /// How deep the types of members build on others.
    pub(super) fn type_depth(&self, r#type: Type) -> usize {
        match r#type {
            Type::Named(id) => self.value_depth(id),
            _ => 0,
        }
    }

    /// A class is a reference: what contains it does not contain its members.
    fn value_depth(&self, id: DefinitionId) -> usize {
        match self.definition(id).kind {
            crate::model::DefinitionKind::Class(_) => 0,
            _ => self.facts[id.0].depth,
        }
    }

    /// Returns true if a value of the type may hold a class instance.
    pub(super) fn uses_classes(&self, r#type: Type) -> bool {
        super::uses_classes::uses_classes(&self.definitions, r#type)
    }
}

/// The tag and the default value of a member.
pub(super) fn values_of(member: &ast::Member) -> impl Iterator<Item = &Value> {
    let tag = member.tag.as_ref().map(|tag| &tag.value);
    tag.into_iter().chain(&member.default)
}
