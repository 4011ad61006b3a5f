//! How tagged values of each type say their length.

use floe_slice::model::{DefinitionKind, Primitive, Type};
use floe_wire::encoding::TagFormat;

use crate::{Contract, Value};

/// How a tagged value of a type is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TagShape {
    pub(crate) format: TagFormat,
    /// True if the length stands in front of the value, which does not start with it.
    pub(crate) has_len_in_front: bool,
}

impl Contract {
    pub(crate) fn tag_shape(&self, r#type: Type) -> TagShape {
        let (format, has_own_len) = match r#type {
            Type::Primitive(primitive) => match primitive {
                Primitive::Bool | Primitive::Byte => (TagFormat::F1, false),
                Primitive::Short => (TagFormat::F2, false),
                Primitive::Int | Primitive::Float => (TagFormat::F4, false),
                Primitive::Long | Primitive::Double => (TagFormat::F8, false),
                Primitive::String => (TagFormat::VSize, true),
            },
            Type::ObjectProxy | Type::Proxy(_) => (TagFormat::FSize, false),
            Type::Named(id) => match &self.model().definition(id).kind {
                DefinitionKind::Enum(_) => (TagFormat::Size, false),
                DefinitionKind::Struct(_) => (TagFormat::of_parts(self.fixed_len(r#type)), false),
                DefinitionKind::Sequence(sequence) => {
                    let element_len = self.fixed_len(sequence.element);
                    (TagFormat::of_parts(element_len), element_len == Some(1))
                }
                DefinitionKind::Dictionary(types) => {
                    let entry_len = self.entry_len(types.key, types.value);
                    (TagFormat::of_parts(entry_len), false)
                }
                _ => (TagFormat::Class, false),
            },
            _ => (TagFormat::Class, false),
        };
        TagShape {
            format,
            has_len_in_front: format == TagFormat::VSize && !has_own_len,
        }
    }

    /// The number of bytes of a value that says its length in front.
    pub(crate) fn len_in_front(&self, r#type: Type, value: &Value) -> usize {
        let (count, part_len) = match (r#type, value) {
            (Type::Named(id), Value::Sequence(elements)) => {
                let DefinitionKind::Sequence(sequence) = &self.model().definition(id).kind else {
                    return 0;
                };
                (elements.len(), self.fixed_len(sequence.element))
            }
            (Type::Named(id), Value::Dictionary(entries)) => {
                let DefinitionKind::Dictionary(types) = &self.model().definition(id).kind else {
                    return 0;
                };
                (entries.len(), self.entry_len(types.key, types.value))
            }
            (r#type, _) => return self.fixed_len(r#type).unwrap_or_default(),
        };
        let size_len = if count < 255 { 1 } else { 5 };
        size_len + count * part_len.unwrap_or_default()
    }

    /// The number of bytes of a value, if it is the same for all of the type.
    fn fixed_len(&self, r#type: Type) -> Option<usize> {
        match r#type {
            Type::Primitive(primitive) => match primitive {
                Primitive::Bool | Primitive::Byte => Some(1),
                Primitive::Short => Some(2),
                Primitive::Int | Primitive::Float => Some(4),
                Primitive::Long | Primitive::Double => Some(8),
                Primitive::String => None,
            },
            Type::Named(id) => match &self.model().definition(id).kind {
                DefinitionKind::Struct(structure) => {
                    let mut members = structure.members.iter();
                    members.try_fold(0, |sum: usize, member| {
                        sum.checked_add(self.fixed_len(member.r#type)?)
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn entry_len(&self, key: Type, value: Type) -> Option<usize> {
        TagFormat::sum(self.fixed_len(key), self.fixed_len(value))
    }
}
