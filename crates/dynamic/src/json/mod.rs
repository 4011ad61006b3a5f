//! Values as JSON: the table in the crate's documentation.

mod graph;
mod instance;
mod instance_writer;
mod number;
mod problem;
mod reader;
mod text;
mod writer;

pub use problem::{JsonError, MAX_PROBLEMS, Problem};
pub use reader::JsonReader;
pub(crate) use reader::only_json;
pub(crate) use text::parse_own;
pub use text::{JSON_DEPTH_MAX, parse_json};
pub use writer::JsonWriter;

use serde_json::Value as Json;

use crate::value::links;
use crate::walk::Subject;
use crate::{Contract, DataType, Value, Writer};

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
        let layout = self.layout_of(r#type);
        JsonReader::new(self, "value", json).build(&Subject::Value(&layout))
    }

    /// Writes a value as JSON. A value that is not of the type is written as what it is.
    ///
    /// # Panics
    /// If the type comes from another contract.
    pub fn value_to_json(&self, r#type: DataType, value: &Value) -> Json {
        let mut writer = JsonWriter::new(self);
        let mut found = Vec::new();
        links(value, JsonWriter::HAS_KEYS_ONCE, &mut found);
        let _ = writer.begin_graph(&found);
        writer.value(&self.layout_of(r#type), value);
        parse_own(&writer.into_text())
    }
}
