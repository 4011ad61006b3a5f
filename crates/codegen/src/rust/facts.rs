//! Facts about a model, found once before code is made.

use std::collections::{BTreeMap, BTreeSet};

use floe_slice::model::{Definition, DefinitionId, DefinitionKind, Member, Model, Primitive, Type};
use proc_macro2::Ident;

use super::RustOptions;
use super::clashes::Resolved;
use super::containers::Container;
use super::errors::ErrorSets;
use super::own_metadata::is_nonnull;
use super::scope::{is_external, module_ident, spelled, type_names};
use super::views::ViewedStructures;
use crate::names;

/// Facts about a model that many places need.
pub(super) struct Facts {
    /// All type names that the model gives rise to: they may hide names of the prelude.
    pub(super) type_names: BTreeSet<String>,
    /// The names of modules that do not have their usual one, by their Slice names.
    pub(super) modules: BTreeMap<Vec<String>, String>,
    /// True if a name of the model was changed, so that it may not be in the style of Rust.
    pub(super) has_changed_names: bool,
    /// The classes of Ice 3.7 that have proxies and servants.
    pub(super) objects: BTreeSet<DefinitionId>,
    /// The error enums of operations.
    pub(super) errors: ErrorSets,
    /// The definitions whose values cannot be compared exactly.
    inexact: BTreeSet<DefinitionId>,
    /// The structures without a default: a proxy that is never nil is inside.
    without_default: BTreeSet<DefinitionId>,
    /// The structures that views look into.
    pub(super) views: ViewedStructures,
    /// Where the table of the classes stands; `None` if there is no class.
    pub(super) table: Option<Table>,
}

/// The place of the static table of classes.
pub(super) struct Table {
    /// Slice names of the modules around it.
    pub(super) modules: Vec<String>,
    /// Its name.
    pub(super) name: String,
}

impl Facts {
    pub(super) fn of(resolved: &Resolved<'_>, options: &RustOptions) -> Self {
        let model = &*resolved.model;
        let objects = objects(model);
        let generated = || {
            model
                .iter()
                .filter(|(_, definition)| !is_external(options, definition))
        };
        let type_names = generated()
            .flat_map(|(id, definition)| type_names(definition, objects.contains(&id), options))
            .collect();
        Self {
            type_names,
            modules: resolved.modules.clone(),
            has_changed_names: !resolved.warnings.is_empty(),
            errors: resolved.errors.clone(),
            inexact: inexact(model),
            without_default: without_default(model),
            views: ViewedStructures::of(model),
            objects,
            table: table(
                model,
                options,
                generated().map(|(_, definition)| definition),
            ),
        }
    }

    /// The names of all types, error enums and modules that the model gives rise to.
    pub(super) fn names(&self, model: &Model) -> BTreeSet<String> {
        let mut names = self.type_names.clone();
        names.extend(self.errors.names().map(str::to_owned));
        for (_, definition) in model.iter() {
            let modules = &definition.modules;
            let modules = (1..=modules.len()).map(|depth| self.module(&modules[..depth]));
            names.extend(modules.map(|module| module.to_string()));
        }
        names
    }

    /// The identifier of the innermost of these modules.
    pub(super) fn module(&self, modules: &[String]) -> Ident {
        let changed = self.modules.get(modules).map(|name| names::ident(name));
        changed.unwrap_or_else(|| module_ident(modules.last().map_or("", String::as_str)))
    }

    /// A name for a type that no definition asks for: with underscores behind it if it is taken.
    pub(super) fn free_type_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.type_names.contains(&name) {
            name.push('_');
        }
        name
    }

    /// Returns true if values of the type cannot be compared exactly.
    pub(super) fn is_inexact(&self, r#type: Type) -> bool {
        is_inexact(&self.inexact, r#type)
    }

    /// Returns true if a member has no default.
    pub(super) fn is_without_default(&self, member: &Member) -> bool {
        is_without_default(&self.without_default, member)
    }
}

/// Returns true if a definition is a class whose members are known.
pub(super) fn is_complete_class(definition: &Definition) -> bool {
    matches!(&definition.kind, DefinitionKind::Class(class) if class.is_complete)
}

/// A class has proxies if it, or a class that it extends, has operations, or if the contract uses
/// one.
pub(super) fn objects(model: &Model) -> BTreeSet<DefinitionId> {
    let mut objects: BTreeSet<DefinitionId> = all_types(model)
        .filter_map(|r#type| match r#type {
            Type::Proxy(id) => Some(id),
            _ => None,
        })
        .filter(|id| matches!(model.definition(*id).kind, DefinitionKind::Class(_)))
        .collect();
    // The base of a class stands before it.
    for (id, definition) in model.iter() {
        if let DefinitionKind::Class(class) = &definition.kind {
            let has_own = !class.operations.is_empty() || !class.implements.is_empty();
            if has_own || class.base.is_some_and(|base| objects.contains(&base)) {
                objects.insert(id);
            }
        }
    }
    objects
}

/// Every type that a definition of the model uses.
fn all_types(model: &Model) -> impl Iterator<Item = Type> {
    model.iter().flat_map(|(id, definition)| {
        let members = match &definition.kind {
            DefinitionKind::Struct(of) => of.members.as_slice(),
            DefinitionKind::Exception(of) => of.members.as_slice(),
            DefinitionKind::Class(of) => of.members.as_slice(),
            _ => &[],
        };
        let elements = match &definition.kind {
            DefinitionKind::Sequence(of) => vec![of.element],
            DefinitionKind::Dictionary(of) => vec![of.key, of.value],
            _ => Vec::new(),
        };
        let operations = model.own_operations(id).iter().flat_map(|operation| {
            let returned = operation.returns.iter().map(|returned| returned.r#type);
            returned.chain(operation.parameters.iter().map(|one| one.r#type))
        });
        let members = members.iter().map(|member| member.r#type);
        members.chain(elements).chain(operations)
    })
}

fn table<'m>(
    model: &Model,
    options: &RustOptions,
    generated: impl Iterator<Item = &'m Definition>,
) -> Option<Table> {
    model
        .iter()
        .find(|(_, definition)| is_complete_class(definition))?;
    let mut modules = options.root();
    let mut generated = generated.peekable();
    if modules.is_empty() {
        modules.extend(generated.peek()?.modules.first().cloned());
    }
    let constants = generated.filter(|definition| definition.modules == modules);
    let constants = constants.filter(|it| matches!(it.kind, DefinitionKind::Const(_)));
    let constants = constants.map(|it| spelled(&it.name, &it.metadata, names::screaming_snake));
    let taken: Vec<String> = constants.collect();
    let name = names::fresh("CLASSES", &taken).to_string();
    Some(Table { modules, name })
}

/// The definitions whose values cannot be compared exactly: a `float` or `double` is inside, a
/// class instance, or a container without an order.
///
/// One pass is enough, because the definitions that a definition uses stand before it in the model.
fn inexact(model: &Model) -> BTreeSet<DefinitionId> {
    let is_class = |definition: &Definition| matches!(definition.kind, DefinitionKind::Class(_));
    let classes = model.iter().filter(|(_, definition)| is_class(definition));
    let mut inexact: BTreeSet<DefinitionId> = classes.map(|(id, _)| id).collect();
    for (id, definition) in model.iter() {
        let has_inexact = match &definition.kind {
            DefinitionKind::Sequence(sequence) => {
                is_inexact(&inexact, sequence.element) || !Container::of(definition).has_order()
            }
            DefinitionKind::Dictionary(dictionary) => {
                is_inexact(&inexact, dictionary.key)
                    || is_inexact(&inexact, dictionary.value)
                    || !Container::of(definition).has_order()
            }
            DefinitionKind::Struct(definition) => {
                let mut members = definition.members.iter();
                members.any(|member| is_inexact(&inexact, member.r#type))
            }
            _ => false,
        };
        if has_inexact {
            inexact.insert(id);
        }
    }
    inexact
}

/// The structures without a default. What a structure has as a member stands before it in the model.
fn without_default(model: &Model) -> BTreeSet<DefinitionId> {
    let mut found = BTreeSet::new();
    for (id, definition) in model.iter() {
        if let DefinitionKind::Struct(of) = &definition.kind
            && of.members.iter().any(|it| is_without_default(&found, it))
        {
            found.insert(id);
        }
    }
    found
}

fn is_without_default(structures: &BTreeSet<DefinitionId>, member: &Member) -> bool {
    let is_needed = match member.r#type {
        Type::Named(id) => structures.contains(&id),
        _ => is_nonnull(&member.metadata),
    };
    is_needed && member.tag.is_none()
}

fn is_inexact(inexact: &BTreeSet<DefinitionId>, r#type: Type) -> bool {
    match r#type {
        Type::Primitive(primitive) => matches!(primitive, Primitive::Float | Primitive::Double),
        Type::Named(id) => inexact.contains(&id),
        Type::AnyClass => true,
        _ => false,
    }
}
