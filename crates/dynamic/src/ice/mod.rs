//! Ice's encoding, 1.0 and 1.1, as a format: its reader, its writer, and the errors of both in values.

mod reader;
mod writer;

pub use reader::{DecodeValueError, IceReadError, IceReader, MAX_MEMORY_PER_BYTE};
pub(crate) use reader::{Opened, Trail, decode_slots, decode_whole, open};
pub use writer::{EncodeValueError, EncodeValueErrorKind, IceWriter};
pub(crate) use writer::{encapsulation, encode_slots, encode_whole};
