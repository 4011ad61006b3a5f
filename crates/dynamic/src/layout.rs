//! What must be known of each type before a value of it is decoded: how short it can be, how deep
//! it nests, and whether it is supported at all.

use std::fmt;

use floe_slice::model::{Definition, DefinitionId, DefinitionKind, Model, Primitive, Type};

/// How many types may stand in one another: `sequence<sequence<int>>` has depth 2.
///
/// It bounds recursion over values. JSON text of a value nests at most twice as deep, which stays
/// below the 128 levels that the JSON parser accepts.
pub const MAX_DEPTH: usize = 60;

/// A type that this release cannot handle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// A class, by its type id; `Value` stands for any class.
    Class(String),
    /// An optional member or parameter, by its name.
    Optional(String),
    /// A type that nests deeper than [`MAX_DEPTH`].
    TooDeep(String),
    /// A definition that is no data type: an exception or a constant.
    NoDataType(String),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(name) => write!(f, "classes are not yet supported: {name}"),
            Self::Optional(name) => {
                write!(
                    f,
                    "optional members and parameters are not yet supported: {name}"
                )
            }
            Self::TooDeep(name) => {
                write!(f, "{name} nests more than {MAX_DEPTH} types in one another")
            }
            Self::NoDataType(name) => {
                write!(
                    f,
                    "{name} is no data type: expected a built-in type, struct, enum, sequence, dictionary or proxy"
                )
            }
        }
    }
}

impl std::error::Error for Unsupported {}

/// What decoding needs to know of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The least number of bytes that a value takes, in any encoding.
    pub(crate) min_wire_len: usize,
    /// How many types stand in one another.
    pub(crate) depth: usize,
}

/// The layouts of all definitions of a model.
#[derive(Debug)]
pub(crate) struct Layouts(Vec<Result<Layout, Unsupported>>);

impl Layouts {
    /// Computes the layouts in the order of the model, in which what a type needs stands before it.
    pub(crate) fn new(model: &Model) -> Self {
        let mut layouts = Self(Vec::with_capacity(model.definitions.len()));
        for definition in &model.definitions {
            let layout = layouts.definition(definition);
            layouts.0.push(layout);
        }
        layouts
    }

    /// The layout of a type.
    pub(crate) fn of(&self, r#type: Type) -> Result<Layout, Unsupported> {
        match r#type {
            Type::Primitive(primitive) => Ok(Layout {
                min_wire_len: primitive_len(primitive),
                depth: 0,
            }),
            Type::ObjectProxy | Type::Proxy(_) => Ok(Layout {
                min_wire_len: NIL_PROXY_LEN,
                depth: 0,
            }),
            Type::Named(id) => self.named(id),
            _ => Err(Unsupported::Class("Value".to_owned())),
        }
    }

    fn named(&self, id: DefinitionId) -> Result<Layout, Unsupported> {
        match self.0.get(id.0) {
            Some(layout) => layout.clone(),
            // Only a model that nobody checked has a type that contains itself.
            None => Err(Unsupported::TooDeep(
                "a type that contains itself".to_owned(),
            )),
        }
    }

    fn definition(&self, definition: &Definition) -> Result<Layout, Unsupported> {
        let name = || definition.scoped.clone();
        let layout = match &definition.kind {
            DefinitionKind::Enum(_) => Layout {
                min_wire_len: 1,
                depth: 0,
            },
            DefinitionKind::Struct(structure) => {
                let mut sum = Layout {
                    min_wire_len: 0,
                    depth: 1,
                };
                for member in &structure.members {
                    if member.tag.is_some() {
                        let name = format!("{}::{}", definition.scoped, member.name);
                        return Err(Unsupported::Optional(name));
                    }
                    let layout = self.of(member.r#type)?;
                    sum.min_wire_len = sum.min_wire_len.saturating_add(layout.min_wire_len);
                    sum.depth = sum.depth.max(layout.depth + 1);
                }
                sum
            }
            DefinitionKind::Sequence(sequence) => counted(self.of(sequence.element)?.depth),
            DefinitionKind::Dictionary(dictionary) => {
                let key = self.of(dictionary.key)?.depth;
                counted(key.max(self.of(dictionary.value)?.depth))
            }
            // An interface as a type is what Ice 3.7 calls an interface by value: a class.
            DefinitionKind::Class(_) | DefinitionKind::Interface(_) => {
                return Err(Unsupported::Class(name()));
            }
            _ => return Err(Unsupported::NoDataType(name())),
        };
        if layout.depth > MAX_DEPTH {
            return Err(Unsupported::TooDeep(name()));
        }
        Ok(layout)
    }
}

/// Sequences and dictionaries: at least the byte of the size.
fn counted(inner_depth: usize) -> Layout {
    Layout {
        min_wire_len: 1,
        depth: inner_depth + 1,
    }
}

fn primitive_len(primitive: Primitive) -> usize {
    match primitive {
        Primitive::Bool | Primitive::Byte | Primitive::String => 1,
        Primitive::Short => 2,
        Primitive::Int | Primitive::Float => 4,
        Primitive::Long | Primitive::Double => 8,
    }
}

/// A nil proxy: an identity of two empty strings.
const NIL_PROXY_LEN: usize = 2;
