//! Names that are two in Slice and one in Rust: all but one get another name.
//!
//! A name that `rust:identifier` gives stays, then the first in order of declaration; each later one
//! gets underscores behind it until nothing has its name. The new name is written into a copy of the
//! model as `rust:identifier`, so that no generator knows of it; a model of which every name stays is
//! not copied. Names of the same model and options are always the same, and adding a definition behind
//! the others changes none of theirs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use floe_slice::diagnostic::{Code, Diagnostic, Span};
use floe_slice::model::{
    Definition, DefinitionId, DefinitionKind, Enum, Member, Metadata, Model, Operation, Parameter,
};
use proc_macro2::Ident;

use super::RustOptions;
use super::check::mapped;
use super::constants::const_ident;
use super::enums::variant_ident;
use super::errors::ErrorSets;
use super::exceptions::all_members;
use super::facts::objects;
use super::members::member_ident;
use super::own_metadata::check_identifiers;
use super::scope::{is_external, module_text, operations_of, snake_ident, type_name, type_names};

/// A model in which every name has one of its own in Rust, unless metadata of its author say
/// otherwise.
pub(super) struct Resolved<'m> {
    pub(super) model: Cow<'m, Model>,
    /// The error enums, whose names yield to those of types.
    pub(super) errors: ErrorSets,
    /// The names of the modules that do not have their usual one, by their Slice names, outermost
    /// first.
    pub(super) modules: BTreeMap<Vec<String>, String>,
    /// A warning for each name that was changed.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Gives each name one of its own.
///
/// # Errors
/// A diagnostic for each `rust:identifier` that is none.
pub(super) fn resolve<'m>(
    model: &'m Model,
    options: &RustOptions,
) -> Result<Resolved<'m>, Vec<Diagnostic>> {
    let findings = check_identifiers(model);
    if !findings.is_empty() {
        return Err(findings);
    }
    let mut resolve = Resolve {
        model: Cow::Borrowed(model),
        modules: BTreeMap::new(),
        warnings: Vec::new(),
    };
    for index in 0..model.definitions.len() {
        resolve.members(DefinitionId(index));
        resolve.parameters(DefinitionId(index));
    }
    resolve.operations(options);
    resolve.definitions(options);
    let errors = ErrorSets::of(&resolve.model, options, &objects(&resolve.model));
    resolve.warnings.extend(errors.warnings.iter().cloned());
    Ok(Resolved {
        model: resolve.model,
        errors,
        modules: resolve.modules,
        warnings: resolve.warnings,
    })
}

struct Resolve<'m> {
    model: Cow<'m, Model>,
    modules: BTreeMap<Vec<String>, String>,
    warnings: Vec<Diagnostic>,
}

/// A name before it is certain.
struct Candidate {
    /// The Slice name, as messages show it.
    slice: String,
    span: Span,
    /// The identifier in Rust, without the mark of a raw one.
    rust: String,
    /// True if nothing may change it.
    is_fixed: bool,
}

/// The names that are taken, and by whom.
type Taken = HashMap<String, (String, Span)>;

impl Resolve<'_> {
    /// Members and enumerators.
    fn members(&mut self, id: DefinitionId) {
        let definition = self.model.definition(id);
        let (what, candidates) = match &definition.kind {
            DefinitionKind::Struct(of) => ("member", own_members(&of.members)),
            DefinitionKind::Class(of) => ("member", own_members(&of.members)),
            DefinitionKind::Exception(of) => {
                let all = all_members(&self.model, id);
                let inherited = all.len() - of.members.len();
                let mut candidates = own_members(all);
                for candidate in &mut candidates[..inherited] {
                    candidate.is_fixed = true;
                }
                ("member", candidates)
            }
            DefinitionKind::Enum(of) => ("enumerator", enumerators(of)),
            _ => return,
        };
        let names = self.unique(what, &candidates);
        if names.iter().all(Option::is_none) {
            return;
        }
        let parts = metadata_of_parts(&mut self.model.to_mut().definitions[id.0]);
        let own = names.len() - parts.len();
        let changed = names.into_iter().zip(candidates).skip(own);
        for ((metadata, doc), (name, candidate)) in parts.into_iter().zip(changed) {
            if let Some(name) = name {
                rename(metadata, &name, candidate.span);
                note(doc, &candidate.slice);
            }
        }
    }

    fn parameters(&mut self, id: DefinitionId) {
        for index in 0..self.model.own_operations(id).len() {
            let parameters = &self.model.own_operations(id)[index].parameters;
            let candidates: Vec<Candidate> = parameters.iter().map(parameter).collect();
            let names = self.unique("parameter", &candidates);
            if names.iter().all(Option::is_none) {
                continue;
            }
            let model = self.model.to_mut();
            let operation = &mut operations_of(&mut model.definitions[id.0])[index];
            let parameters = operation.parameters.iter_mut().zip(names).zip(candidates);
            for ((parameter, name), candidate) in parameters {
                if let Some(name) = name {
                    rename(&mut parameter.metadata, &name, candidate.span);
                    let before = parameter.doc.take().unwrap_or_default();
                    let text = format!("{before}\n(Slice name: {})", candidate.slice);
                    parameter.doc = Some(text.trim_start().to_owned());
                }
            }
        }
    }

    /// Operations: one that inherits from two interfaces sees the operations of both, so that the
    /// names of all interfaces are found together.
    fn operations(&mut self, options: &RustOptions) {
        let mut names: BTreeMap<(DefinitionId, usize), String> = BTreeMap::new();
        let mut reasons = BTreeMap::new();
        while self.operations_once(options, &mut names, &mut reasons) {}
        for ((id, index), name) in names {
            let model = self.model.to_mut();
            let operation = &mut operations_of(&mut model.definitions[id.0])[index];
            let candidate = operation_candidate(operation, false);
            rename(&mut operation.metadata, &name, operation.span);
            note(&mut operation.doc, &operation.name);
            let taken = &reasons[&(id, index)];
            self.warn("operation", &candidate, &name, taken);
        }
    }

    /// Changes what clashes in some interface. A change can clash in another interface: then it is
    /// changed again. Later ones yield to earlier ones, so there is an end.
    fn operations_once(
        &self,
        options: &RustOptions,
        names: &mut BTreeMap<(DefinitionId, usize), String>,
        reasons: &mut BTreeMap<(DefinitionId, usize), (String, Span)>,
    ) -> bool {
        let mut has_changed = false;
        for (id, _) in self.model.iter() {
            let mut all: Vec<((DefinitionId, usize), Candidate)> = Vec::new();
            for declaring in self.model.linearized(id) {
                let is_fixed = is_external(options, self.model.definition(declaring));
                let own = self.model.own_operations(declaring).iter().enumerate();
                all.extend(own.map(|(index, operation)| {
                    let mut candidate = operation_candidate(operation, is_fixed);
                    if let Some(name) = names.get(&(declaring, index)) {
                        candidate.rust.clone_from(name);
                    }
                    ((declaring, index), candidate)
                }));
            }
            all.sort_by_key(|(key, _)| *key);
            let candidates: Vec<Candidate>;
            let keys: Vec<(DefinitionId, usize)>;
            (keys, candidates) = all.into_iter().unzip();
            for (key, change) in keys
                .into_iter()
                .zip(changes(&candidates, &mut Taken::new()))
            {
                if let Some((name, taken)) = change {
                    names.insert(key, name);
                    reasons.entry(key).or_insert(taken);
                    has_changed = true;
                }
            }
        }
        has_changed
    }

    /// Types, constants and modules, in each module.
    fn definitions(&mut self, options: &RustOptions) {
        let objects = objects(&self.model);
        let mut types: HashMap<Vec<String>, Taken> = HashMap::new();
        let mut constants: HashMap<Vec<String>, Taken> = HashMap::new();
        let (fixed, free): (Vec<_>, Vec<_>) = self
            .model
            .iter()
            .map(|(id, _)| id)
            .partition(|id| is_fixed(options, self.model.definition(*id)));
        for (ids, may_change) in [(fixed, false), (free, true)] {
            for id in ids {
                self.open_modules(id, &mut types);
                let definition = self.model.definition(id);
                let is_const = matches!(definition.kind, DefinitionKind::Const(_));
                let all = if is_const { &mut constants } else { &mut types };
                if !all.contains_key(&definition.modules) {
                    all.insert(definition.modules.clone(), Taken::new());
                }
                let taken = all.get_mut(&definition.modules).expect("it was added");
                let names = |definition: &Definition| match definition.kind {
                    DefinitionKind::Const(_) => vec![text_of(&const_ident(definition))],
                    _ => type_names(definition, objects.contains(&id), options),
                };
                self.definition(id, taken, may_change, names);
            }
        }
    }

    fn definition(
        &mut self,
        id: DefinitionId,
        taken: &mut Taken,
        may_change: bool,
        names: impl Fn(&Definition) -> Vec<String>,
    ) {
        let definition = self.model.definition(id);
        let mut wanted = names(definition);
        let clash = wanted.iter().find_map(|name| taken.get(name)).cloned();
        if let Some(reason) = clash.filter(|_| may_change) {
            let renamed = self.rename_definition(id, &reason, taken, &names);
            wanted = names(&renamed);
            self.model.to_mut().definitions[id.0] = renamed;
        }
        let definition = self.model.definition(id);
        for name in wanted {
            let by = || (definition.scoped.clone(), definition.span);
            taken.entry(name).or_insert_with(by);
        }
    }

    /// The definition with a name of which nothing is taken.
    fn rename_definition(
        &mut self,
        id: DefinitionId,
        reason: &(String, Span),
        taken: &Taken,
        names: impl Fn(&Definition) -> Vec<String>,
    ) -> Definition {
        let mut definition = self.model.definition(id).clone();
        let usual = definition.metadata.len();
        let (what, mut name) = match definition.kind {
            DefinitionKind::Const(_) => ("constant", text_of(&const_ident(&definition))),
            _ => ("type", type_name(&definition)),
        };
        while names(&definition)
            .iter()
            .any(|name| taken.contains_key(name))
        {
            name.push('_');
            definition.metadata.truncate(usual);
            rename(&mut definition.metadata, &name, definition.span);
        }
        let candidate = Candidate {
            slice: definition.scoped.clone(),
            span: definition.span,
            rust: String::new(),
            is_fixed: false,
        };
        self.warn(what, &candidate, &name, reason);
        note(&mut definition.doc, &definition.name);
        definition
    }

    /// The modules around a definition, where it is the first in them.
    fn open_modules(&mut self, id: DefinitionId, types: &mut HashMap<Vec<String>, Taken>) {
        let definition = self.model.definition(id);
        let (modules, span) = (definition.modules.clone(), definition.span);
        for depth in 0..modules.len() {
            let path = &modules[..=depth];
            if types.contains_key(path) {
                continue;
            }
            types.insert(path.to_vec(), Taken::new());
            let around = types.entry(modules[..depth].to_vec()).or_default();
            let candidate = Candidate {
                slice: format!("::{}", path.join("::")),
                span,
                rust: module_text(&modules[depth]),
                is_fixed: false,
            };
            let change = changes(std::slice::from_ref(&candidate), around).pop();
            if let Some((name, taken)) = change.flatten() {
                self.warn("module", &candidate, &name, &taken);
                self.modules.insert(path.to_vec(), name);
            }
        }
    }

    /// The new name of each candidate that does not keep its own.
    fn unique(&mut self, what: &str, candidates: &[Candidate]) -> Vec<Option<String>> {
        let changes = changes(candidates, &mut Taken::new());
        let mut names = Vec::with_capacity(changes.len());
        for (candidate, change) in candidates.iter().zip(changes) {
            if let Some((name, taken)) = &change {
                self.warn(what, candidate, name, taken);
            }
            names.push(change.map(|(name, _)| name));
        }
        names
    }

    fn warn(&mut self, what: &str, candidate: &Candidate, name: &str, taken: &(String, Span)) {
        let (slice, (other, place)) = (&candidate.slice, taken);
        let message = format!("`{slice}` becomes the Rust {what} `{name}`: `{other}` has the name");
        self.warnings.push(
            Diagnostic::new(Code::MappedNameChanged, candidate.span, message)
                .label(*place, "this keeps its name")
                .help("choose a name with `[\"rust:identifier:...\"]`"),
        );
    }
}

/// The new name of each candidate that clashes, and who has the name that it wanted.
fn changes(candidates: &[Candidate], taken: &mut Taken) -> Vec<Option<(String, (String, Span))>> {
    let by = |candidate: &Candidate| (candidate.slice.clone(), candidate.span);
    for candidate in candidates.iter().filter(|candidate| candidate.is_fixed) {
        taken.insert(candidate.rust.clone(), by(candidate));
    }
    let mut changes = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        if candidate.is_fixed {
            changes.push(None);
            continue;
        }
        let reason = taken.get(&candidate.rust).cloned();
        let mut name = candidate.rust.clone();
        while taken.contains_key(&name) {
            name.push('_');
        }
        taken.insert(name.clone(), by(candidate));
        changes.push(reason.map(|reason| (name, reason)));
    }
    changes
}

/// Returns true if the Rust name of a definition is not ours to choose.
fn is_fixed(options: &RustOptions, definition: &Definition) -> bool {
    mapped(&definition.metadata) || is_external(options, definition)
}

fn own_members<'a>(members: impl IntoIterator<Item = &'a Member>) -> Vec<Candidate> {
    let candidate = |member: &Member| Candidate {
        slice: member.name.clone(),
        span: member.span,
        rust: text_of(&member_ident(member)),
        is_fixed: mapped(&member.metadata),
    };
    members.into_iter().map(candidate).collect()
}

fn enumerators(of: &Enum) -> Vec<Candidate> {
    let enumerators = of.enumerators.iter();
    enumerators
        .map(|one| Candidate {
            slice: one.name.clone(),
            span: one.span,
            rust: text_of(&variant_ident(one)),
            is_fixed: mapped(&one.metadata),
        })
        .collect()
}

fn parameter(parameter: &Parameter) -> Candidate {
    Candidate {
        slice: parameter.name.clone(),
        span: parameter.span,
        rust: text_of(&snake_ident(&parameter.name, &parameter.metadata)),
        is_fixed: mapped(&parameter.metadata),
    }
}

fn operation_candidate(operation: &Operation, is_fixed: bool) -> Candidate {
    Candidate {
        slice: operation.name.clone(),
        span: operation.span,
        rust: text_of(&snake_ident(&operation.name, &operation.metadata)),
        is_fixed: is_fixed || mapped(&operation.metadata),
    }
}

/// The metadata and doc comments of the members or enumerators that a definition has itself.
fn metadata_of_parts(
    definition: &mut Definition,
) -> Vec<(&mut Vec<Metadata>, &mut Option<String>)> {
    let members = match &mut definition.kind {
        DefinitionKind::Struct(of) => &mut of.members,
        DefinitionKind::Class(of) => &mut of.members,
        DefinitionKind::Exception(of) => &mut of.members,
        DefinitionKind::Enum(of) => {
            let enumerators = of.enumerators.iter_mut();
            return enumerators
                .map(|one| (&mut one.metadata, &mut one.doc))
                .collect();
        }
        _ => return Vec::new(),
    };
    members
        .iter_mut()
        .map(|member| (&mut member.metadata, &mut member.doc))
        .collect()
}

fn rename(metadata: &mut Vec<Metadata>, name: &str, span: Span) {
    metadata.push(Metadata {
        text: format!("rust:identifier:{name}"),
        span,
    });
}

/// Says in a doc comment what the name in Slice is.
fn note(doc: &mut Option<String>, name: &str) {
    let before = doc.take().unwrap_or_default();
    let text = format!("{before}\n@remark Slice name: `{name}`");
    *doc = Some(text.trim_start().to_owned());
}

/// An identifier without the mark of a raw one.
fn text_of(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}
