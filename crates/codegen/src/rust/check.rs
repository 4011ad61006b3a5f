//! What keeps a model from becoming Rust, found before any code is made.
//!
//! Names that differ in Slice can become one in Rust (`maxCost` and `max_cost`); classes and tagged
//! values are not supported yet; an interface that was only declared has no operations to generate.

use std::collections::BTreeMap;

use floe_slice::diagnostic::{Code, Diagnostic, Span};
use floe_slice::model::{
    Definition, DefinitionId, DefinitionKind, Enum, Interface, Member, Metadata, Model, Operation,
    Type,
};

use super::RustOptions;
use super::constants::const_ident;
use super::docs::deprecation;
use super::enums::variant_ident;
use super::exceptions::all_members;
use super::scope::{is_external, module_ident, snake_ident, type_names};
use super::structs::member_ident;

/// All reasons why the model cannot become Rust; none if it can.
pub(super) fn check(model: &Model, options: &RustOptions) -> Vec<Diagnostic> {
    let mut check = Check {
        model,
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

/// Whether anything in the model is deprecated.
pub(super) fn mentions_deprecation(model: &Model) -> bool {
    all_metadata(model).any(|metadata| deprecation(metadata).is_some())
}

fn all_metadata(model: &Model) -> impl Iterator<Item = &Metadata> {
    model
        .definitions
        .iter()
        .flat_map(|definition| definition.metadata.iter().chain(inner_metadata(definition)))
}

fn inner_metadata(definition: &Definition) -> Vec<&Metadata> {
    match &definition.kind {
        DefinitionKind::Enum(of) => of.enumerators.iter().flat_map(|e| &e.metadata).collect(),
        DefinitionKind::Struct(of) => of.members.iter().flat_map(|m| &m.metadata).collect(),
        DefinitionKind::Exception(of) => of.members.iter().flat_map(|m| &m.metadata).collect(),
        DefinitionKind::Interface(of) => of
            .operations
            .iter()
            .flat_map(|operation| {
                let parameters = operation.parameters.iter().flat_map(|p| &p.metadata);
                operation.metadata.iter().chain(parameters)
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// A name in Rust, the name in Slice that it comes from, and where that stands.
type Named = (String, String, Span);

struct Check<'a> {
    model: &'a Model,
    findings: Vec<Diagnostic>,
}

impl Check<'_> {
    fn definition(&mut self, id: DefinitionId) {
        let definition = self.model.definition(id);
        let before = self.findings.len();
        for metadata in definition.metadata.iter().chain(inner_metadata(definition)) {
            self.identifier(metadata);
        }
        match &definition.kind {
            DefinitionKind::Struct(of) => self.members(&of.members),
            DefinitionKind::Exception(of) => self.members(&of.members),
            DefinitionKind::Sequence(of) => self.supported(of.element, definition.span),
            DefinitionKind::Dictionary(of) => self.supported(of.value, definition.span),
            DefinitionKind::Interface(of) => self.interface(definition, of),
            DefinitionKind::Class(_) => self.unsupported(
                definition.span,
                format!(
                    "class `{}` cannot be generated: classes are",
                    definition.scoped
                ),
            ),
            _ => {}
        }
        if self.findings.len() == before {
            self.names_within(id);
        }
    }

    fn identifier(&mut self, metadata: &Metadata) {
        let Some(name) = metadata.text.strip_prefix("rust:identifier:") else {
            return;
        };
        if syn::parse_str::<syn::Ident>(name).is_err() {
            let message = format!("expected a Rust identifier that is no keyword, got `{name}`");
            self.findings
                .push(Diagnostic::new(Code::BadName, metadata.span, message));
        }
    }

    fn members(&mut self, members: &[Member]) {
        for member in members {
            self.tag(member.tag, member.span);
            self.supported(member.r#type, member.span);
        }
    }

    fn interface(&mut self, definition: &Definition, of: &Interface) {
        if !of.is_complete {
            let scoped = &definition.scoped;
            self.findings.push(
                Diagnostic::new(
                    Code::IncompleteType,
                    definition.span,
                    format!("interface `{scoped}` is declared but never defined"),
                )
                .help(
                    "include the file that defines it, or take it from existing Rust as external",
                ),
            );
        }
        for operation in &of.operations {
            self.operation(operation);
        }
    }

    fn operation(&mut self, operation: &Operation) {
        for parameter in &operation.parameters {
            self.tag(parameter.tag, parameter.span);
            self.supported(parameter.r#type, parameter.span);
        }
        if let Some(returned) = &operation.returns {
            self.tag(returned.tag, operation.span);
            self.supported(returned.r#type, operation.span);
        }
    }

    fn tag(&mut self, tag: Option<i32>, span: Span) {
        if let Some(tag) = tag {
            let message = format!("`optional({tag})` cannot be generated: optional values are");
            self.unsupported(span, message);
        }
    }

    fn supported(&mut self, r#type: Type, span: Span) {
        let class = match r#type {
            Type::Named(id) | Type::Proxy(id) => {
                let definition = self.model.definition(id);
                let is_class = matches!(definition.kind, DefinitionKind::Class(_));
                let is_by_value = matches!(
                    (r#type, &definition.kind),
                    (Type::Named(_), DefinitionKind::Interface(_))
                );
                (is_class || is_by_value).then_some(definition.scoped.as_str())
            }
            Type::Primitive(_) | Type::ObjectProxy => None,
            _ => Some("::Ice::Object"),
        };
        if let Some(class) = class {
            let message = format!("a value of class `{class}` cannot be generated: classes are");
            self.unsupported(span, message);
        }
    }

    fn unsupported(&mut self, span: Span, what: String) {
        let message = format!("{what} not yet supported");
        self.findings
            .push(Diagnostic::new(Code::NotYetSupported, span, message));
    }

    /// Members, enumerators, operations and parameters.
    fn names_within(&mut self, id: DefinitionId) {
        let model = self.model;
        let definition = model.definition(id);
        match &definition.kind {
            DefinitionKind::Struct(of) => self.clashes("member", &members(&of.members)),
            DefinitionKind::Exception(_) => {
                self.clashes("member", &members(all_members(model, id)));
            }
            DefinitionKind::Enum(of) => self.clashes("enumerator", &enumerators(of)),
            DefinitionKind::Interface(of) => {
                self.clashes("operation", &operations(model, id));
                for operation in &of.operations {
                    self.clashes("parameter", &parameters(operation));
                }
            }
            _ => {}
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
            let names = type_names(definition).into_iter().map(named);
            types.entry(modules).or_default().extend(names);
            if matches!(definition.kind, DefinitionKind::Const(_)) {
                let name = named(const_ident(definition).to_string());
                constants.entry(modules).or_default().push(name);
            }
            for depth in 0..modules.len() {
                let scoped = format!("::{}", modules[..=depth].join("::"));
                let name = module_ident(&modules[depth]).to_string();
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
        for (index, (rust, slice, span)) in names.iter().enumerate() {
            let Some((_, other, other_span)) =
                names[..index].iter().find(|(first, ..)| first == rust)
            else {
                continue;
            };
            let message = format!("`{other}` and `{slice}` both become the Rust {what} `{rust}`");
            self.findings.push(
                Diagnostic::new(Code::MappedNameClash, *span, message)
                    .label(*other_span, "the first of the two")
                    .help("rename one, or give it a name with `[\"rust:identifier:...\"]`"),
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
