//! Which definitions another world gets: those of the main files and what they use, without those that it cannot say.

use std::collections::BTreeSet;

use floe_slice::diagnostic::{Code, Diagnostic, Span};
use floe_slice::model::{
    Const, ConstValue, Definition, DefinitionId, DefinitionKind, Member, Model, Operation, Type,
};

use super::event::event_type;

/// The language that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// IDL 4 with the annotations of DDS: data types only.
    Dds,
    /// IDL 2: data types, exceptions and interfaces.
    Corba,
    /// XML schema and WSDL.
    Wsdl,
}

/// Definitions for a target, in the order of the model: each stands behind those that it uses.
pub(crate) struct Content {
    pub(crate) definitions: Vec<DefinitionId>,
    /// Definitions of main files that the target has no use for.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Collects what a target gets.
///
/// # Errors
/// An error for each class that is defined in a main file or used.
pub(crate) fn content(model: &Model, target: Target) -> Result<Content, Vec<Diagnostic>> {
    let mut search = Search {
        model,
        target,
        reached: BTreeSet::new(),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    for (id, definition) in model.iter() {
        if model.files[definition.file.0].is_main {
            search.main(id, definition);
        }
    }
    match search.errors.is_empty() {
        true => Ok(Content {
            definitions: search.reached.into_iter().collect(),
            warnings: search.warnings,
        }),
        false => Err(search.errors),
    }
}

/// Collects some definitions and what they use, whatever else the files define, in the order of the model.
///
/// # Errors
/// An error for each class among them.
pub(crate) fn content_of(
    model: &Model,
    roots: &[DefinitionId],
    target: Target,
) -> Result<Vec<DefinitionId>, Vec<Diagnostic>> {
    let mut search = Search {
        model,
        target,
        reached: BTreeSet::new(),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    for id in roots {
        search.reach(*id);
    }
    for id in search.reached.clone() {
        let definition = model.definition(id);
        if matches!(definition.kind, DefinitionKind::Class(_)) {
            search.refuse_class(definition, definition.span);
        }
    }
    match search.errors.is_empty() {
        true => Ok(search.reached.into_iter().collect()),
        false => Err(search.errors),
    }
}

struct Search<'m> {
    model: &'m Model,
    target: Target,
    reached: BTreeSet<DefinitionId>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Search<'_> {
    fn main(&mut self, id: DefinitionId, definition: &Definition) {
        match &definition.kind {
            DefinitionKind::Class(of) if of.is_complete => {
                self.refuse_class(definition, definition.span);
            }
            DefinitionKind::Interface(_) if self.target == Target::Dds => {
                if let Err(operation) = event_type(self.model, id) {
                    let message = format!(
                        "`{}` is left out: its operation `{}` answers, and a topic of DDS leads in one direction",
                        definition.scoped, operation.name
                    );
                    let finding = Diagnostic::new(Code::LeftOut, definition.span, message);
                    let finding = finding.label(operation.span, "answers its caller");
                    let help = "only interfaces whose operations return `void`, have no `out` parameters and throw nothing are events; use --corba for calls";
                    self.warnings.push(finding.help(help));
                } else {
                    self.reach(id);
                }
            }
            DefinitionKind::Exception(_) if self.target == Target::Dds => {}
            DefinitionKind::Const(_) if self.target == Target::Wsdl => {}
            DefinitionKind::Const(of) => match self.unsayable(of) {
                None => self.reach(id),
                Some(reason) => {
                    let message = format!("`{}` is left out: {reason}", definition.scoped);
                    let finding = Diagnostic::new(Code::LeftOut, definition.span, message);
                    let help = "programs of the other world must get the text in another way";
                    self.warnings.push(finding.help(help));
                }
            },
            _ => self.reach(id),
        }
    }

    /// The reason why a constant is not written, if there is one.
    fn unsayable(&self, of: &Const) -> Option<&'static str> {
        let ConstValue::String(text) = &of.value else {
            return None;
        };
        let is_special = |it: char| it == '"' || it == '\\' || it.is_control();
        match self.target {
            _ if text.contains('\0') => Some("a string of IDL cannot hold the character of code 0"),
            // Observed: Cyclone DDS 0.10.2 writes the text into C as it is, which ends the string or the line.
            Target::Dds if text.contains(is_special) => Some(
                "it has a quote, a backslash or a control character, of which Cyclone DDS makes C that does not compile",
            ),
            _ => None,
        }
    }

    fn reach(&mut self, id: DefinitionId) {
        if !self.reached.insert(id) {
            return;
        }
        let model = self.model;
        let definition = model.definition(id);
        match &definition.kind {
            DefinitionKind::Const(of) => self.r#type(of.r#type, definition.span),
            DefinitionKind::Struct(of) => self.members(&of.members),
            DefinitionKind::Sequence(of) => self.r#type(of.element, definition.span),
            DefinitionKind::Dictionary(of) => {
                self.r#type(of.key, definition.span);
                self.r#type(of.value, definition.span);
            }
            DefinitionKind::Exception(of) => {
                if let Some(base) = of.base {
                    self.reach(base);
                }
                self.members(&of.members);
            }
            DefinitionKind::Interface(_) => {
                for base in model.own_bases(id) {
                    self.reach(base);
                }
                for operation in model.own_operations(id) {
                    self.operation(operation);
                }
            }
            _ => {}
        }
    }

    fn operation(&mut self, operation: &Operation) {
        for parameter in &operation.parameters {
            self.r#type(parameter.r#type, parameter.span);
        }
        if let Some(returned) = &operation.returns {
            self.r#type(returned.r#type, operation.span);
        }
        for exception in throws(self.model, operation) {
            self.reach(exception);
        }
    }

    fn members(&mut self, members: &[Member]) {
        for member in members {
            self.r#type(member.r#type, member.span);
        }
    }

    fn r#type(&mut self, r#type: Type, span: Span) {
        match r#type {
            Type::Named(id) => {
                let definition = self.model.definition(id);
                let is_class = matches!(definition.kind, DefinitionKind::Class(_));
                let is_main = self.model.files[definition.file.0].is_main;
                match (is_class, is_main) {
                    (false, _) => self.reach(id),
                    (true, false) => self.refuse_class(definition, span),
                    // It is refused where it is defined.
                    (true, true) => drop(self.reached.insert(id)),
                }
            }
            Type::AnyClass => {
                let message = format!(
                    "any class instance can stand here, and {} can hold no graph of instances",
                    self.world()
                );
                let help =
                    "name a struct in its place, or a proxy (with `*`) if an interface was meant";
                self.refuse(span, message, help);
            }
            _ => {}
        }
    }

    fn refuse_class(&mut self, definition: &Definition, span: Span) {
        let message = format!(
            "`{}` is a class: instances can be nil, shared, circular or of a derived class, and {} can say none of that",
            definition.scoped,
            self.world()
        );
        let help = "make it a struct; if Ice programs need the class, put it in a file that this one does not include";
        self.refuse(span, message, help);
    }

    fn refuse(&mut self, span: Span, message: String, help: &str) {
        let finding = Diagnostic::new(Code::NoForeignForm, span, message).help(help);
        if !self.errors.contains(&finding) {
            self.errors.push(finding);
        }
    }

    fn world(&self) -> &'static str {
        match self.target {
            Target::Dds => "a DDS type",
            Target::Corba => "this IDL",
            Target::Wsdl => "an XML schema",
        }
    }
}

/// The exceptions that an operation can fail with: those that it declares, and all that are known to derive from them.
/// The other world knows no derived exceptions, so they are listed.
pub(crate) fn throws(model: &Model, operation: &Operation) -> Vec<DefinitionId> {
    let mut all = Vec::new();
    for declared in &operation.throws {
        let derived = model.derived_exceptions(*declared);
        for id in [*declared].into_iter().chain(derived) {
            if !all.contains(&id) {
                all.push(id);
            }
        }
    }
    all
}
