//! Checks that a model can become Rust, before any code is made.
//!
//! Metadata for Rust can be malformed (`own_metadata.rs`), and can give one name to two things. Names
//! that become one without them have been parted before (`clashes.rs`).

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use floe_slice::diagnostic::{Code, Diagnostic, Span};
use floe_slice::model::{DefinitionId, DefinitionKind, Enum, Member, Metadata, Model, Operation};

use super::RustOptions;
use super::constants::const_ident;
use super::docs::deprecation;
use super::enums::variant_ident;
use super::exceptions::all_members;
use super::facts::Facts;
use super::members::member_ident;
use super::own_metadata;
use super::scope::{is_external, snake_ident, type_names};

/// All reasons why the model cannot become Rust; none if it can.
pub(super) fn check(model: &Model, options: &RustOptions, facts: &Facts) -> Vec<Diagnostic> {
    let mut check = Check {
        model,
        options,
        facts,
        findings: Vec::new(),
    };
    let generated: Vec<DefinitionId> = model
        .iter()
        .filter(|(_, definition)| !is_external(options, definition))
        .map(|(id, _)| id)
        .collect();
    for id in &generated {
        check.definition(*id);
    }
    if check.findings.is_empty() {
        check.modules(&generated);
    }
    check.findings
}

/// Returns true if metadata give a name.
pub(super) fn mapped(metadata: &[Metadata]) -> bool {
    let mut texts = metadata.iter().map(|directive| &directive.text);
    texts.any(|text| text.starts_with("rust:identifier:"))
}

/// Returns true if anything in the model is deprecated.
pub(super) fn mentions_deprecation(model: &Model) -> bool {
    all_metadata(model).any(|metadata| deprecation(metadata).is_some())
}

fn all_metadata(model: &Model) -> impl Iterator<Item = &Metadata> {
    model
        .iter()
        .flat_map(|(id, definition)| definition.metadata.iter().chain(inner_metadata(model, id)))
}

/// The metadata within a definition.
pub(super) fn inner_metadata(model: &Model, id: DefinitionId) -> impl Iterator<Item = &Metadata> {
    let kind = &model.definition(id).kind;
    let members = match kind {
        DefinitionKind::Struct(of) => of.members.as_slice(),
        DefinitionKind::Exception(of) => of.members.as_slice(),
        DefinitionKind::Class(of) => of.members.as_slice(),
        _ => &[],
    };
    let enumerators = match kind {
        DefinitionKind::Enum(of) => of.enumerators.as_slice(),
        _ => &[],
    };
    let members = members.iter().flat_map(|member| &member.metadata);
    let enumerators = enumerators.iter().flat_map(|one| &one.metadata);
    let operations = model.own_operations(id).iter().flat_map(|operation| {
        let parameters = operation.parameters.iter().flat_map(|one| &one.metadata);
        operation.metadata.iter().chain(parameters)
    });
    members.chain(enumerators).chain(operations)
}

/// A name in Rust, the name in Slice that it comes from, and where that stands.
type Named = (String, String, Span);

struct Check<'a> {
    model: &'a Model,
    options: &'a RustOptions,
    facts: &'a Facts,
    findings: Vec<Diagnostic>,
}

impl Check<'_> {
    fn definition(&mut self, id: DefinitionId) {
        let before = self.findings.len();
        own_metadata::check(self.model, id, self.facts, &mut self.findings);
        self.findings
            .extend(own_metadata::key(self.model, id, self.facts));
        if self.findings.len() == before {
            self.names_within(id);
        }
    }

    /// Members, enumerators, operations and parameters.
    fn names_within(&mut self, id: DefinitionId) {
        let model = self.model;
        let definition = model.definition(id);
        match &definition.kind {
            DefinitionKind::Struct(of) => self.clashes("member", &members(&of.members)),
            DefinitionKind::Class(of) => {
                self.clashes("member", &members(&of.members));
                self.operations(id);
            }
            DefinitionKind::Exception(_) => {
                self.clashes("member", &members(all_members(model, id)));
            }
            DefinitionKind::Enum(of) => self.clashes("enumerator", &enumerators(of)),
            DefinitionKind::Interface(_) => self.operations(id),
            _ => {}
        }
    }

    fn operations(&mut self, id: DefinitionId) {
        let model = self.model;
        self.clashes("operation", &operations(model, id));
        for operation in model.own_operations(id) {
            self.clashes("parameter", &parameters(operation));
        }
    }

    /// Types, constants and modules, in each module.
    fn modules(&mut self, generated: &[DefinitionId]) {
        let mut types: BTreeMap<&[String], Vec<Named>> = BTreeMap::new();
        let mut constants: BTreeMap<&[String], Vec<Named>> = BTreeMap::new();
        for id in generated {
            let definition = self.model.definition(*id);
            let modules = definition.modules.as_slice();
            let named = |name| (name, definition.scoped.clone(), definition.span);
            let names = type_names(definition, self.facts.objects.contains(id), self.options)
                .into_iter()
                .map(named);
            types.entry(modules).or_default().extend(names);
            if matches!(definition.kind, DefinitionKind::Const(_)) {
                let name = named(const_ident(definition).to_string());
                constants.entry(modules).or_default().push(name);
            }
            for depth in 0..modules.len() {
                let scoped = format!("::{}", modules[..=depth].join("::"));
                let name = self.facts.module(&modules[..=depth]).to_string();
                let inside = types.entry(&modules[..depth]).or_default();
                if !inside.iter().any(|(_, slice, _)| *slice == scoped) {
                    inside.push((name, scoped, definition.span));
                }
            }
        }
        for names in types.values() {
            self.clashes("type", names);
        }
        for names in constants.values() {
            self.clashes("constant", names);
        }
    }

    fn clashes(&mut self, what: &str, names: &[Named]) {
        let mut firsts: HashMap<&str, (&str, Span)> = HashMap::with_capacity(names.len());
        for (rust, slice, span) in names {
            let (other, other_span) = match firsts.entry(rust) {
                Entry::Occupied(first) => *first.get(),
                Entry::Vacant(entry) => {
                    entry.insert((slice, *span));
                    continue;
                }
            };
            let message = format!("`{other}` and `{slice}` both become the Rust {what} `{rust}`");
            self.findings.push(
                Diagnostic::new(Code::MappedNameClash, *span, message)
                    .label(other_span, "the first of the two")
                    .help("give one of them another name with `[\"rust:identifier:...\"]`"),
            );
        }
    }
}

fn members<'a>(members: impl IntoIterator<Item = &'a Member>) -> Vec<Named> {
    members
        .into_iter()
        .map(|member| {
            let rust = member_ident(member).to_string();
            (rust, member.name.clone(), member.span)
        })
        .collect()
}

fn enumerators(of: &Enum) -> Vec<Named> {
    of.enumerators
        .iter()
        .map(|enumerator| {
            let rust = variant_ident(enumerator).to_string();
            (rust, enumerator.name.clone(), enumerator.span)
        })
        .collect()
}

fn operations(model: &Model, interface: DefinitionId) -> Vec<Named> {
    model
        .all_operations(interface)
        .into_iter()
        .map(|(_, operation)| {
            let rust = snake_ident(&operation.name, &operation.metadata).to_string();
            (rust, operation.name.clone(), operation.span)
        })
        .collect()
}

fn parameters(operation: &Operation) -> Vec<Named> {
    operation
        .parameters
        .iter()
        .map(|parameter| {
            let rust = snake_ident(&parameter.name, &parameter.metadata).to_string();
            (rust, parameter.name.clone(), parameter.span)
        })
        .collect()
}
