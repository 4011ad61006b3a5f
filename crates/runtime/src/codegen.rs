//! Functions and traits for generated code. They may change with any version.

pub use crate::dispatch::{Answer, dispatch};
