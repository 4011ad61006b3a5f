//! Operations: of interfaces, and of the classes of Ice 3.7.

use super::field::{Field, PARAMETER};
use super::{ChangeCode, Comparison};
use crate::check::uses_classes;
use crate::model::{Definition, DefinitionId, DefinitionKind, Metadata, Model, Operation};

/// An interface, or a class of Ice 3.7, that declares operations in one of the models.
#[derive(Clone, Copy)]
pub(super) struct Side<'m> {
    pub(super) id: DefinitionId,
    pub(super) definition: &'m Definition,
    pub(super) operations: &'m [Operation],
}

impl<'m> Comparison<'m> {
    /// Compares what a proxy can invoke.
    pub(super) fn operations(&mut self, old: Side<'m>, new: Side<'m>) {
        self.interface_bases(old, new);
        let scoped = &new.definition.scoped;
        let (old_model, new_model) = (self.old, self.new);
        let inherited = new_model.all_operations(new.id);
        let mut renamed: Vec<&str> = Vec::new();
        for operation in old.operations {
            let found = inherited.iter().find(|(_, it)| it.name == operation.name);
            let Some((owner, found)) = found else {
                renamed.extend(self.missing_operation(operation, old, new));
                continue;
            };
            let subject = format!("{scoped}::{}", operation.name);
            if *owner != new.id {
                let base = &new_model.definition(*owner).scoped;
                let message = format!("it is inherited from `{base}` now");
                let places = (Some(operation.span), Some(found.span));
                self.report(ChangeCode::OperationMoved, &*subject, places, message);
            }
            let formats = (
                format_of(operation, old.definition),
                format_of(found, new_model.definition(*owner)),
            );
            self.operation(&subject, operation, found, formats);
        }
        let before = old_model.all_operations(old.id);
        for operation in new.operations {
            let is_old = before.iter().any(|(_, it)| it.name == operation.name);
            if !is_old && !renamed.contains(&operation.name.as_str()) {
                let subject = format!("{scoped}::{}", operation.name);
                let places = (None, Some(operation.span));
                self.report(ChangeCode::OperationAdded, subject, places, "it is new");
            }
        }
    }

    /// Reports an operation that is gone; gives the name that it probably has now.
    fn missing_operation(
        &mut self,
        operation: &'m Operation,
        old: Side<'m>,
        new: Side<'m>,
    ) -> Option<&'m str> {
        let is_new = |name: &str| !old.operations.iter().any(|it| it.name == name);
        let successor = new
            .operations
            .iter()
            .find(|other| is_new(&other.name) && self.is_alike(operation, other));
        let subject = format!("{}::{}", new.definition.scoped, operation.name);
        match successor {
            Some(other) => {
                let message = format!("the name was `{}` and is `{}`", operation.name, other.name);
                let places = (Some(operation.span), Some(other.span));
                self.report(ChangeCode::OperationRenamed, subject, places, message);
            }
            None => {
                let places = (Some(operation.span), None);
                self.report(ChangeCode::OperationRemoved, subject, places, "it is gone");
            }
        }
        successor.map(|other| other.name.as_str())
    }

    /// Returns true if two operations of different names have the same signature, parameter names included.
    fn is_alike(&self, old: &Operation, new: &Operation) -> bool {
        let names = |operation: &Operation| -> Vec<(String, bool)> {
            let parameters = operation.parameters.iter();
            parameters.map(|it| (it.name.clone(), it.is_out)).collect()
        };
        let types = |model: &Model, operation: &Operation| -> Vec<String> {
            let returned = operation.returns.iter().map(|it| it.r#type);
            let parameters = operation.parameters.iter().map(|it| it.r#type);
            let all = returned.chain(parameters);
            all.map(|it| super::types::name(model, it)).collect()
        };
        names(old) == names(new)
            && old.returns.is_some() == new.returns.is_some()
            && types(self.old, old) == types(self.new, new)
    }

    fn interface_bases(&mut self, old: Side<'m>, new: Side<'m>) {
        let places = (Some(old.definition.span), Some(new.definition.span));
        let scoped = &*new.definition.scoped;
        let before = interfaces(self.old, old.id);
        let bases = before.iter().filter(|id| **id != old.id);
        let before: Vec<&str> = bases.map(|id| self.current_name(*id)).collect();
        let after = interfaces(self.new, new.id);
        let bases = after.iter().filter(|id| **id != new.id);
        let after: Vec<&str> = bases.map(|id| &*self.new.definition(*id).scoped).collect();
        for base in before.iter().filter(|base| !after.contains(base)) {
            let message = format!("it no longer has `{base}` as a base");
            self.report(ChangeCode::InterfaceBaseRemoved, scoped, places, message);
        }
        for base in after.iter().filter(|base| !before.contains(base)) {
            let message = format!("it has `{base}` as a base now");
            self.report(ChangeCode::InterfaceBaseAdded, scoped, places, message);
        }
    }

    fn operation(
        &mut self,
        subject: &str,
        old: &Operation,
        new: &Operation,
        formats: (&str, &str),
    ) {
        let places = (Some(old.span), Some(new.span));
        match (old.is_idempotent, new.is_idempotent) {
            (false, true) => {
                let message = "it was not idempotent and is";
                self.report(ChangeCode::IdempotentAdded, subject, places, message);
            }
            (true, false) => {
                let message = "it was idempotent and is not";
                self.report(ChangeCode::IdempotentRemoved, subject, places, message);
            }
            _ => {}
        }
        self.returned(subject, old, new);
        self.parameters(subject, old, new);
        self.throws(subject, old, new);
        self.format(subject, old, new, formats);
        let metadata = (&*old.metadata, &*new.metadata);
        let docs = (old.doc.as_deref(), new.doc.as_deref());
        self.annotations(subject, places, metadata, docs);
    }

    fn returned(&mut self, subject: &str, old: &Operation, new: &Operation) {
        let places = (Some(old.span), Some(new.span));
        let code = ChangeCode::ReturnTypeChanged;
        match (&old.returns, &new.returns) {
            (None, None) => {}
            (Some(was), Some(is)) => {
                if was.tag != is.tag {
                    let tag = |tag: Option<i32>| match tag {
                        Some(tag) => format!("optional with tag {tag}"),
                        None => "required".to_owned(),
                    };
                    let code = match (was.tag, is.tag) {
                        (Some(_), Some(_)) => ChangeCode::TagChanged,
                        _ => ChangeCode::OptionalityChanged,
                    };
                    let (was, is) = (tag(was.tag), tag(is.tag));
                    let message = format!("the return value was {was} and is {is}");
                    self.report(code, subject, places, message);
                }
                self.types(code, subject, places, was.r#type, is.r#type);
            }
            (was, is) => {
                let name = |model, returned: &Option<crate::model::Returned>| match returned {
                    Some(returned) => super::types::name(model, returned.r#type),
                    None => "void".to_owned(),
                };
                let (was, is) = (name(self.old, was), name(self.new, is));
                let message = format!("the type was `{was}` and is `{is}`");
                self.report(code, subject, places, message);
            }
        }
    }

    fn parameters(&mut self, subject: &str, old: &Operation, new: &Operation) {
        let mut turned = Vec::new();
        for parameter in &old.parameters {
            let other = new.parameters.iter().find(|it| it.name == parameter.name);
            if let Some(other) = other.filter(|other| other.is_out != parameter.is_out) {
                let direction = |is_out| if is_out { "an out-" } else { "an in-" };
                let (was, is) = (direction(parameter.is_out), direction(other.is_out));
                let message = format!("it was {was}parameter and is {is}parameter");
                let places = (Some(parameter.span), Some(other.span));
                let code = ChangeCode::ParameterDirectionChanged;
                let subject = format!("{subject}::{}", parameter.name);
                self.report(code, subject, places, message);
                turned.push(parameter.name.as_str());
            }
        }
        for is_out in [false, true] {
            let fields = |operation: &'_ Operation| -> Vec<usize> {
                let all = operation.parameters.iter().enumerate();
                let wanted =
                    all.filter(|(_, it)| it.is_out == is_out && !turned.contains(&&*it.name));
                wanted.map(|(index, _)| index).collect()
            };
            let (before, after) = (fields(old), fields(new));
            let before: Vec<Field> = before
                .iter()
                .map(|at| (&old.parameters[*at]).into())
                .collect();
            let after: Vec<Field> = after
                .iter()
                .map(|at| (&new.parameters[*at]).into())
                .collect();
            self.fields(subject, &PARAMETER, &before, &after);
        }
    }

    fn throws(&mut self, subject: &str, old: &Operation, new: &Operation) {
        let places = (Some(old.span), Some(new.span));
        for id in &old.throws {
            let scoped = self.current_name(*id);
            if !throws(self.new, new).contains(&scoped) {
                let is_covered = is_covered(self.new, scoped, new);
                let code = match is_covered {
                    true => ChangeCode::ThrowsCovered,
                    false => ChangeCode::ThrowsRemoved,
                };
                self.report(
                    code,
                    subject,
                    places,
                    format!("it no longer throws `{scoped}`"),
                );
            }
        }
        for id in &new.throws {
            let scoped = &self.new.definition(*id).scoped;
            let before = old.throws.iter().map(|id| self.current_name(*id));
            if !before.collect::<Vec<_>>().contains(&scoped.as_str()) {
                // What derives from it in the old contract is known to the old callers.
                let code = match is_covered(self.old, scoped, old) {
                    true => ChangeCode::ThrowsCovered,
                    false => ChangeCode::ThrowsAdded,
                };
                self.report(code, subject, places, format!("it throws `{scoped}` now"));
            }
        }
    }

    fn format(&mut self, subject: &str, old: &Operation, new: &Operation, formats: (&str, &str)) {
        let (was, is) = formats;
        if was == is {
            return;
        }
        let definitions = &self.old.definitions;
        let parameters = old.parameters.iter().map(|it| it.r#type);
        let mut types = parameters.chain(old.returns.iter().map(|it| it.r#type));
        let has_slices =
            !old.throws.is_empty() || types.any(|r#type| uses_classes(definitions, r#type));
        let code = match was == "sliced" && has_slices {
            true => ChangeCode::SlicedFormatRemoved,
            false => ChangeCode::FormatChanged,
        };
        let message = format!("the format was `{was}` and is `{is}`");
        self.report(code, subject, (Some(old.span), Some(new.span)), message);
    }
}

/// The interfaces among what a definition builds on. A class that a class extends is compared elsewhere.
fn interfaces(model: &Model, id: DefinitionId) -> Vec<DefinitionId> {
    let mut all = model.linearized(id);
    all.retain(|id| matches!(model.definition(*id).kind, DefinitionKind::Interface(_)));
    all
}

/// The format that an operation is told to use, by itself or by its interface.
fn format_of<'m>(operation: &'m Operation, interface: &'m Definition) -> &'m str {
    let find = |metadata: &'m [Metadata]| {
        let mut texts = metadata.iter().map(|it| it.text.as_str());
        texts.find_map(|text| text.strip_prefix("format:"))
    };
    let own = find(&operation.metadata);
    own.or_else(|| find(&interface.metadata))
        .unwrap_or("default")
}

fn throws<'m>(model: &'m Model, operation: &Operation) -> Vec<&'m str> {
    let ids = operation.throws.iter();
    ids.map(|id| model.definition(*id).scoped.as_str())
        .collect()
}

/// Returns true if the model knows an exception of this name, and the operation throws one of its bases.
fn is_covered(model: &Model, scoped: &str, operation: &Operation) -> bool {
    let Some(id) = model.find(scoped) else {
        return false;
    };
    matches!(model.definition(id).kind, DefinitionKind::Exception(_))
        && model
            .exception_chain(id)
            .iter()
            .any(|id| operation.throws.contains(id))
}
