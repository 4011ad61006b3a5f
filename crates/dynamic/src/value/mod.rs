//! Values without a Rust type of their own: a tree, which is one more format that a walk can read and write.

mod reader;
mod writer;

pub use reader::ValueReader;
pub(crate) use reader::links;
pub use writer::ValueWriter;

use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

/// A value of some Slice type.
///
/// A value does not carry its type: it means something together with a
/// [`DataType`](crate::DataType), and every function that takes one takes the other too.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `byte`.
    Byte(u8),
    /// `short`.
    Short(i16),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `string`.
    String(String),
    /// An enumerator, by its value on the wire.
    Enumerator(i32),
    /// The members of a struct, in order of declaration.
    Struct(Vec<Value>),
    /// `sequence<byte>`, in one piece.
    Bytes(Vec<u8>),
    /// Any other sequence.
    Sequence(Vec<Value>),
    /// A dictionary, in the order of the wire or of the input.
    Dictionary(Vec<(Value, Value)>),
    /// A proxy; `None` is nil. Boxed, so that a value of any other type stays small.
    Proxy(Option<Box<Reference>>),
    /// A link to an [`Instance`](crate::Instance) of a class, nil included; or to what a decoder
    /// made of an instance whose classes are all unknown, or of one of a generated class.
    Instance(Link<dyn AnyClass>),
    /// An optional member or parameter that has no value.
    Unset,
}

impl Value {
    /// The kind of the value in the words of Slice, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::Byte(_) => "byte",
            Self::Short(_) => "short",
            Self::Int(_) => "int",
            Self::Long(_) => "long",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Enumerator(_) => "enumerator",
            Self::Struct(_) => "struct",
            Self::Bytes(_) => "sequence<byte>",
            Self::Sequence(_) => "sequence",
            Self::Dictionary(_) => "dictionary",
            Self::Proxy(_) => "proxy",
            Self::Instance(_) => "class instance",
            Self::Unset => "nothing",
        }
    }
}
