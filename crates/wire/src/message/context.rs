//! Contexts: text that travels with a request, next to the parameters.

use std::collections::BTreeMap;

/// Keys and values that a caller sends along with a request.
pub type Context = BTreeMap<String, String>;
