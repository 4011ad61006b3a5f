//! What is legal Slice and not yet supported: classes and optionals. This pass alone refuses them;
//! everything before it handles them in full.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::model::{Definition, DefinitionId, DefinitionKind, Member, Model, Type};

/// Reports each class, each use of `Object` or `Value`, and each optional in a model.
pub(crate) fn report_unsupported(model: &Model, reporter: &mut Reporter) {
    for definition in &model.definitions {
        for (span, what) in unsupported(definition) {
            let message = format!("{what} not yet supported");
            let help = "this is legal Slice; a later version of Floe handles it";
            reporter.report(Diagnostic::new(Code::NotYetSupported, span, message).help(help));
        }
    }
}

/// Whether a value of the type may hold a class instance.
pub(crate) fn uses_classes(definitions: &[Definition], r#type: Type) -> bool {
    let mut open = vec![r#type];
    let mut seen: HashSet<DefinitionId> = HashSet::new();
    while let Some(r#type) = open.pop() {
        let id = match r#type {
            Type::AnyClass => return true,
            Type::Named(id) => id,
            _ => continue,
        };
        if !seen.insert(id) {
            continue;
        }
        match &definitions[id.0].kind {
            DefinitionKind::Class(_) => return true,
            DefinitionKind::Struct(structure) => {
                open.extend(structure.members.iter().map(|member| member.r#type));
            }
            DefinitionKind::Sequence(sequence) => open.push(sequence.element),
            DefinitionKind::Dictionary(dictionary) => {
                open.extend([dictionary.key, dictionary.value]);
            }
            _ => {}
        }
    }
    false
}

fn unsupported(definition: &Definition) -> Vec<(Span, &'static str)> {
    const CLASS: &str = "classes are";
    const OPTIONAL: &str = "optionals are";
    let mut found = Vec::new();
    // A named class is reported at its own definition.
    let is_class = |r#type: Type| r#type == Type::AnyClass;
    let of_members = |found: &mut Vec<_>, members: &[Member]| {
        for member in members {
            found.extend(is_class(member.r#type).then_some((member.span, CLASS)));
            found.extend(member.tag.map(|_| (member.span, OPTIONAL)));
        }
    };
    match &definition.kind {
        DefinitionKind::Class(class) => {
            found.push((definition.span, CLASS));
            of_members(&mut found, &class.members);
        }
        DefinitionKind::Struct(structure) => of_members(&mut found, &structure.members),
        DefinitionKind::Exception(exception) => of_members(&mut found, &exception.members),
        DefinitionKind::Sequence(sequence) => {
            found.extend(is_class(sequence.element).then_some((definition.span, CLASS)));
        }
        DefinitionKind::Dictionary(dictionary) => {
            found.extend(is_class(dictionary.value).then_some((definition.span, CLASS)));
        }
        DefinitionKind::Interface(interface) => {
            for operation in &interface.operations {
                let returned = operation.returns.iter();
                let parameters = operation.parameters.iter();
                let types = returned
                    .map(|returned| (operation.span, returned.r#type, returned.tag))
                    .chain(parameters.map(|one| (one.span, one.r#type, one.tag)));
                for (span, r#type, tag) in types {
                    found.extend(is_class(r#type).then_some((span, CLASS)));
                    found.extend(tag.map(|_| (span, OPTIONAL)));
                }
            }
        }
        DefinitionKind::Const(_) | DefinitionKind::Enum(_) => {}
    }
    found
}
