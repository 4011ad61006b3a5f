//! TypeCodes: types as values, as an `any` carries them.
//!
//! On the wire a TypeCode may refer to one that began before it (an indirection), because it repeats or contains it.
//! Here it is a tree: what repeats is shared, and what contains itself is a [`TypeCode::Recursive`], which counts the
//! levels up to the type that it means.
//!
//! A peer's TypeCode may be small and expand to a tree without bounds. [`TYPE_CODE_WEIGHT_MAX`] limits the tree that it
//! stands for, and [`TYPE_CODE_DEPTH_MAX`] its depth, so that comparing, printing, encoding and dropping it stay cheap.

mod decode;
mod encode;
mod equivalent;
mod graph;
mod path;

use std::sync::Arc;

pub(crate) use decode::Discriminator;
pub(crate) use path::TypePath;

/// The deepest nesting of TypeCodes. IDL in use nests a handful of levels; decoding takes about 1 kB of stack a level.
pub const TYPE_CODE_DEPTH_MAX: usize = 64;

/// The heaviest TypeCode: [`TYPE_CODE_NODE_WEIGHT`] for each type, member and enumerator in it, and
/// one for each byte of names, with what is referred to counted each time. The largest in the OMG's own services weighs
/// some 10 kB.
pub const TYPE_CODE_WEIGHT_MAX: usize = 1 << 20;

/// The weight of a type, a member or an enumerator: about the memory that it takes.
pub const TYPE_CODE_NODE_WEIGHT: usize = 64;

/// The most digits of a `fixed`. Source: CORBA 3.0.3, 3.11.3.5.
pub const FIXED_DIGITS_MAX: u16 = 31;

/// A type of IDL.
///
/// The numbers of the kinds and their parameters are in CORBA 3.0.3, 15.3.5.1, table 15-2.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeCode {
    Null,
    Void,
    Short,
    Long,
    UShort,
    ULong,
    Float,
    Double,
    Boolean,
    Char,
    Octet,
    Any,
    TypeCode,
    Principal,
    LongLong,
    ULongLong,
    LongDouble,
    WChar,
    /// A string of at most this many characters; 0 means no limit.
    String(u32),
    /// A wide string of at most this many characters; 0 means no limit.
    WString(u32),
    /// A decimal number.
    Fixed {
        /// The number of digits, 1 to 31.
        digits: u16,
        /// The number of them after the point.
        scale: i16,
    },
    /// An interface, native type, or the like, which has a name and no contents.
    Named(NamedKind, TypeName),
    Struct(StructType),
    /// An exception. It is encoded as its repository id, and its members as those of a struct.
    Except(StructType),
    Union(Box<UnionType>),
    Enum(EnumType),
    /// A sequence of at most `bound` elements; 0 means no limit.
    Sequence {
        element: Arc<TypeCode>,
        bound: u32,
    },
    /// An array of `len` elements.
    Array {
        element: Arc<TypeCode>,
        len: u32,
    },
    Alias {
        name: TypeName,
        original: Arc<TypeCode>,
    },
    /// A boxed value.
    ValueBox {
        name: TypeName,
        boxed: Arc<TypeCode>,
    },
    Value(Box<ValueType>),
    /// The type that contains this one, so many levels up: 1 is the type of which this is a member or element.
    Recursive(usize),
}

/// The kinds of type that are just a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NamedKind {
    ObjectReference,
    Native,
    AbstractInterface,
    LocalInterface,
    Component,
    Home,
}

/// A repository id, such as `IDL:Market/Tick:1.0`, and a name, such as `Tick`. Either may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TypeName {
    pub id: String,
    pub name: String,
}

impl TypeName {
    /// A name with the repository id that IDL gives it by default.
    pub fn scoped(scope: &str, name: &str) -> Self {
        Self {
            id: format!("IDL:{scope}/{name}:1.0"),
            name: name.to_owned(),
        }
    }
}

/// A struct, or an exception.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StructType {
    pub name: TypeName,
    pub members: Vec<Member>,
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Member {
    pub name: String,
    pub code: Arc<TypeCode>,
}

impl Member {
    /// A member.
    pub fn new(name: &str, code: impl Into<Arc<TypeCode>>) -> Self {
        Self {
            name: name.to_owned(),
            code: code.into(),
        }
    }
}

/// A union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnionType {
    /// Its name.
    pub name: TypeName,
    /// The type of the discriminator: an integer, `char`, `wchar`, `boolean` or enumeration, or an alias of one.
    pub discriminator: Arc<TypeCode>,
    /// The index of the default case, if there is one.
    pub default: Option<usize>,
    /// Its cases. A member with several labels has a case for each.
    pub cases: Vec<UnionCase>,
}

impl UnionType {
    /// The case that a discriminator selects: `None` if the union is then without a member.
    pub fn case(&self, discriminator: i128) -> Option<&UnionCase> {
        let cases = self.cases.iter().enumerate();
        let mut others = cases.filter(|(at, _)| Some(*at) != self.default);
        let selected = others.find(|(_, case)| case.label == discriminator);
        let default = || self.cases.get(self.default?);
        selected.map(|(_, case)| case).or_else(default)
    }
}

/// A case of a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnionCase {
    /// The discriminator that selects it, as a number. In the default case it means nothing.
    pub label: i128,
    /// Its name.
    pub name: String,
    /// Its type.
    pub code: Arc<TypeCode>,
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumType {
    /// Its name.
    pub name: TypeName,
    /// The names of its enumerators, in order: the first one is 0 on the wire.
    pub enumerators: Vec<String>,
}

/// A valuetype, or an event type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueType {
    /// True for an event type.
    pub is_event: bool,
    /// Its name.
    pub name: TypeName,
    /// 0 none, 1 custom, 2 abstract, 3 truncatable.
    pub modifier: i16,
    /// Its base, or [`TypeCode::Null`].
    pub base: Arc<TypeCode>,
    /// Its members.
    pub members: Vec<ValueMember>,
}

/// A member of a valuetype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueMember {
    /// Its name.
    pub name: String,
    /// Its type.
    pub code: Arc<TypeCode>,
    /// 0 private, 1 public.
    pub visibility: i16,
}

impl TypeCode {
    /// A string without a limit.
    pub const STRING: Self = Self::String(0);

    /// A sequence without a limit.
    pub fn sequence(element: impl Into<Arc<Self>>) -> Self {
        Self::Sequence {
            element: element.into(),
            bound: 0,
        }
    }

    /// A struct.
    pub fn structure(name: TypeName, members: Vec<Member>) -> Self {
        Self::Struct(StructType { name, members })
    }

    /// An enumeration.
    pub fn enumeration(name: TypeName, enumerators: &[&str]) -> Self {
        let enumerators = enumerators.iter().map(|name| (*name).to_owned());
        Self::Enum(EnumType {
            name,
            enumerators: enumerators.collect(),
        })
    }

    /// The type behind aliases.
    pub fn original(&self) -> &Self {
        let mut code = self;
        while let Self::Alias { original, .. } = code {
            code = original;
        }
        code
    }

    /// The name of the type, if its kind has one.
    pub fn name(&self) -> Option<&TypeName> {
        match self {
            Self::Named(_, name) | Self::Alias { name, .. } | Self::ValueBox { name, .. } => {
                Some(name)
            }
            Self::Struct(code) | Self::Except(code) => Some(&code.name),
            Self::Union(code) => Some(&code.name),
            Self::Enum(code) => Some(&code.name),
            Self::Value(code) => Some(&code.name),
            _ => None,
        }
    }

    /// The number of bytes of every value and their alignment, if the type is a number, `octet` or the like whose
    /// values may be any bytes.
    pub(crate) fn packed_len(&self) -> Option<usize> {
        match self {
            Self::Octet => Some(1),
            Self::Short | Self::UShort => Some(2),
            Self::Long | Self::ULong | Self::Float => Some(4),
            Self::Double | Self::LongLong | Self::ULongLong => Some(8),
            Self::LongDouble => Some(16),
            _ => None,
        }
    }

    /// The number of bytes that a value takes at least.
    pub(crate) fn value_len_min(&self) -> usize {
        match self {
            Self::Boolean | Self::Char | Self::Octet | Self::Fixed { .. } => 1,
            Self::Short | Self::UShort | Self::WChar => 2,
            Self::Null
            | Self::Void
            | Self::Struct(_)
            | Self::Union(_)
            | Self::Array { .. }
            | Self::Alias { .. }
            | Self::Recursive(_) => 0,
            _ => self.packed_len().unwrap_or(4),
        }
    }
}

#[cfg(test)]
mod tests;
