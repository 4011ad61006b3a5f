//! Types and constant values.

use super::DefinitionId;

/// A type as used by a member, parameter or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// A built-in type with a value.
    Primitive(Primitive),
    /// `Object*`: any proxy.
    ObjectProxy,
    /// `Object` or `Value`: any class instance.
    AnyClass,
    /// A struct, enum, sequence, dictionary or class by name.
    Named(DefinitionId),
    /// `T*`: a proxy to an interface (or, in Ice 3.7, to a class with operations).
    Proxy(DefinitionId),
}

/// A built-in type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `bool`, one byte.
    Bool,
    /// `byte`, unsigned 8 bits.
    Byte,
    /// `short`, signed 16 bits.
    Short,
    /// `int`, signed 32 bits.
    Int,
    /// `long`, signed 64 bits.
    Long,
    /// `float`, IEEE 754 binary32.
    Float,
    /// `double`, IEEE 754 binary64.
    Double,
    /// `string`, UTF-8.
    String,
}

impl Primitive {
    /// The keyword in Slice.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Byte => "byte",
            Self::Short => "short",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
        }
    }

    /// All built-in types, in the order of the language's tables.
    pub const ALL: [Self; 8] = [
        Self::Bool,
        Self::Byte,
        Self::Short,
        Self::Int,
        Self::Long,
        Self::Float,
        Self::Double,
        Self::String,
    ];
}

/// The value of a constant or of a member's default.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstValue {
    /// `true`, `false`.
    Bool(bool),
    /// Any integral value, in range of its type.
    Integer(i64),
    /// A `float` (already rounded to binary32) or `double`.
    Float(f64),
    /// A string, escapes resolved.
    String(String),
    /// An enumerator: the enumeration and the index into its list.
    Enumerator {
        /// The enumeration.
        of: DefinitionId,
        /// Index into [`Enum::enumerators`](super::Enum::enumerators).
        index: usize,
    },
}
