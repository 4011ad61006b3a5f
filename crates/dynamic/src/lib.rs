//! Values typed by a Slice model at run time, where no code was generated.
//!
//! A [`Contract`] is a compiled set of Slice files. It reads and writes [`Value`]s as bytes
//! (encodings 1.0 and 1.1) and as JSON, and finds the [`Operation`]s of interfaces, which turn
//! whole requests, replies and user exceptions into JSON and back. Pure: no I/O, clock or async.
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
//! # Values as JSON
//!
//! | Slice | JSON out | JSON in |
//! |---|---|---|
//! | `bool` | `true`, `false` | the same |
//! | `byte`, `short`, `int` | number | an integer in range; `5.0` is one too |
//! | `long` | number | an integer in range, or one as text: `"9223372036854775807"` |
//! | `float`, `double` | the shortest number that reads back the same; `"NaN"`, `"Infinity"`, `"-Infinity"` | the same; a `float` must be in range, and is rounded |
//! | `string` | string | the same |
//! | enum | the enumerator's name: `"red"` | the name, alone or scoped: `"Color::red"`, `"::M::Color::red"` |
//! | struct | object, in order of declaration | object; a member with a declared default may be left out, no other one |
//! | `sequence<byte>` | array of numbers | the same |
//! | other sequence | array | the same |
//! | dictionary by `bool`, number, `string` or enum | object with the keys as text: `{"1": "one"}` | the same, or an array of `[key, value]` pairs |
//! | other dictionary | array of `[key, value]` pairs | the same |
//! | proxy | stringified, as Ice 3.7 writes it: `"hello -t -e 1.1:tcp -h localhost -p 10000 -t 60000"` | any stringified proxy |
//! | nil proxy | `null` | `null` or `""` |
//!
//! What is written reads back as the same value, negative zero included; only the payload of a
//! NaN is lost. JSON has no other shorthands: a number as text is no `int`, `null` is no string.
//! An object with a key that stands twice is refused by [`parse_json`]; the JSON library's own
//! parser would lose one of the two.
//!
//! # Operations as JSON
//!
//! | what | JSON |
//! |---|---|
//! | in-parameters | object by name: `{"name": "Ada", "count": 2}`; on input also an array in order, `["Ada", 2]`; of a single parameter also the value alone, if it is a string, number, bool or null |
//! | results | object: the return value as [`"returnValue"`](RETURN_KEY), out-parameters by their names. Beside an out-parameter that is itself called `returnValue`, the return value is [`"_returnValue"`](RETURN_KEY_BESIDE_NAMESAKE) |
//! | nothing | `{}`; on input also `[]` and `null` |
//! | user exception | object: [`"$exception"`](EXCEPTION_KEY) is the type id, then the members, those of bases first |
//! | ... of which only a base is known | the same with the members and the type id of the base, and the one that was thrown as [`"$thrown"`](THROWN_KEY) |
//! | ... of which nothing is known | `{"$exception": "::M::Unknown", "$unknown": true}` |
//!
//! # Errors
//!
//! JSON that does not fit its type is answered with every [`Problem`] in it, each with its path,
//! what was expected, what stood there, and how to mend it:
//!
//! ```text
//! params.items[3].nmae: expected a member of ::Shop::Item (name, count), got "nmae"; did you mean name
//! params.items[3].name: expected a string, got nothing; ::Shop::Item has no default for it
//! params.items[3].count: expected a short (-32768 to 32767), got the number 70000
//! ```
//!
//! Classes and optional members or parameters are not yet supported: what uses them is refused
//! with that reason when it is looked up, and the rest of the contract works.

mod builtin;
mod contract;
mod decode;
mod encode;
mod exception;
mod hex;
mod json;
mod layout;
mod lookup;
mod message;
mod operation;
mod path;
mod payload;
mod signature;
mod slot;
mod value;
mod wording;

pub use contract::{Contract, DataType};
pub use decode::{DecodeValueError, MAX_MEMORY_PER_BYTE};
pub use encode::{EncodeValueError, EncodeValueErrorKind};
pub use exception::{EXCEPTION_KEY, THROWN_KEY, UNKNOWN_KEY};
pub use hex::{HexError, from_hex, to_hex};
pub use json::{JsonError, MAX_PROBLEMS, Problem, parse_json};
pub use layout::{MAX_DEPTH, Unsupported};
pub use lookup::LookupError;
pub use message::{MessageError, MessageJson, MessageReader};
pub use operation::{Operation, RETURN_KEY, RETURN_KEY_BESIDE_NAMESAKE};
pub use payload::{DecodePayloadError, PayloadType};
pub use value::Value;
