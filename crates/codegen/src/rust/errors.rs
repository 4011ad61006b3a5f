//! Which error enums there are: one for each set of exceptions that operations declare.
//!
//! The enum of `throws Late, Rejected` is `LateOrRejectedError`, whatever interface the operation is in:
//! the names of the exceptions in alphabetical order, each without a trailing `Exception`, with `Or` between
//! them and `Error` behind them. An exception of a module that is not around the interface has the names of its
//! modules in front. An exception is left out where one that it derives from is declared as well. Each module has
//! the enums of its operations by these names; one that several modules have stands in the first of them, and
//! the others name it again with `pub use`.

use std::collections::{BTreeMap, BTreeSet};

use floe_slice::diagnostic::{Code, Diagnostic};
use floe_slice::model::{DefinitionId, Model, Operation};
use proc_macro2::Ident;

use super::RustOptions;
use super::scope::{is_external, type_name, type_names};
use crate::names;

/// The error enums of a model.
#[derive(Clone, Default)]
pub(super) struct ErrorSets {
    sets: Vec<ErrorSet>,
    /// Indexes into `sets`, by module and exceptions.
    places: BTreeMap<(Vec<String>, Vec<DefinitionId>), usize>,
    /// A warning for each name that had to yield to that of a type.
    pub(super) warnings: Vec<Diagnostic>,
}

/// The error enum of a set of exceptions, in one module.
#[derive(Clone)]
pub(super) struct ErrorSet {
    /// Slice names of the modules around it, outermost first.
    pub(super) modules: Vec<String>,
    /// Its name in Rust.
    pub(super) name: String,
    /// The exceptions, none of which derives from another one, in order of declaration.
    pub(super) throws: Vec<DefinitionId>,
    /// The first interface of the module that has an operation with these exceptions.
    interface: DefinitionId,
    /// The set that has the enum, if it is one of another module: an index.
    home: Option<usize>,
    /// True if its module is taken from existing Rust.
    is_external: bool,
    /// The exceptions and all that are known to derive from them.
    all: BTreeSet<DefinitionId>,
}

impl ErrorSets {
    /// The sets of all operations; `objects` are the classes that have proxies.
    pub(super) fn of(
        model: &Model,
        options: &RustOptions,
        objects: &BTreeSet<DefinitionId>,
    ) -> Self {
        let mut taken: BTreeMap<&[String], BTreeSet<String>> = BTreeMap::new();
        for (id, definition) in model.iter() {
            let names = type_names(definition, objects.contains(&id), options);
            taken.entry(&definition.modules).or_default().extend(names);
        }
        let mut errors = Self::default();
        for (interface, definition) in model.iter() {
            // One that is external alone stands where nothing else of its module does.
            if options.external_path(&definition.scoped).is_some() {
                continue;
            }
            for operation in model.own_operations(interface) {
                let throws = throws(model, operation);
                let place = (definition.modules.clone(), throws);
                if place.1.is_empty() || errors.places.contains_key(&place) {
                    continue;
                }
                let mut name = usual_name(model, &place.0, &place.1);
                let taken = taken.entry(&definition.modules).or_default();
                let usual = name.clone();
                while !taken.insert(name.clone()) {
                    name.push('_');
                }
                if name != usual {
                    errors.warnings.push(changed(operation, &usual, &name));
                }
                let is_external = is_external(options, definition);
                let home = errors.sets.iter().position(|other| {
                    !is_external && other.is_defined_here() && other.throws == place.1
                });
                let derived = |id: &DefinitionId| model.derived_exceptions(*id);
                let derived = place.1.iter().flat_map(derived);
                errors.sets.push(ErrorSet {
                    modules: place.0.clone(),
                    name,
                    throws: place.1.clone(),
                    interface,
                    home,
                    is_external,
                    all: derived.chain(place.1.iter().copied()).collect(),
                });
                errors.places.insert(place, errors.sets.len() - 1);
            }
        }
        errors
    }

    /// The names of all enums.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().map(|set| set.name.as_str())
    }

    /// The sets that stand before an interface.
    pub(super) fn before(&self, interface: DefinitionId) -> impl Iterator<Item = &ErrorSet> {
        let sets = self.sets.iter().filter(|set| !set.is_external);
        sets.filter(move |set| set.interface == interface)
    }

    /// The set that has the enum of `set`, if that is one of another module.
    pub(super) fn home(&self, set: &ErrorSet) -> Option<&ErrorSet> {
        set.home.map(|index| &self.sets[index])
    }

    /// The enums whose exceptions `set` has among others.
    pub(super) fn subsets<'s>(&'s self, set: &'s ErrorSet) -> impl Iterator<Item = &'s ErrorSet> {
        let enums = self.sets.iter().filter(|other| other.is_defined_here());
        enums.filter(|other| other.throws != set.throws && other.all.is_subset(&set.all))
    }

    /// The name of the enum of an operation, in the module of the interface that declares it.
    pub(super) fn name(&self, model: &Model, interface: DefinitionId, of: &Operation) -> Ident {
        let modules = &model.definition(interface).modules;
        let place = (modules.clone(), throws(model, of));
        let name = match self.places.get(&place) {
            Some(index) => self.sets[*index].name.clone(),
            None => usual_name(model, modules, &place.1),
        };
        names::ident(&name)
    }
}

impl ErrorSet {
    fn is_defined_here(&self) -> bool {
        !self.is_external && self.home.is_none()
    }

    /// The exceptions with the names of their variants: the declared ones, then every known one that
    /// derives from them, so that a servant can fail with it and a caller sees it.
    pub(super) fn variants(&self, model: &Model) -> Vec<(DefinitionId, Ident)> {
        let derived = self.all.iter().filter(|id| !self.throws.contains(id));
        let exceptions: Vec<DefinitionId> = self.throws.iter().chain(derived).copied().collect();
        let short = |id: &DefinitionId| type_name(model.definition(*id));
        let is_shared = |name: &str| {
            let mut names = exceptions.iter().filter(|other| short(other) == name);
            name == "Invoke" || names.nth(1).is_some()
        };
        let variant = |id: &DefinitionId| {
            let name = short(id);
            let prefix = match is_shared(&name) {
                true => modules_in_front(&model.definition(*id).modules),
                false => String::new(),
            };
            (*id, names::ident(&format!("{prefix}{name}")))
        };
        exceptions.iter().map(variant).collect()
    }
}

/// The exceptions that an operation declares, without those that derive from others of them.
fn throws(model: &Model, operation: &Operation) -> Vec<DefinitionId> {
    let declared = &operation.throws;
    let is_derived = |id: &DefinitionId| {
        let mut bases = model.exception_chain(*id).into_iter().skip(1);
        bases.any(|base| declared.contains(&base))
    };
    let mut throws: Vec<DefinitionId> = declared.clone();
    throws.retain(|id| !is_derived(id));
    throws.sort();
    throws
}

fn usual_name(model: &Model, modules: &[String], throws: &[DefinitionId]) -> String {
    let name = |id: &DefinitionId| {
        let definition = model.definition(*id);
        let name = type_name(definition);
        let short = name.strip_suffix("Exception");
        let short = short.filter(|short| !short.is_empty()).unwrap_or(&name);
        match modules.starts_with(&definition.modules) {
            true => short.to_owned(),
            false => format!("{}{short}", modules_in_front(&definition.modules)),
        }
    };
    let mut names: Vec<String> = throws.iter().map(name).collect();
    names.sort();
    format!("{}Error", names.join("Or"))
}

fn changed(operation: &Operation, usual: &str, name: &str) -> Diagnostic {
    let message = format!(
        "the errors of `{}` become the Rust type `{name}`: another type is called `{usual}`",
        operation.name
    );
    Diagnostic::new(Code::MappedNameChanged, operation.span, message)
        .help("choose a name for one of the exceptions with `[\"rust:identifier:...\"]`")
}

fn modules_in_front(modules: &[String]) -> String {
    let modules = modules.iter();
    modules.map(|module| names::upper_camel(module)).collect()
}
