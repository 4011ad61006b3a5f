//! Slice front-end: text to a checked model and diagnostics.
//!
//! Pure: files are read through the caller's loader.

pub mod diagnostic;
pub mod model;
