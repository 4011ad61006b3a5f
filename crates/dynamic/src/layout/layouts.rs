//! Compiles the layouts of a model's types, in the order in which they need one another.

use std::sync::Arc;

use floe_slice::model::{ConstValue, Definition, DefinitionKind, Model, Primitive, Type};
use floe_wire::encoding::TagFormat;

use super::{Enumeration, Layout, MAX_DEPTH, Member, Record, Shape, Unsupported};
use crate::Value;

/// The layouts of all types of a model.
#[derive(Debug)]
pub(crate) struct Layouts {
    by_definition: Vec<Result<Arc<Layout>, Unsupported>>,
    primitives: [Arc<Layout>; Primitive::ALL.len()],
    object_proxy: Arc<Layout>,
    any_class: Arc<Layout>,
}

impl Layouts {
    /// Computes the layouts in the order of the model, in which what a type needs stands before it;
    /// only classes may come later.
    pub(crate) fn new(model: &Model) -> Self {
        let mut layouts = Self {
            by_definition: Vec::new(),
            primitives: Primitive::ALL.map(|primitive| Arc::new(Layout::primitive(primitive))),
            object_proxy: Arc::new(proxy("Object*")),
            any_class: Arc::new(Layout::class("Value", None, None)),
        };
        let known = model.iter().map(|(id, definition)| {
            let name = definition.scoped.as_str();
            // A type that is only declared, or an interface by value as Ice 3.7 has it, stands for any class.
            let type_id = match &definition.kind {
                DefinitionKind::Class(class) if class.is_complete => Some(name.into()),
                DefinitionKind::Class(_) | DefinitionKind::Interface(_) => None,
                // Only an unchecked model has a type that contains itself.
                _ => {
                    return Err(Unsupported::TooDeep(
                        "a type that contains itself".to_owned(),
                    ));
                }
            };
            Ok(Arc::new(Layout::class(name, type_id, Some(id))))
        });
        layouts.by_definition = known.collect();
        for (index, definition) in model.definitions.iter().enumerate() {
            if layouts.by_definition[index].is_err() {
                layouts.by_definition[index] = layouts.definition(model, definition);
            }
        }
        layouts
    }

    /// The layout of a type.
    pub(crate) fn of(&self, r#type: Type, model: &Model) -> Result<Arc<Layout>, Unsupported> {
        match r#type {
            Type::Primitive(primitive) => {
                let index = Primitive::ALL.iter().position(|one| *one == primitive);
                Ok(Arc::clone(&self.primitives[index.unwrap_or_default()]))
            }
            Type::ObjectProxy => Ok(Arc::clone(&self.object_proxy)),
            Type::Proxy(id) => Ok(Arc::new(proxy(&format!(
                "{}*",
                model.definition(id).scoped
            )))),
            Type::Named(id) => self.by_definition[id.0].clone(),
            _ => Ok(Arc::clone(&self.any_class)),
        }
    }

    /// The layout of a type of which no value may ever come.
    pub(crate) fn or_unsupported(&self, r#type: Type, model: &Model) -> Arc<Layout> {
        self.of(r#type, model).unwrap_or_else(|_| {
            let name = match r#type {
                Type::Named(id) => model.definition(id).scoped.as_str(),
                _ => "",
            };
            Arc::new(Layout::leaf(name, Shape::Unsupported, 1, TagFormat::Class))
        })
    }

    /// A member of a struct, class or exception.
    pub(crate) fn member(&self, declared: &floe_slice::model::Member, model: &Model) -> Member {
        let layout = self.or_unsupported(declared.r#type, model);
        let default = declared.default.as_ref();
        Member {
            name: declared.name.clone(),
            default: default.and_then(|default| default_value(model, &layout, default)),
            layout,
            tag: tag(declared.tag),
        }
    }

    /// A parameter or result.
    pub(crate) fn parameter(
        &self,
        name: &str,
        r#type: Type,
        tag: Option<u32>,
        model: &Model,
    ) -> Member {
        Member {
            name: name.to_owned(),
            layout: self.or_unsupported(r#type, model),
            tag,
            default: None,
        }
    }

    fn definition(
        &self,
        model: &Model,
        definition: &Definition,
    ) -> Result<Arc<Layout>, Unsupported> {
        let name = definition.scoped.as_str();
        let layout = match &definition.kind {
            DefinitionKind::Enum(declared) => {
                let shape = Shape::Enum(Enumeration::new(declared));
                Layout::leaf(name, shape, 1, TagFormat::Size)
            }
            DefinitionKind::Struct(structure) => {
                for member in &structure.members {
                    self.of(member.r#type, model)?;
                }
                let members = structure.members.iter();
                let members = members.map(|member| self.member(member, model)).collect();
                Layout::structure(name, Record::new(name, "member", members, None))
            }
            DefinitionKind::Sequence(sequence) => {
                let element = self.of(sequence.element, model)?;
                let shape = match element.shape {
                    Shape::Primitive(Primitive::Byte) => Shape::Bytes,
                    _ => Shape::Sequence(Arc::clone(&element)),
                };
                Layout::counted(name, shape, &[&element])
            }
            DefinitionKind::Dictionary(dictionary) => {
                let key = self.of(dictionary.key, model)?;
                let value = self.of(dictionary.value, model)?;
                let shape = Shape::Dictionary {
                    key: Arc::clone(&key),
                    value: Arc::clone(&value),
                };
                Layout::counted(name, shape, &[&key, &value])
            }
            _ => return Err(Unsupported::NoDataType(name.to_owned())),
        };
        match layout.depth {
            ..=MAX_DEPTH => Ok(Arc::new(layout)),
            _ => Err(Unsupported::TooDeep(name.to_owned())),
        }
    }
}

/// A nil proxy is an identity of two empty strings: two bytes.
fn proxy(name: &str) -> Layout {
    Layout::leaf(name, Shape::Proxy, 2, TagFormat::FSize)
}

/// A tag as the wire has it; the compiler refuses negative ones.
pub(crate) fn tag(tag: Option<i32>) -> Option<u32> {
    tag.and_then(|tag| u32::try_from(tag).ok())
}

/// The value of a declared default.
fn default_value(model: &Model, layout: &Layout, default: &ConstValue) -> Option<Value> {
    match (&layout.shape, default) {
        (Shape::Primitive(primitive), default) => of_const(*primitive, default),
        (Shape::Enum(_), ConstValue::Enumerator { of, index }) => {
            match &model.definition(*of).kind {
                DefinitionKind::Enum(declared) => {
                    let enumerator = declared.enumerators.get(*index)?;
                    Some(Value::Enumerator(enumerator.value))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value of a built-in constant.
fn of_const(primitive: Primitive, constant: &ConstValue) -> Option<Value> {
    match (primitive, constant) {
        (Primitive::Bool, ConstValue::Bool(value)) => Some(Value::Bool(*value)),
        (Primitive::String, ConstValue::String(text)) => Some(Value::String(text.clone())),
        (Primitive::Float, ConstValue::Float(value)) => Some(Value::Float(*value as f32)),
        (Primitive::Double, ConstValue::Float(value)) => Some(Value::Double(*value)),
        (Primitive::Float, ConstValue::Integer(value)) => Some(Value::Float(*value as f32)),
        (Primitive::Double, ConstValue::Integer(value)) => Some(Value::Double(*value as f64)),
        (Primitive::Byte, ConstValue::Integer(value)) => u8::try_from(*value).ok().map(Value::Byte),
        (Primitive::Short, ConstValue::Integer(value)) => {
            i16::try_from(*value).ok().map(Value::Short)
        }
        (Primitive::Int, ConstValue::Integer(value)) => i32::try_from(*value).ok().map(Value::Int),
        (Primitive::Long, ConstValue::Integer(value)) => Some(Value::Long(*value)),
        _ => None,
    }
}
