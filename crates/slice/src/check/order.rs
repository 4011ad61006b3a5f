//! The order of the definitions in a model: by completion, local ones left out.

use crate::model::{ConstValue, Definition, DefinitionId, DefinitionKind, Member, Operation, Type};

/// Sorts definitions by their given place and drops those without one. Whatever stays must not
/// refer to what is dropped.
pub(super) fn arrange(definitions: Vec<Definition>, places: &[Option<usize>]) -> Vec<Definition> {
    let mut kept: Vec<(usize, usize)> = places
        .iter()
        .enumerate()
        .filter_map(|(index, place)| place.map(|place| (place, index)))
        .collect();
    kept.sort_unstable();
    let mut new_ids = vec![DefinitionId(0); definitions.len()];
    for (new, (_, old)) in kept.iter().enumerate() {
        new_ids[*old] = DefinitionId(new);
    }
    let mut definitions: Vec<Option<Definition>> = definitions.into_iter().map(Some).collect();
    let taken = kept.iter().filter_map(|(_, old)| definitions[*old].take());
    taken
        .map(|mut definition| {
            renumber(&mut definition.kind, &new_ids);
            definition
        })
        .collect()
}

fn renumber(kind: &mut DefinitionKind, ids: &[DefinitionId]) {
    let id = |id: &mut DefinitionId| *id = ids[id.0];
    let r#type = |r#type: &mut Type| {
        if let Type::Named(of) | Type::Proxy(of) = r#type {
            id(of);
        }
    };
    let value = |value: &mut ConstValue| {
        if let ConstValue::Enumerator { of, .. } = value {
            id(of);
        }
    };
    let members = |members: &mut Vec<Member>| {
        for member in members {
            r#type(&mut member.r#type);
            member.default.iter_mut().for_each(value);
        }
    };
    let operations = |operations: &mut Vec<Operation>| {
        for operation in operations {
            if let Some(returned) = &mut operation.returns {
                r#type(&mut returned.r#type);
            }
            for parameter in &mut operation.parameters {
                r#type(&mut parameter.r#type);
            }
            operation.throws.iter_mut().for_each(id);
        }
    };
    match kind {
        DefinitionKind::Const(constant) => {
            r#type(&mut constant.r#type);
            value(&mut constant.value);
        }
        DefinitionKind::Enum(_) => {}
        DefinitionKind::Struct(structure) => members(&mut structure.members),
        DefinitionKind::Sequence(sequence) => r#type(&mut sequence.element),
        DefinitionKind::Dictionary(dictionary) => {
            r#type(&mut dictionary.key);
            r#type(&mut dictionary.value);
        }
        DefinitionKind::Exception(exception) => {
            exception.base.iter_mut().for_each(id);
            members(&mut exception.members);
        }
        DefinitionKind::Class(class) => {
            class.base.iter_mut().for_each(id);
            class.implements.iter_mut().for_each(id);
            members(&mut class.members);
            operations(&mut class.operations);
        }
        DefinitionKind::Interface(interface) => {
            interface.bases.iter_mut().for_each(id);
            operations(&mut interface.operations);
        }
    }
}
