//! Metadata for Rust alone: `rust:identifier`, `rust:derive`, `rust:type`, `rust:bytes`, `rust:view` and
//! `rust:nonnull`.
//!
//! The Slice compiler warns of those that stand where they mean nothing; here is what would give
//! Rust that does not compile.

use floe_slice::diagnostic::{Code, Diagnostic};
use floe_slice::model::{
    Definition, DefinitionId, DefinitionKind, Member, Metadata, Model, Primitive, Type,
};
use quote::quote;

use super::check::inner_metadata;
use super::containers::{Container, applied, unknown_name};
use super::derive;
use super::facts::Facts;

/// Excludes nil: the proxy that an operation returns, a parameter, a member, an element or a value is then no option.
const NONNULL: &str = "rust:nonnull";

/// Returns true if these metadata exclude nil.
pub(super) fn is_nonnull(metadata: &[Metadata]) -> bool {
    metadata.iter().any(|directive| directive.text == NONNULL)
}

/// Names that are no identifiers: nothing else can be found out before they are right.
pub(super) fn check_identifiers(model: &Model) -> Vec<Diagnostic> {
    let all = model
        .iter()
        .flat_map(|(id, definition)| definition.metadata.iter().chain(inner_metadata(model, id)));
    all.filter_map(identifier).collect()
}

/// Adds what is wrong with the other metadata of a definition.
pub(super) fn check(
    model: &Model,
    id: DefinitionId,
    facts: &Facts,
    findings: &mut Vec<Diagnostic>,
) {
    let definition = model.definition(id);
    for metadata in &definition.metadata {
        findings.extend(derives(metadata));
        findings.extend(container(metadata, definition, facts));
        findings.extend(bytes(metadata, definition));
        findings.extend(view(metadata, model, id, facts));
    }
    findings.extend(nonnull_inside(definition));
    findings.extend(without_default(definition, facts));
    for operation in model.own_operations(id) {
        let returned = operation.returns.as_ref();
        let returned = returned.map(|returned| (returned.r#type, returned.tag));
        findings.extend(nonnull(&operation.metadata, returned));
        for parameter in &operation.parameters {
            let what = Some((parameter.r#type, parameter.tag));
            findings.extend(nonnull(&parameter.metadata, what));
        }
    }
}

fn identifier(metadata: &Metadata) -> Option<Diagnostic> {
    let name = metadata.text.strip_prefix("rust:identifier:")?;
    if syn::parse_str::<syn::Ident>(name).is_ok() {
        return None;
    }
    let message = format!("expected a Rust identifier that is no keyword, got `{name}`");
    Some(Diagnostic::new(Code::BadName, metadata.span, message))
}

fn derives(metadata: &Metadata) -> Option<Diagnostic> {
    let mut paths = derive::paths(metadata);
    let bad = paths.find(|path| !is_plain_path(path))?;
    let message = format!("expected the path of a derive macro, got `{bad}`");
    let help = "write `rust:derive:serde::Serialize`, several with commas between them";
    Some(Diagnostic::new(Code::BadName, metadata.span, message).help(help))
}

fn is_plain_path(path: &str) -> bool {
    syn::parse_str::<syn::Path>(path).is_ok_and(|path| {
        path.segments
            .iter()
            .all(|segment| segment.arguments.is_none())
    })
}

fn container(metadata: &Metadata, definition: &Definition, facts: &Facts) -> Option<Diagnostic> {
    let written = metadata.text.strip_prefix("rust:type:")?;
    let parameters = match definition.kind {
        DefinitionKind::Sequence(_) => vec![quote!(u8)],
        DefinitionKind::Dictionary(_) => vec![quote!(u8), quote!(u8)],
        _ => return None,
    };
    if applied(written, &parameters).is_some() {
        let unknown = unknown_name(written, &|name| facts.type_names.contains(name))?;
        let message =
            format!("expected a path, got `{unknown}`, which generated code does not import");
        let help = match unknown.as_str() {
            "BTreeMap" | "BTreeSet" | "HashMap" | "HashSet" | "LinkedList" | "VecDeque" => {
                format!("write `std::collections::{unknown}`")
            }
            _ => format!("write where it is: `crate::{unknown}`, or the path in another crate"),
        };
        return Some(Diagnostic::new(Code::BadName, metadata.span, message).help(help));
    }
    let message = format!("expected the path of a Rust container, got `{written}`");
    let help = "write `rust:type:std::collections::HashMap`; its parameters are filled in";
    Some(Diagnostic::new(Code::BadName, metadata.span, message).help(help))
}

/// A key without an order, which `BTreeMap` needs: only a container that was chosen makes one.
pub(super) fn key(model: &Model, id: DefinitionId, facts: &Facts) -> Option<Diagnostic> {
    let definition = model.definition(id);
    let DefinitionKind::Dictionary(dictionary) = &definition.kind else {
        return None;
    };
    if !facts.is_inexact(dictionary.key) || Container::of(definition) != Container::Usual {
        return None;
    }
    let scoped = &definition.scoped;
    let message = format!("the keys of `{scoped}` hold a container that has no order");
    let help = "choose another `rust:type` for the keys, or one for the dictionary";
    Some(Diagnostic::new(Code::WrongKind, definition.span, message).help(help))
}

fn bytes(metadata: &Metadata, definition: &Definition) -> Option<Diagnostic> {
    let DefinitionKind::Sequence(sequence) = &definition.kind else {
        return None;
    };
    if metadata.text != "rust:bytes" || sequence.element == Type::Primitive(Primitive::Byte) {
        return None;
    }
    let message = format!(
        "`rust:bytes` on `{}`, which is no sequence of bytes",
        definition.scoped
    );
    let help = "remove it, or make the sequence one of `byte`";
    Some(Diagnostic::new(Code::WrongKind, metadata.span, message).help(help))
}

/// The directive before a sequence, a dictionary or a member.
fn nonnull_inside(definition: &Definition) -> Vec<Diagnostic> {
    let of = |metadata: &[Metadata], r#type, tag| nonnull(metadata, Some((r#type, tag)));
    match &definition.kind {
        DefinitionKind::Sequence(sequence) => of(&definition.metadata, sequence.element, None)
            .into_iter()
            .collect(),
        DefinitionKind::Dictionary(dictionary) => of(&definition.metadata, dictionary.value, None)
            .into_iter()
            .collect(),
        _ => {
            let members = members(definition).iter();
            let found = members.filter_map(|it| of(&it.metadata, it.r#type, it.tag));
            found.collect()
        }
    }
}

/// A member of an exception or class that has no default: both are made before their members are read.
fn without_default(definition: &Definition, facts: &Facts) -> Option<Diagnostic> {
    let what = match &definition.kind {
        DefinitionKind::Exception(_) => "an exception",
        DefinitionKind::Class(_) => "a class",
        _ => return None,
    };
    let member = members(definition)
        .iter()
        .find(|it| facts.is_without_default(it))?;
    let message = format!(
        "`{}` has no default because of `rust:nonnull`, and a member of {what} needs one",
        member.name
    );
    let help = "remove `rust:nonnull`, or use a sequence or an optional member";
    Some(Diagnostic::new(Code::WrongKind, member.span, message).help(help))
}

fn members(definition: &Definition) -> &[Member] {
    match &definition.kind {
        DefinitionKind::Struct(of) => &of.members,
        DefinitionKind::Exception(of) => &of.members,
        DefinitionKind::Class(of) => &of.members,
        _ => &[],
    }
}

/// The directive before what is no proxy, or may be unset.
fn nonnull(metadata: &[Metadata], what: Option<(Type, Option<i32>)>) -> Option<Diagnostic> {
    let directive = metadata.iter().find(|metadata| metadata.text == NONNULL)?;
    let (message, remedy) = match what {
        Some((Type::ObjectProxy | Type::Proxy(_), None)) => return None,
        Some((Type::ObjectProxy | Type::Proxy(_), Some(_))) => (
            "`rust:nonnull` excludes nil, and an optional proxy may be unset",
            "remove it, or remove `optional`",
        ),
        Some(_) => (
            "`rust:nonnull` excludes nil, and only a proxy can be nil",
            "remove it",
        ),
        None => (
            "`rust:nonnull` excludes nil, and this operation returns nothing",
            "remove it, or write it before a parameter",
        ),
    };
    let diagnostic = Diagnostic::new(Code::WrongKind, directive.span, message);
    Some(diagnostic.help(format!(
        "{remedy}; it belongs before a parameter or member that is a proxy, an operation that returns one, or a sequence \
         or dictionary of proxies"
    )))
}

fn view(metadata: &Metadata, model: &Model, id: DefinitionId, facts: &Facts) -> Option<Diagnostic> {
    let definition = model.definition(id);
    let help = match &definition.kind {
        DefinitionKind::Struct(_) => "remove it: a view is for strings and sequences",
        DefinitionKind::Sequence(_) => "remove it, or give the element `[\"rust:view\"]` too",
        _ => return None,
    };
    if metadata.text != "rust:view" || facts.views.has_view(model, id) {
        return None;
    }
    let message = format!(
        "`rust:view` on `{}`, in which there is nothing to borrow",
        definition.scoped
    );
    Some(Diagnostic::new(Code::WrongKind, metadata.span, message).help(help))
}
