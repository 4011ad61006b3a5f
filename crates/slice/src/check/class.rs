//! Classes.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::container::Names;
use super::interface::Inherited;
use super::member::values_of;
use super::{Checker, Context};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Class, DefinitionId, DefinitionKind, FileId, Operation};
use crate::parse::ast::{self, Name, ScopedName, TypeKind, Value, ValueKind};

impl Checker {
    pub(super) fn class(
        &mut self,
        name: &Name,
        class: &ast::Class,
        context: Context,
    ) -> Option<DefinitionKind> {
        let compact_id = class
            .compact_id
            .as_ref()
            .and_then(|id| self.compact_id(name, id, context));
        let base = match &class.base {
            Some(base) => Some(self.base_class(name, base, context)?),
            None => None,
        };
        let mut names = self.inherited_members(base);
        let implements = self.implemented(base, &class.implements, context);
        let ancestors = self.ancestors(&implements);
        for operation in self.operations_of(&ancestors) {
            names.inherit(&operation.name, operation.span);
        }
        if !context.is_local {
            self.warn_about_operations(name, class);
        }
        self.check_hidden_by_operations(class);
        let members = self.members(&class.members, &mut names, context.body());
        let operations = self.class_operations(name, class, &mut names, context.body());
        self.remember_operations(name, class.operations.iter(), context);
        let depth = base.map(|base| self.facts[base.0].depth);
        let depth = self.depth_above(depth, name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Class(Class {
            compact_id,
            base,
            implements,
            members,
            operations,
            is_complete: true,
        }))
    }

    /// Reports values of members that are named like an operation before them.
    fn check_hidden_by_operations(&mut self, class: &ast::Class) {
        let mut names = Names::default();
        for operation in &class.operations {
            names.define(&operation.name, "operation");
        }
        for value in class.members.iter().flat_map(values_of) {
            self.is_hidden_value(value, &names);
        }
    }

    /// The operations of a class. To its operations, though not to its members, a name that a member
    /// before them has used is a name with a meaning.
    fn class_operations(
        &mut self,
        name: &Name,
        class: &ast::Class,
        names: &mut Names,
        context: Context,
    ) -> Vec<Operation> {
        let mut found = Vec::new();
        // By file, the last member first. What is noted stays noted, so each member is looked at once.
        let mut left: HashMap<FileId, Vec<&ast::Member>> = HashMap::new();
        for member in &class.members {
            left.entry(member.name.span.file).or_default().push(member);
        }
        for members in left.values_mut() {
            members.reverse();
            members.sort_by_key(|member| Reverse(member.name.span.start));
        }
        for operation in &class.operations {
            let Span { file, start, .. } = operation.name.span;
            let mut left = left.get_mut(&file);
            let mut next = || {
                left.as_mut()?
                    .pop_if(|member| member.name.span.start < start)
            };
            while let Some(member) = next() {
                if let TypeKind::Named(used) | TypeKind::Proxy(used) = &member.r#type.kind {
                    names.note_use(used);
                }
                for value in values_of(member) {
                    if let ValueKind::Name(used) = &value.kind
                        && self.gives_meaning(used, context)
                    {
                        names.note_use(used);
                    }
                }
            }
            found.extend(self.operation(operation, name, &[], names, context));
        }
        found
    }

    /// The interfaces that a class implements. Operations that two of them declare, or one of them and
    /// the base of the class, are reported.
    fn implemented(
        &mut self,
        base: Option<DefinitionId>,
        interfaces: &[ScopedName],
        context: Context,
    ) -> Vec<DefinitionId> {
        let found = self.base_interfaces(interfaces, "a class implements interfaces", context);
        let (Some(base), Some(first)) = (base, interfaces.first()) else {
            return found;
        };
        let of_interfaces = self.operations_of(&self.ancestors(&found));
        let mut of_base: HashMap<String, Vec<Inherited>> = HashMap::new();
        for operation in self.operations_of(&self.class_ancestors(base)) {
            let name = operation.name.to_ascii_lowercase();
            of_base.entry(name).or_default().push(operation);
        }
        for operation in &of_interfaces {
            let same = of_base.get(&operation.name.to_ascii_lowercase());
            let mut same = same.into_iter().flatten();
            if let Some(other) = same.find(|other| other.declares != operation.declares) {
                self.report_ambiguous(first.span, operation, other);
            }
        }
        found
    }

    /// The class and all that it extends and implements, each once.
    fn class_ancestors(&self, class: DefinitionId) -> Vec<DefinitionId> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some(class);
        while let Some(id) = next {
            let DefinitionKind::Class(class) = &self.definition(id).kind else {
                break;
            };
            let interfaces = self.ancestors(&class.implements).into_iter();
            found.extend(interfaces.filter(|id| seen.insert(*id)));
            found.push(id);
            next = class.base;
        }
        found
    }

    fn warn_about_operations(&mut self, name: &Name, class: &ast::Class) {
        if self.is_38() {
            return;
        }
        if let Some(first) = class.operations.first() {
            let message = format!("the class `{}` has operations", name.text);
            let help = "declare an interface for them; instances carry only data";
            self.error(Code::DeprecatedFeature, first.name.span, message, help);
        }
        if let Some(first) = class.implements.first() {
            let message = format!("the class `{}` implements an interface", name.text);
            let help = "let a servant implement it; instances carry only data";
            self.error(Code::DeprecatedFeature, first.span, message, help);
        }
    }

    fn compact_id(&mut self, name: &Name, value: &Value, context: Context) -> Option<i32> {
        let number = self.integer(value, context)?;
        let Ok(id @ 0..) = i32::try_from(number) else {
            let message = format!("the compact id {number} is out of range");
            let help = "compact ids are from 0 to 2147483647";
            self.error(Code::BadCompactId, value.span, message, help);
            return None;
        };
        let known = self.compact_ids.get(&id).cloned();
        match known {
            // One macro can define several classes, which all stand at its use.
            Some((other, place)) if place != name.span || other != name.text => {
                let message = format!("the compact id {id} is taken by `{other}`");
                let diagnostic = Diagnostic::new(Code::BadCompactId, value.span, message)
                    .label(place, "the other class is here")
                    .help("give each class an id of its own");
                self.report(diagnostic);
            }
            _ => {
                self.compact_ids.insert(id, (name.text.clone(), name.span));
            }
        }
        Some(id)
    }

    /// Takes the compact id of a class of an earlier unit that this unit includes too.
    pub(super) fn note_compact_id(&mut self, id: DefinitionId) {
        let definition = &self.definitions[id.0];
        if let DefinitionKind::Class(Class {
            compact_id: Some(compact_id),
            ..
        }) = definition.kind
        {
            let class = (definition.name.clone(), definition.span);
            self.compact_ids.entry(compact_id).or_insert(class);
        }
    }

    fn base_class(
        &mut self,
        name: &Name,
        base: &ScopedName,
        context: Context,
    ) -> Option<DefinitionId> {
        let id = self.find_definition(base, context, "class")?;
        let place = self.definition(id).span;
        let (code, message, label, help) = match &self.definition(id).kind {
            DefinitionKind::Class(class) if class.is_complete => {
                return self.check_local_base(id, base, context);
            }
            DefinitionKind::Class(_) if place == name.span => (
                Code::IncompleteType,
                format!("the class `{}` extends itself", name.text),
                "its definition begins here",
                "name another base",
            ),
            DefinitionKind::Class(_) => (
                Code::IncompleteType,
                format!("the base `{}` is not defined yet", base.text()),
                "only declared here",
                "define the base first",
            ),
            _ => (
                Code::WrongKind,
                format!("`{}` is {} and not a class", base.text(), self.noun(id)),
                "defined here",
                "a class extends another class",
            ),
        };
        let diagnostic = Diagnostic::new(code, base.span, message)
            .label(place, label)
            .help(help);
        self.report(diagnostic);
        None
    }

    /// The names of the members and operations of a class and its bases.
    fn inherited_members(&self, base: Option<DefinitionId>) -> Names {
        let mut names = Names::default();
        let mut ancestor = base;
        while let Some(id) = ancestor {
            let DefinitionKind::Class(class) = &self.definition(id).kind else {
                break;
            };
            for member in &class.members {
                names.inherit(&member.name, member.span);
            }
            ancestor = class.base;
        }
        if let Some(base) = base {
            for operation in self.operations_of(&self.class_ancestors(base)) {
                names.inherit(&operation.name, operation.span);
            }
        }
        names
    }
}
