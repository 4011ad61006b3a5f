//! Values of types that are known at run time only.
//!
//! - [`Any`]: a TypeCode and the bytes of a value, which are not decoded
//! - [`skip_value`], [`copy_value`]: where a value ends, and the value in another format
//! - [`Value`]: a value as a tree, for whoever wants to look into it
//!
//! These walk along a TypeCode. [`VALUE_DEPTH_MAX`] limits how deep, and [`EMPTY_VALUES_MAX`] how many values there may
//! be without a byte: for all others a peer has paid with bytes.

mod container;
mod decode_value;
mod encode_value;
mod transfer;
mod value;

pub use container::Any;
pub use transfer::{copy_value, skip_value};
pub use value::{UnionValue, VALUE_MEMORY_PER_BYTE, Value};

/// The deepest nesting of values, which recursive types and values in values of `any` make deeper than their
/// TypeCodes are. The walk takes less than 1 kB of stack a level.
pub const VALUE_DEPTH_MAX: usize = 128;

/// The most values without any bytes within one value: empty structs, unions without a member, empty arrays. An array of
/// four billion empty structs takes no bytes at all, and would keep a walk busy for minutes.
pub const EMPTY_VALUES_MAX: usize = 65_536;

/// The weight of all TypeCodes within one value, as [`TYPE_CODE_WEIGHT_MAX`](crate::type_code::TYPE_CODE_WEIGHT_MAX)
/// counts it: a sequence of 64,000 values of `any` with a struct each may pass, and it keeps a walk below a second.
pub const INNER_TYPES_WEIGHT_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests;
