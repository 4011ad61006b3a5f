//! A value as a tree.

use std::sync::Arc;

use super::Any;
use crate::reference::Ior;
use crate::type_code::TypeCode;

/// A value of IDL, typed at run time.
///
/// It takes up to [`VALUE_MEMORY_PER_BYTE`] bytes of memory for each byte of its encoding.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    /// The value of `null` and `void`, and a null valuetype.
    Null,
    Boolean(bool),
    Octet(u8),
    Char(char),
    WChar(char),
    Short(i16),
    UShort(u16),
    Long(i32),
    ULong(u32),
    LongLong(i64),
    ULongLong(u64),
    Float(f32),
    Double(f64),
    /// The 16 bytes of an IEEE quadruple, most significant first.
    LongDouble([u8; 16]),
    String(String),
    WString(String),
    /// The bytes of a `fixed`: a digit in each half, and the sign (C or D) in the last one.
    Fixed(Vec<u8>),
    /// The number of an enumerator.
    Enum(u32),
    /// A struct or an exception: its members.
    Struct(Vec<Value>),
    Union(Box<UnionValue>),
    /// A sequence or an array, but for those of octets.
    Sequence(Vec<Value>),
    /// A sequence or an array of octets, or a principal.
    Octets(Vec<u8>),
    Any(Box<Any>),
    TypeCode(Arc<TypeCode>),
    Reference(Box<Ior>),
}

/// A value of a union.
#[derive(Debug, Clone, PartialEq)]
pub struct UnionValue {
    /// The discriminator as a number.
    pub discriminator: i128,
    /// The member, if the discriminator selects one.
    pub member: Option<Value>,
}

/// The memory of a [`Value`] for each byte of its encoding: an element of a sequence of booleans takes 32 bytes, and a
/// vector may have twice the room that it needs.
pub const VALUE_MEMORY_PER_BYTE: usize = 64;
