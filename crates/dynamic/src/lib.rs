//! Values typed by a Slice model at run time, where no code was generated.
//!
//! A [`Contract`] is a compiled set of Slice files. It reads and writes [`Value`]s as bytes
//! (encodings 1.0 and 1.1) and as JSON, and finds the [`Operation`]s of interfaces, which turn
//! whole requests, replies and user exceptions into JSON and back. Pure: no I/O, clock or async.
//!
//! Below that, a [`walk()`] drives a [`Writer`] from a [`Reader`] along the [`Layout`] of a type, and no tree is built: Ice's
//! encoding, JSON and [`Value`] are formats like any other. A [`FieldPath`] reads one field out of encoded parameters.
//!
//! ```
//! use floe_dynamic::Contract;
//! use floe_slice::check_source;
//! use floe_wire::EncodingVersion;
//! use serde_json::json;
//!
//! let slice = b"module Shop { interface Till { int add(string item, short count); } }";
//! let contract = Contract::new(check_source(slice).model);
//! let add = contract.operation("add")?;
//!
//! let request = add.encode_request(&json!({"item": "tea", "count": 2}), EncodingVersion::V1_1)?;
//! assert_eq!(request, b"\x0c\0\0\0\x01\x01\x03tea\x02\0");
//! let reply = b"\x0a\0\0\0\x01\x01\x07\0\0\0";
//! assert_eq!(add.decode_reply(reply)?, json!({"returnValue": 7}));
//!
//! let wrong = add.encode_request(&json!(["tea", 70000]), EncodingVersion::V1_1);
//! assert_eq!(
//!     wrong.unwrap_err().to_string(),
//!     "params[1]: expected a short (-32768 to 32767), got the number 70000"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`PayloadType`] does the same with payloads that stand alone, and [`MessageReader`] takes whole
//! messages of the protocol apart.
//!
#![doc = include_str!("../json.md")]

mod builtin;
mod class;
mod contract;
mod example;
mod exception;
mod field_path;
mod hex;
mod ice;
mod json;
mod layout;
mod lookup;
mod message;
mod operation;
mod path;
mod payload;
mod reader;
mod schema;
mod signature;
mod value;
mod walk;
mod wording;
mod writer;

pub use class::Instance;
pub use contract::{Contract, DataType};
pub use exception::{EXCEPTION_KEY, THROWN_KEY, UNKNOWN_KEY};
pub use field_path::{Field, FieldPath, FieldPathError};
pub use hex::{HexError, from_hex, to_hex};
pub use ice::{
    DecodeValueError, EncodeValueError, EncodeValueErrorKind, IceReadError, IceReader, IceWriter,
    MAX_MEMORY_PER_BYTE,
};
pub use json::{
    JSON_DEPTH_MAX, JsonError, JsonReader, JsonWriter, MAX_PROBLEMS, Problem, parse_json,
};
pub use layout::{Enumeration, Layout, MAX_DEPTH, Member, Record, Shape, TypeRefused, Unsupported};
pub use lookup::LookupError;
pub use message::{MessageError, MessageJson, MessageReader};
pub use operation::{Operation, RETURN_KEY, RETURN_KEY_BESIDE_NAMESAKE};
pub use payload::{DecodePayloadError, PayloadType};
pub use reader::{Order, Reader};
pub use value::{Value, ValueReader, ValueWriter};
pub use walk::{Cause, WalkError, walk, walk_record};
pub use writer::Writer;
