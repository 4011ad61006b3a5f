//! Enums.

use std::collections::HashMap;

use super::container::Names;
use super::scope::Target;
use super::{Checker, Context, doc, metadata};
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{DefinitionKind, Enum, Enumerator};
use crate::parse::ast::{self, Name, Value, ValueKind};

/// How many enums of a module are known by one name of an enumerator. Each use of the name may look at
/// all of them; with two already it is ambiguous.
const MAX_ALIKE: usize = 256;

impl Checker {
    pub(super) fn enumeration(
        &mut self,
        name: &Name,
        enumerators: &[ast::Enumerator],
        context: Context,
    ) -> Option<DefinitionKind> {
        if enumerators.is_empty() {
            let message = format!("the enum `{}` has no enumerators", name.text);
            let help = "an enum has at least one enumerator";
            self.error(Code::EmptyDefinition, name.span, message, help);
            return None;
        }
        let mut names = Names::default();
        let mut values: HashMap<i32, Span> = HashMap::new();
        let mut next = 0;
        let mut found = Vec::new();
        for enumerator in enumerators {
            self.check_metadata(&enumerator.prelude.metadata, metadata::Place::Enumerator);
            let is_new = self.add_name(&enumerator.name, "enumerator", &mut names);
            let Some(value) = self.enumerator_number(enumerator, next, &found, context) else {
                continue;
            };
            next = i64::from(value) + 1;
            self.check_unique(enumerator, value, &mut values);
            if is_new {
                found.push(self.enumerator(enumerator, value));
                self.show_enumerators(name, &found, context);
            }
        }
        self.list_enumerators(name, &found, context);
        Some(DefinitionKind::Enum(Enum { enumerators: found }))
    }

    fn enumerator(&self, enumerator: &ast::Enumerator, value: i32) -> Enumerator {
        Enumerator {
            name: enumerator.name.text.clone(),
            value,
            metadata: enumerator.prelude.metadata.clone(),
            doc: enumerator.prelude.doc.as_deref().and_then(doc::clean),
            span: enumerator.name.span,
        }
    }

    /// The value of an enumerator; `next` if none is written.
    fn enumerator_number(
        &mut self,
        enumerator: &ast::Enumerator,
        next: i64,
        before: &[Enumerator],
        context: Context,
    ) -> Option<i32> {
        let value = match &enumerator.value {
            Some(value) => {
                self.refuse_enumerator(value, before, context);
                match enumerator_here(value, before) {
                    Some(found) => i64::from(found.value),
                    None => self.integer(value, context.body())?,
                }
            }
            None => next,
        };
        if let Ok(number @ 0..) = i32::try_from(value) {
            return Some(number);
        }
        let message = format!(
            "the value {value} of `{}` is out of range",
            enumerator.name.text
        );
        let place = |value: &Value| value.span;
        let span = enumerator
            .value
            .as_ref()
            .map_or(enumerator.name.span, place);
        let help = "enumerators are from 0 to 2147483647";
        self.error(Code::BadEnumerator, span, message, help);
        None
    }

    /// Ice 3.7 takes integer constants only, though elsewhere an enumerator is an integer too.
    fn refuse_enumerator(&mut self, value: &Value, before: &[Enumerator], context: Context) {
        let ValueKind::Name(name) = &value.kind else {
            return;
        };
        let is_here = |one: &Enumerator| match name.parts.as_slice() {
            [only] => !name.is_absolute && one.name.eq_ignore_ascii_case(&only.text),
            _ => false,
        };
        let is_enumerator =
            before.iter().any(is_here) || self.lookup_quietly(name, context).is_none();
        if is_enumerator && self.language == Language::V37 {
            let message = format!("`{}` is not an integer constant", name.text());
            let help = "Ice 3.7 wants an integer or the name of an integer constant here";
            self.error(Code::BadEnumerator, value.span, message, help);
        }
    }

    fn check_unique(
        &mut self,
        enumerator: &ast::Enumerator,
        value: i32,
        values: &mut HashMap<i32, Span>,
    ) {
        let name = &enumerator.name;
        if let Some(before) = values.insert(value, name.span) {
            let message = format!("`{}` has the value {value}, which is taken", name.text);
            let diagnostic = Diagnostic::new(Code::BadEnumerator, name.span, message)
                .label(before, "taken by this enumerator")
                .help("give each enumerator a value of its own");
            self.report(diagnostic);
        }
    }

    /// Lets the enumerators be found without the enum.
    fn list_enumerators(&mut self, name: &Name, found: &[Enumerator], context: Context) {
        let Some(id) = self.own_id(name, context) else {
            return;
        };
        let listed = &mut self.scopes.get_mut(context.scope).enumerators;
        for enumerator in found {
            let key = enumerator.name.to_ascii_lowercase();
            let enums = listed.entry(key).or_default();
            if enums.len() < MAX_ALIKE {
                enums.push((enumerator.name.clone(), id));
            }
        }
    }

    /// Lets later enumerators refer to the latest one.
    fn show_enumerators(&mut self, name: &Name, found: &[Enumerator], context: Context) {
        let entry = self.scopes.entry(context.scope, &name.text);
        let Some(Target::Definition(id)) = entry.map(|entry| entry.target) else {
            return;
        };
        if let (DefinitionKind::Enum(shown), Some(last)) =
            (&mut self.definitions[id.0].kind, found.last())
        {
            shown.enumerators.push(last.clone());
        }
    }
}

/// The enumerator of the same enum that a value names; it hides what has its name outside.
fn enumerator_here<'a>(value: &Value, before: &'a [Enumerator]) -> Option<&'a Enumerator> {
    let ValueKind::Name(name) = &value.kind else {
        return None;
    };
    match name.parts.as_slice() {
        [only] if !name.is_absolute => before.iter().find(|one| one.name == only.text),
        _ => None,
    }
}
