//! Which definition of one model is which of the other; values, enumerations, collections, types with members.

use std::collections::HashSet;

use super::field::{Field, MEMBER};
use super::operation::Side;
use super::{ChangeCode, Comparison};
use crate::model::{
    Class, Const, ConstValue, Definition, DefinitionId, DefinitionKind, Enum, Interface, Member,
    Model, Operation,
};

impl<'m> Comparison<'m> {
    /// Compares all definitions.
    pub(super) fn definitions(&mut self) {
        let (old, new) = (self.old, self.new);
        let mut missing = Vec::new();
        let mut taken: HashSet<DefinitionId> = HashSet::new();
        for (id, definition) in old.iter() {
            let is_gone = !self.new_names.contains_key(&*definition.scoped);
            if is_gone && old.files[definition.file.0].is_main {
                let successor = self.successor(id, &taken);
                taken.extend(successor);
                missing.push((id, successor));
            }
        }
        let renamed = missing.iter();
        self.successors = renamed
            .filter_map(|(id, successor)| Some((*id, (*successor)?)))
            .collect();
        for (id, successor) in missing {
            self.missing(id, successor);
        }
        for (id, definition) in old.iter() {
            if let Some(found) = self.new_names.get(&*definition.scoped) {
                self.definition(id, *found);
            }
        }
        for (id, definition) in new.iter() {
            let is_old = self.old_names.contains_key(&*definition.scoped) || taken.contains(&id);
            if !is_old && new.files[definition.file.0].is_main {
                let message = format!("this {} is new", kind(definition));
                let places = (None, Some(definition.span));
                self.report(
                    ChangeCode::DefinitionAdded,
                    &definition.scoped,
                    places,
                    message,
                );
            }
        }
    }

    /// Returns the probable successor of a definition that is gone: one of the same kind that is new, with
    /// the same simple name or, failing that, the same content.
    fn successor(&self, id: DefinitionId, taken: &HashSet<DefinitionId>) -> Option<DefinitionId> {
        let definition = self.old.definition(id);
        let candidates = || {
            self.new.iter().filter(|(other, candidate)| {
                kind(candidate) == kind(definition)
                    && !self.old_names.contains_key(&*candidate.scoped)
                    && self.new.files[candidate.file.0].is_main
                    && !taken.contains(other)
            })
        };
        let named = candidates().find(|(_, candidate)| candidate.name == definition.name);
        let alike = || candidates().find(|(other, _)| self.is_alike_content(id, *other));
        named.or_else(alike).map(|(id, _)| id)
    }

    fn is_alike_content(&self, old: DefinitionId, new: DefinitionId) -> bool {
        let kinds = (
            &self.old.definition(old).kind,
            &self.new.definition(new).kind,
        );
        match kinds {
            (DefinitionKind::Interface(old), DefinitionKind::Interface(new)) => {
                let names = |of: &Interface| -> Vec<String> {
                    of.operations.iter().map(|it| it.name.clone()).collect()
                };
                !old.operations.is_empty() && names(old) == names(new)
            }
            (DefinitionKind::Exception(old), DefinitionKind::Exception(new)) => {
                self.have_alike_members(&old.members, &new.members)
            }
            (DefinitionKind::Class(old), DefinitionKind::Class(new)) => {
                self.have_alike_members(&old.members, &new.members)
            }
            (DefinitionKind::Struct(old), DefinitionKind::Struct(new)) => {
                self.have_alike_members(&old.members, &new.members)
            }
            (DefinitionKind::Const(_), _) => false,
            _ => self.has_same_shape(old, new, &mut HashSet::new()),
        }
    }

    fn have_alike_members(&self, old: &[Member], new: &[Member]) -> bool {
        let mut pairs = old.iter().zip(new);
        !old.is_empty()
            && pairs.all(|(old, new)| old.name == new.name)
            && self.have_same_types(old, new, &mut HashSet::new())
    }

    /// Reports a definition that is gone, or has another name.
    fn missing(&mut self, id: DefinitionId, successor: Option<DefinitionId>) {
        let old = self.old.definition(id);
        let travels = matches!(
            old.kind,
            DefinitionKind::Interface(_) | DefinitionKind::Exception(_) | DefinitionKind::Class(_)
        );
        if let Some(successor) = successor {
            let new = self.new.definition(successor);
            let code = match travels {
                true => ChangeCode::TypeIdChanged,
                false => ChangeCode::DefinitionRenamed,
            };
            let message = format!("the name was `{}` and is `{}`", old.scoped, new.scoped);
            let places = (Some(old.span), Some(new.span));
            self.report(code, &old.scoped, places, message);
            return self.definition(id, successor);
        }
        let code = match old.kind {
            DefinitionKind::Interface(_) => ChangeCode::InterfaceRemoved,
            DefinitionKind::Exception(_) => ChangeCode::ExceptionRemoved,
            DefinitionKind::Class(_) => ChangeCode::ClassRemoved,
            _ => ChangeCode::DefinitionRemoved,
        };
        let message = format!("this {} is gone", kind(old));
        self.report(code, &old.scoped, (Some(old.span), None), message);
    }

    fn definition(&mut self, old_id: DefinitionId, new_id: DefinitionId) {
        let (old, new) = (self.old.definition(old_id), self.new.definition(new_id));
        let places = (Some(old.span), Some(new.span));
        if self.is_only_declared(old, new) {
            return;
        }
        match (&old.kind, &new.kind) {
            (DefinitionKind::Const(was), DefinitionKind::Const(is)) => {
                self.constant((old, was), (new, is));
            }
            (DefinitionKind::Enum(was), DefinitionKind::Enum(is)) => {
                self.enumeration((old, was), (new, is));
            }
            (DefinitionKind::Struct(was), DefinitionKind::Struct(is)) => {
                self.members(&new.scoped, &was.members, &is.members);
            }
            (DefinitionKind::Sequence(was), DefinitionKind::Sequence(is)) => {
                self.element(&new.scoped, (old, new), was.element, is.element);
                let metadata = (&*was.element_metadata, &*is.element_metadata);
                self.annotations(&new.scoped, places, metadata, (None, None));
            }
            (DefinitionKind::Dictionary(was), DefinitionKind::Dictionary(is)) => {
                self.element(&new.scoped, (old, new), was.key, is.key);
                self.element(&new.scoped, (old, new), was.value, is.value);
                let metadata = (&*was.key_metadata, &*is.key_metadata);
                self.annotations(&new.scoped, places, metadata, (None, None));
                let metadata = (&*was.value_metadata, &*is.value_metadata);
                self.annotations(&new.scoped, places, metadata, (None, None));
            }
            (DefinitionKind::Exception(was), DefinitionKind::Exception(is)) => {
                self.base((old, was.base), (new, is.base));
                self.members(&new.scoped, &was.members, &is.members);
            }
            (DefinitionKind::Class(was), DefinitionKind::Class(is)) => {
                if was.is_complete && is.is_complete {
                    self.class((old, was), (new, is));
                    let side = side(
                        (old_id, old, &was.operations),
                        (new_id, new, &is.operations),
                    );
                    self.operations(side.0, side.1);
                }
            }
            (DefinitionKind::Interface(was), DefinitionKind::Interface(is)) => {
                if was.is_complete && is.is_complete {
                    let side = side(
                        (old_id, old, &was.operations),
                        (new_id, new, &is.operations),
                    );
                    self.operations(side.0, side.1);
                }
            }
            _ => {
                let message = format!("it was a {} and is a {}", kind(old), kind(new));
                self.report(ChangeCode::KindChanged, &new.scoped, places, message);
                return;
            }
        }
        let metadata = (&*old.metadata, &*new.metadata);
        let docs = (old.doc.as_deref(), new.doc.as_deref());
        self.annotations(&new.scoped, places, metadata, docs);
        self.preserve_slice(old_id, new_id);
    }

    /// Reports an interface or class of which only a declaration is left; returns true if it is one. The definition of
    /// an included file may stand in a file that the new contract does not include.
    fn is_only_declared(&mut self, old: &Definition, new: &Definition) -> bool {
        let (code, is_lost) = match (&old.kind, &new.kind) {
            (DefinitionKind::Interface(was), DefinitionKind::Interface(is)) => (
                ChangeCode::InterfaceRemoved,
                was.is_complete && !is.is_complete,
            ),
            (DefinitionKind::Class(was), DefinitionKind::Class(is)) => {
                (ChangeCode::ClassRemoved, was.is_complete && !is.is_complete)
            }
            _ => return false,
        };
        if is_lost && self.old.files[old.file.0].is_main {
            let message = format!("this {} is only declared, and no longer defined", kind(new));
            let places = (Some(old.span), Some(new.span));
            self.report(code, &new.scoped, places, message);
        }
        is_lost
    }

    fn constant(&mut self, old: (&Definition, &Const), new: (&Definition, &Const)) {
        let text = |model: &Model, of: &Const| {
            let r#type = super::types::name(model, of.r#type);
            format!("{type} {}", value(model, &of.value))
        };
        let (was, is) = (text(self.old, old.1), text(self.new, new.1));
        if was != is {
            let message = format!("it was `{was}` and is `{is}`");
            let places = (Some(old.0.span), Some(new.0.span));
            self.report(ChangeCode::ConstantChanged, &new.0.scoped, places, message);
        }
    }

    fn enumeration(&mut self, old: (&Definition, &Enum), new: (&Definition, &Enum)) {
        let scoped = &new.0.scoped;
        let (was, is) = (&old.1.enumerators, &new.1.enumerators);
        for one in was {
            let subject = format!("{scoped}::{}", one.name);
            let named = is.iter().find(|it| it.name == one.name);
            let valued = is.iter().find(|it| it.value == one.value);
            let is_new = |name: &str| !was.iter().any(|it| it.name == name);
            match (named, valued) {
                (Some(named), _) => {
                    let places = (Some(one.span), Some(named.span));
                    if named.value != one.value {
                        let message = format!("the value was {} and is {}", one.value, named.value);
                        let code = ChangeCode::EnumeratorValueChanged;
                        self.report(code, &*subject, places, message);
                    }
                    let metadata = (&*one.metadata, &*named.metadata);
                    let docs = (one.doc.as_deref(), named.doc.as_deref());
                    self.annotations(&subject, places, metadata, docs);
                }
                (None, Some(valued)) if is_new(&valued.name) => {
                    let message = format!("the name was `{}` and is `{}`", one.name, valued.name);
                    let places = (Some(one.span), Some(valued.span));
                    self.report(ChangeCode::EnumeratorRenamed, subject, places, message);
                }
                _ => {
                    let message = format!("`{}` = {} is gone", one.name, one.value);
                    let places = (Some(one.span), None);
                    self.report(ChangeCode::EnumeratorRemoved, subject, places, message);
                }
            }
        }
        for one in is {
            let is_old = |it: &&crate::model::Enumerator| {
                it.name == one.name
                    || it.value == one.value && !is.iter().any(|other| other.name == it.name)
            };
            if !was.iter().any(|it| is_old(&it)) {
                let message = format!("`{}` = {} is new", one.name, one.value);
                let subject = format!("{scoped}::{}", one.name);
                let places = (None, Some(one.span));
                self.report(ChangeCode::EnumeratorAdded, subject, places, message);
            }
        }
        let (was, is) = (width(old.1), width(new.1));
        if was != is {
            let message = format!("a value had {was} bytes in encoding 1.0 and has {is}");
            let places = (Some(old.0.span), Some(new.0.span));
            self.report(ChangeCode::EnumWidthChanged, scoped, places, message);
        }
    }

    fn element(
        &mut self,
        subject: &str,
        (old, new): (&Definition, &Definition),
        was: crate::model::Type,
        is: crate::model::Type,
    ) {
        let places = (Some(old.span), Some(new.span));
        self.types(ChangeCode::ElementTypeChanged, subject, places, was, is);
    }

    fn class(&mut self, old: (&Definition, &Class), new: (&Definition, &Class)) {
        if old.1.compact_id != new.1.compact_id {
            let text = |id: Option<i32>| id.map_or("none".to_owned(), |id| id.to_string());
            let (was, is) = (text(old.1.compact_id), text(new.1.compact_id));
            let message = format!("the compact id was {was} and is {is}");
            let places = (Some(old.0.span), Some(new.0.span));
            self.report(ChangeCode::CompactIdChanged, &new.0.scoped, places, message);
        }
        self.base((old.0, old.1.base), (new.0, new.1.base));
        self.members(&new.0.scoped, &old.1.members, &new.1.members);
    }

    fn base(
        &mut self,
        old: (&Definition, Option<DefinitionId>),
        new: (&Definition, Option<DefinitionId>),
    ) {
        let is_same = match (old.1, new.1) {
            (Some(was), Some(is)) => self.current_name(was) == self.new.definition(is).scoped,
            (was, is) => was.is_none() && is.is_none(),
        };
        let name = |model: &Model, base: Option<DefinitionId>| {
            base.map_or("none".to_owned(), |base| {
                format!("`{}`", model.definition(base).scoped)
            })
        };
        let (was, is) = (name(self.old, old.1), name(self.new, new.1));
        if !is_same {
            let message = format!("the base was {was} and is {is}");
            let places = (Some(old.0.span), Some(new.0.span));
            self.report(ChangeCode::BaseChanged, &new.0.scoped, places, message);
        }
    }

    fn members(&mut self, scoped: &str, old: &[Member], new: &[Member]) {
        let before: Vec<Field> = old.iter().map(Field::from).collect();
        let after: Vec<Field> = new.iter().map(Field::from).collect();
        self.fields(scoped, &MEMBER, &before, &after);
        for member in new {
            let Some(before) = old.iter().find(|it| it.name == member.name) else {
                continue;
            };
            let text = |model: &Model, default: &Option<ConstValue>| {
                default
                    .as_ref()
                    .map_or("none".to_owned(), |it| value(model, it))
            };
            let was = text(self.old, &before.default);
            let is = text(self.new, &member.default);
            if was != is {
                let message = format!("the default was {was} and is {is}");
                let places = (Some(before.span), Some(member.span));
                let subject = format!("{scoped}::{}", member.name);
                self.report(ChangeCode::DefaultChanged, subject, places, message);
            }
        }
    }
}

/// An interface or class that declares operations, in both models.
type Owner<'m> = (DefinitionId, &'m Definition, &'m [Operation]);

fn side<'m>(old: Owner<'m>, new: Owner<'m>) -> (Side<'m>, Side<'m>) {
    let side = |(id, definition, operations)| Side {
        id,
        definition,
        operations,
    };
    (side(old), side(new))
}

/// How many bytes a value of an enumeration has in encoding 1.0.
fn width(of: &Enum) -> usize {
    match of.max_value() {
        ..127 => 1,
        127..32767 => 2,
        _ => 4,
    }
}

/// The keyword of a definition.
fn kind(definition: &Definition) -> &'static str {
    match definition.kind {
        DefinitionKind::Const(_) => "const",
        DefinitionKind::Enum(_) => "enum",
        DefinitionKind::Struct(_) => "struct",
        DefinitionKind::Sequence(_) => "sequence",
        DefinitionKind::Dictionary(_) => "dictionary",
        DefinitionKind::Exception(_) => "exception",
        DefinitionKind::Interface(_) => "interface",
        DefinitionKind::Class(_) => "class",
    }
}

fn value(model: &Model, value: &ConstValue) -> String {
    match value {
        ConstValue::Bool(value) => value.to_string(),
        ConstValue::Integer(value) => value.to_string(),
        ConstValue::Float(value) => value.to_string(),
        ConstValue::String(text) => format!("{text:?}"),
        ConstValue::Enumerator { of, index } => match &model.definition(*of).kind {
            DefinitionKind::Enum(of) => of.enumerators[*index].name.clone(),
            _ => String::new(),
        },
    }
}
