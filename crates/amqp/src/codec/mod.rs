//! The type system of AMQP 1.0: primitive values, lists, maps, arrays, and described lists ("composites").
//!
//! Reading is bounded by the bytes that are there: a size is checked against them before anything is allocated, nested
//! values go [`DEPTH_MAX`] deep, and a tree of values has at most [`ELEMENTS_MAX`] nodes.
//!
//! Source: OASIS AMQP 1.0, part 1, "Types".

mod composite;
mod error;
mod field;
mod raw;
mod reader;
mod symbol;
mod value;
mod writer;

#[cfg(test)]
mod tests;

pub use composite::{Composite, FieldReader, FieldWriter};
pub(crate) use composite::{composite, read_list};
pub use error::{CodecError, CodecErrorKind};
pub use field::{Field, Timestamp};
pub use raw::Raw;
pub use reader::{Descriptor, Reader};
pub use symbol::Symbol;
pub use value::{Array, Value};
pub use writer::Writer;

/// The most values that a value may be nested in.
///
/// JMS programs need three or four. Each level takes a frame of the stack, so there must be a limit.
pub const DEPTH_MAX: usize = 32;

/// The most values in a tree of values, itself included.
///
/// A value takes one byte on the wire and up to 40 in memory, twice that in a map: a tree takes some 3 MiB at most beyond its
/// texts.
pub const ELEMENTS_MAX: usize = 65_536;

/// The most symbols in a field, such as the capabilities of a source. Peers send up to ten.
pub const SYMBOLS_MAX: usize = 256;
