//! Which types may hold instances of classes: it decides what stands in an encapsulation around them.

use std::collections::HashSet;

use crate::model::{Definition, DefinitionId, DefinitionKind, Type};

/// Returns true if a value of the type may hold a class instance.
pub(crate) fn uses_classes(definitions: &[Definition], r#type: Type) -> bool {
    if let Type::Primitive(_) | Type::ObjectProxy | Type::Proxy(_) = r#type {
        return false;
    }
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
