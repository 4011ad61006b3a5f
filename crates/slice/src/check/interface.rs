//! Interfaces and operations.

use std::collections::{HashMap, HashSet};

use super::container::Names;
use super::member::Tags;
use super::{Checker, Context, doc, metadata, suggest};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{DefinitionId, DefinitionKind, Interface, Operation, Parameter, Returned};
use crate::parse::ast::{self, Name, ScopedName, TypeKind, ValueKind};

/// An operation that a base declares.
#[derive(Debug, Clone)]
pub(super) struct Inherited {
    pub(super) name: String,
    pub(super) span: Span,
    /// The interface or class that declares it.
    pub(super) declares: DefinitionId,
}

impl Checker {
    pub(super) fn interface(
        &mut self,
        name: &Name,
        bases: &[ScopedName],
        operations: &[ast::Operation],
        context: Context,
    ) -> Option<DefinitionKind> {
        let help = "an interface extends other interfaces";
        let bases = self.base_interfaces(bases, help, context);
        let ancestors = self.ancestors(&bases);
        let mut names = Names::default();
        self.remember_operations(name, operations.iter(), context);
        let context = context.body();
        let operations = operations.iter();
        let operations: Vec<Operation> = operations
            .filter_map(|one| self.operation(one, name, &ancestors, &mut names, context))
            .collect();
        let depths: Vec<usize> = bases.iter().map(|base| self.facts[base.0].depth).collect();
        let depth = self.depth_above(depths, name.span)?;
        self.set_depth(name, context, depth);
        Some(DefinitionKind::Interface(Interface {
            bases,
            operations,
            is_complete: true,
        }))
    }

    /// The bases that are legal, each once; operations that two of them declare are reported.
    pub(super) fn base_interfaces(
        &mut self,
        bases: &[ScopedName],
        help: &str,
        context: Context,
    ) -> Vec<DefinitionId> {
        let mut found: Vec<DefinitionId> = Vec::new();
        let mut seen = HashSet::new();
        let mut inherited = HashMap::new();
        for base in bases {
            let Some(id) = self.base_interface(base, help, context) else {
                continue;
            };
            if !seen.insert(id) {
                continue;
            }
            if bases.len() > 1 {
                self.merge_operations(id, base, &mut inherited);
            }
            found.push(id);
        }
        found
    }

    fn base_interface(
        &mut self,
        base: &ScopedName,
        help: &str,
        context: Context,
    ) -> Option<DefinitionId> {
        let id = self.find_definition(base, context, "interface")?;
        let definition = self.definition(id);
        let place = definition.span;
        match &definition.kind {
            DefinitionKind::Interface(interface) if interface.is_complete => {
                self.check_local_base(id, base, context)
            }
            DefinitionKind::Interface(_) => {
                let message = format!("the base `{}` is not defined yet", base.text());
                let diagnostic = Diagnostic::new(Code::IncompleteType, base.span, message)
                    .label(place, "only declared here")
                    .help("define the base first");
                self.report(diagnostic);
                None
            }
            _ => {
                let message = format!(
                    "`{}` is {} and not an interface",
                    base.text(),
                    self.noun(id)
                );
                let diagnostic = Diagnostic::new(Code::WrongKind, base.span, message)
                    .label(place, "defined here")
                    .help(help);
                self.report(diagnostic);
                None
            }
        }
    }

    /// Refuses a base that is not local of an interface or class that is.
    pub(super) fn check_local_base(
        &mut self,
        id: DefinitionId,
        base: &ScopedName,
        context: Context,
    ) -> Option<DefinitionId> {
        if !context.is_local || self.facts[id.0].is_local {
            return Some(id);
        }
        let message = format!("the base `{}` of a local type is not local", base.text());
        let diagnostic = Diagnostic::new(Code::LocalMisuse, base.span, message)
            .label(self.definition(id).span, "defined here")
            .help("write `local` in both places or in none");
        self.report(diagnostic);
        None
    }

    /// Interfaces and all their bases, each once.
    pub(super) fn ancestors(&self, interfaces: &[DefinitionId]) -> Vec<DefinitionId> {
        let mut found = Vec::new();
        let mut open: Vec<DefinitionId> = interfaces.to_vec();
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if let DefinitionKind::Interface(interface) = &self.definition(id).kind
                && seen.insert(id)
            {
                open.extend(&interface.bases);
                found.push(id);
            }
        }
        found
    }

    /// The operations that interfaces and classes declare themselves, in the order of the text.
    pub(super) fn operations_of(&self, owners: &[DefinitionId]) -> Vec<Inherited> {
        let mut operations = Vec::new();
        for id in owners {
            let own = self.facts[id.0].operations.values();
            operations.extend(own.map(|(name, span)| Inherited {
                name: name.clone(),
                span: *span,
                declares: *id,
            }));
        }
        operations.sort_by_key(|one| (one.span.file, one.span.start));
        operations
    }

    /// Stores the names of the operations of an interface or class.
    pub(super) fn remember_operations<'o>(
        &mut self,
        owner: &Name,
        operations: impl Iterator<Item = &'o ast::Operation>,
        context: Context,
    ) {
        let Some(id) = self.own_id(owner, context) else {
            return;
        };
        for operation in operations {
            let name = &operation.name;
            let own = &mut self.facts[id.0].operations;
            own.entry(name.text.to_ascii_lowercase())
                .or_insert((name.text.clone(), name.span));
        }
    }

    /// Reports an operation that a base declares already.
    fn check_inherited(&mut self, name: &Name, ancestors: &[DefinitionId]) {
        let key = name.text.to_ascii_lowercase();
        let declared = ancestors
            .iter()
            .find_map(|id| self.facts[id.0].operations.get(&key).cloned());
        match declared {
            Some((before, place)) if before == name.text => self.report_inherited(name, place),
            Some((before, place)) => self.report_two_names(name, &before, place),
            None => {}
        }
    }

    fn merge_operations(
        &mut self,
        base: DefinitionId,
        written: &ScopedName,
        all: &mut HashMap<String, Inherited>,
    ) {
        for operation in self.operations_of(&self.ancestors(&[base])) {
            let key = operation.name.to_ascii_lowercase();
            match all.get(&key) {
                Some(other) if other.declares != operation.declares => {
                    self.report_ambiguous(written.span, &operation, other);
                }
                _ => {
                    all.insert(key, operation);
                }
            }
        }
    }

    /// Reports an operation that two bases declare.
    pub(super) fn report_ambiguous(&mut self, at: Span, operation: &Inherited, other: &Inherited) {
        let name = &operation.name;
        let mut message = format!("two bases declare an operation `{name}`");
        if other.name != *name {
            message = format!("{message} (the other as `{}`)", other.name);
        }
        let diagnostic = Diagnostic::new(Code::AmbiguousOperation, at, message)
            .label(other.span, "declared here")
            .label(operation.span, "and here")
            .help("rename one of them, or move it to an interface that both extend");
        self.report(diagnostic);
    }

    /// Checks an operation of the interface or class `owner`.
    pub(super) fn operation(
        &mut self,
        operation: &ast::Operation,
        owner: &Name,
        ancestors: &[DefinitionId],
        names: &mut Names,
        context: Context,
    ) -> Option<Operation> {
        let name = &operation.name;
        let prelude = &operation.prelude;
        self.check_metadata(&prelude.metadata, metadata::Place::Operation);
        if name.text.eq_ignore_ascii_case(&owner.text) {
            let message = format!(
                "the operation `{}` is named like what declares it",
                name.text
            );
            let diagnostic = Diagnostic::new(Code::Redefinition, name.span, message)
                .label(owner.span, "declared in this")
                .help("rename the operation");
            self.report(diagnostic);
        }
        for used in names_of_result(operation) {
            names.note_use(used);
        }
        // Observed: slice2py of Ice 3.8.3 does not check the names of operations.
        if !self.language.has_38() {
            self.check_name(name);
        }
        if let Some((Some(tag), _)) = &operation.returns {
            self.is_hidden_value(&tag.value, names);
        }
        let is_new = self.add_unchecked_name(name, "operation", names);
        self.check_inherited(name, ancestors);
        for tag in operation.parameters.iter().filter_map(|it| it.tag.as_ref()) {
            self.is_hidden_value(&tag.value, names);
        }
        for exception in &operation.throws {
            self.is_hidden(exception, "the exception with its modules", names);
            names.note_use(exception);
        }
        let mut tags = Tags::new();
        let returns = self.returns(operation, &mut tags, context);
        let mut parameters = self.parameters(operation, &mut tags, context);
        let throws = self.throws(&operation.throws, context);
        self.check_oneway(operation);
        let text = prelude.doc.as_deref().and_then(doc::clean);
        let split = doc::split_parameters(text.as_deref().unwrap_or(""));
        if let Some(parameters) = &mut parameters {
            self.check_documented(&split.parameters, parameters, name);
            distribute(split.parameters, parameters);
        }
        Some(Operation {
            name: name.text.clone(),
            is_idempotent: operation.is_idempotent,
            returns: returns?,
            parameters: parameters?,
            throws,
            metadata: prelude.metadata.clone(),
            doc: split.text,
            span: name.span,
        })
        .filter(|_| is_new)
    }

    fn returns(
        &mut self,
        operation: &ast::Operation,
        tags: &mut Tags,
        context: Context,
    ) -> Option<Option<Returned>> {
        let Some((tag, written)) = &operation.returns else {
            return Some(None);
        };
        let tag = self.tag(tag.as_ref(), tags, context);
        let r#type = self.resolve_type(written, context)?;
        self.check_optional_type(tag, r#type, written.span);
        Some(Some(Returned { r#type, tag }))
    }

    /// All parameters; `None` if one of them is wrong.
    fn parameters(
        &mut self,
        operation: &ast::Operation,
        tags: &mut Tags,
        context: Context,
    ) -> Option<Vec<Parameter>> {
        let mut names = Names::default();
        let mut found = Some(Vec::new());
        let mut first_out: Option<Span> = None;
        for parameter in &operation.parameters {
            if parameter.is_out {
                first_out.get_or_insert(parameter.name.span);
            } else if let Some(out) = first_out {
                let message = format!(
                    "the in-parameter `{}` stands behind an out-parameter",
                    parameter.name.text
                );
                let diagnostic = Diagnostic::new(Code::OutBeforeIn, parameter.name.span, message)
                    .label(out, "this one is out")
                    .help("list the in-parameters first");
                self.report(diagnostic);
            }
            let checked = self.parameter(parameter, &mut names, tags, context);
            match (checked, &mut found) {
                (Some(parameter), Some(found)) => found.push(parameter),
                _ => found = None,
            }
        }
        found
    }

    fn parameter(
        &mut self,
        parameter: &ast::Parameter,
        names: &mut Names,
        tags: &mut Tags,
        context: Context,
    ) -> Option<Parameter> {
        self.check_metadata(&parameter.prelude.metadata, metadata::Place::Parameter);
        if let Some(tag) = &parameter.tag {
            self.is_hidden_value(&tag.value, names);
        }
        let is_new = self.add_name(&parameter.name, "parameter", names);
        let tag = self.tag(parameter.tag.as_ref(), tags, context);
        let r#type = self.resolve_type(&parameter.r#type, context)?;
        self.check_optional_type(tag, r#type, parameter.r#type.span);
        is_new.then(|| Parameter {
            name: parameter.name.text.clone(),
            r#type,
            is_out: parameter.is_out,
            tag,
            metadata: parameter.prelude.metadata.clone(),
            doc: parameter.prelude.doc.as_deref().and_then(doc::clean),
            span: parameter.name.span,
        })
    }

    /// Warns of a `@param` that names no parameter of the operation.
    fn check_documented(
        &mut self,
        sections: &[(String, String)],
        parameters: &[Parameter],
        operation: &Name,
    ) {
        if self.is_suppressed(operation.span, "unknown-doc-parameter") {
            return;
        }
        let names = || parameters.iter().map(|one| one.name.as_str());
        let unknown = sections.iter().map(|(name, _)| name.as_str());
        for name in unknown.filter(|name| names().all(|one| one != *name)) {
            let operation_name = &operation.text;
            let message = format!(
                "the doc comment has a `@param {name}`, and `{operation_name}` no such parameter"
            );
            let help = match suggest::nearest(name, names()) {
                Some(similar) => format!("did you mean `@param {similar}`?"),
                None => "name a parameter, or remove the section".to_owned(),
            };
            let code = Code::UnknownDocParameter;
            self.error(code, operation.span, message, &help);
        }
    }
}

/// The names in what an operation returns: the tag and the type.
fn names_of_result(operation: &ast::Operation) -> Vec<&ScopedName> {
    let Some((tag, r#type)) = &operation.returns else {
        return Vec::new();
    };
    let tag = tag.as_ref().map(|tag| &tag.value.kind);
    let mut names = Vec::new();
    if let Some(ValueKind::Name(name)) = tag {
        names.push(name);
    }
    if let TypeKind::Named(name) | TypeKind::Proxy(name) = &r#type.kind {
        names.push(name);
    }
    names
}

/// Gives the `@param` sections of an operation's doc to its parameters.
fn distribute(sections: Vec<(String, String)>, parameters: &mut [Parameter]) {
    for (name, text) in sections {
        let parameter = parameters.iter_mut().find(|one| one.name == name);
        if let Some(parameter) = parameter.filter(|_| !text.is_empty()) {
            parameter.doc.get_or_insert(text);
        }
    }
}
