//! Values as JSON: the table in the crate's documentation.

mod graph;
mod instance;
mod number;
mod problem;
mod read;
mod shared;
mod text;
mod write;

pub use problem::{JsonError, MAX_PROBLEMS, Problem};
pub(crate) use read::JsonReader;
pub use text::{JSON_DEPTH_MAX, parse_json};
pub(crate) use write::object;

use serde_json::Value as Json;

use crate::{Contract, DataType, Value};

/// The key of an instance's class.
const CLASS_KEY: &str = "$class";

/// The key of the id of an instance that is referred to more than once.
const ID_KEY: &str = "$id";

/// The key of a reference to an instance with an id.
const REF_KEY: &str = "$ref";

/// The key of an instance's slices of unknown classes.
const SLICES_KEY: &str = "$slices";

/// The key that is true in the place of an optional value that is unset.
pub(crate) const UNSET_KEY: &str = "$unset";

impl Contract {
    /// Reads a value from JSON.
    ///
    /// # Errors
    /// [`JsonError`] with everything that does not fit the type.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn value_from_json(&self, r#type: DataType, json: &Json) -> Result<Value, JsonError> {
        let mut reader = JsonReader::new(self, "value");
        let value = reader.value(r#type.get(), json);
        let value = reader.linked(value);
        reader.finish(value)
    }

    /// Writes a value as JSON. Parts that are not of the type are written as what they are.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn value_to_json(&self, r#type: DataType, value: &Value) -> Json {
        write::only(self, r#type.get(), value)
    }
}
