//! Values as JSON: the table in the crate's documentation.

mod number;
mod problem;
mod read;
mod text;
mod write;

pub use problem::{JsonError, MAX_PROBLEMS, Problem};
pub(crate) use read::JsonReader;
pub use text::parse_json;
pub(crate) use write::object;

use serde_json::Value as Json;

use crate::{Contract, DataType, Value};

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
        reader.finish(value)
    }

    /// Writes a value as JSON. Parts that are not of the type are written as what they are.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn value_to_json(&self, r#type: DataType, value: &Value) -> Json {
        write::to_json(self, r#type.get(), value)
    }
}
