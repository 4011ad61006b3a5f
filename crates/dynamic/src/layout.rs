//! Facts about each type that must be known before a value of it is decoded: how short it can be, how deep
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
    /// A type that nests deeper than [`MAX_DEPTH`].
    TooDeep(String),
    /// A definition that is no data type: an exception or a constant.
    NoDataType(String),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep(name) => {
                write!(f, "{name} nests more than {MAX_DEPTH} types in one another")
            }
            Self::NoDataType(name) => {
                write!(
                    f,
                    "{name} is no data type: expected a built-in type, struct, class, enum, sequence, dictionary or proxy"
                )
            }
        }
    }
}

impl std::error::Error for Unsupported {}

/// The facts about a type that decoding needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The least number of bytes that a value takes, in any encoding.
    pub(crate) min_wire_len: usize,
    /// How many types stand in one another.
    pub(crate) depth: usize,
    /// True if there are class instances in it, which encoding 1.0 writes behind all values.
    pub(crate) has_classes: bool,
}

impl Layout {
    /// A reference to an instance. What is in the instance has a depth of its own: how many are
    /// inside one another is known only at run time, and limited there.
    const CLASS: Self = Self {
        min_wire_len: 1,
        depth: 0,
        has_classes: true,
    };

    fn flat(min_wire_len: usize) -> Self {
        Self {
            min_wire_len,
            depth: 0,
            has_classes: false,
        }
    }

    /// Sequences and dictionaries: at least the byte of the size.
    fn counted(parts: &[Self]) -> Self {
        let depths = parts.iter().map(|part| part.depth);
        Self {
            min_wire_len: 1,
            depth: depths.max().unwrap_or(0) + 1,
            has_classes: parts.iter().any(|part| part.has_classes),
        }
    }
}

/// The layouts of all definitions of a model.
#[derive(Debug)]
pub(crate) struct Layouts(Vec<Result<Layout, Unsupported>>);

impl Layouts {
    /// Computes the layouts in the order of the model, in which what a type needs stands before it;
    /// only classes may come later.
    pub(crate) fn new(model: &Model) -> Self {
        let is_class = |kind: &DefinitionKind| {
            // An interface as a type is what Ice 3.7 calls an interface by value: a class.
            matches!(
                kind,
                DefinitionKind::Class(_) | DefinitionKind::Interface(_)
            )
        };
        let known = model.definitions.iter().map(|definition| {
            // Only an unchecked model has a type that contains itself.
            is_class(&definition.kind)
                .then_some(Layout::CLASS)
                .ok_or_else(|| Unsupported::TooDeep("a type that contains itself".to_owned()))
        });
        let mut layouts = Self(known.collect());
        for (index, definition) in model.definitions.iter().enumerate() {
            if !is_class(&definition.kind) {
                layouts.0[index] = layouts.definition(definition);
            }
        }
        layouts
    }

    /// The layout of a type.
    pub(crate) fn of(&self, r#type: Type) -> Result<Layout, Unsupported> {
        match r#type {
            Type::Primitive(primitive) => Ok(Layout::flat(primitive_len(primitive))),
            Type::ObjectProxy | Type::Proxy(_) => Ok(Layout::flat(NIL_PROXY_LEN)),
            Type::Named(id) => self.named(id),
            _ => Ok(Layout::CLASS),
        }
    }

    fn named(&self, id: DefinitionId) -> Result<Layout, Unsupported> {
        self.0[id.0].clone()
    }

    fn definition(&self, definition: &Definition) -> Result<Layout, Unsupported> {
        let name = || definition.scoped.clone();
        let layout = match &definition.kind {
            DefinitionKind::Enum(_) => Layout::flat(1),
            DefinitionKind::Struct(structure) => {
                let mut sum = Layout {
                    depth: 1,
                    ..Layout::flat(0)
                };
                for member in &structure.members {
                    let layout = self.of(member.r#type)?;
                    sum.min_wire_len = sum.min_wire_len.saturating_add(layout.min_wire_len);
                    sum.depth = sum.depth.max(layout.depth + 1);
                    sum.has_classes |= layout.has_classes;
                }
                sum
            }
            DefinitionKind::Sequence(sequence) => Layout::counted(&[self.of(sequence.element)?]),
            DefinitionKind::Dictionary(dictionary) => {
                Layout::counted(&[self.of(dictionary.key)?, self.of(dictionary.value)?])
            }
            _ => return Err(Unsupported::NoDataType(name())),
        };
        if layout.depth > MAX_DEPTH {
            return Err(Unsupported::TooDeep(name()));
        }
        Ok(layout)
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
