//! Source text from a Slice model: what a build script calls, and `floe slice rust` prints.
//!
//! - [`generate_rust`]: a model to Rust source text

pub mod names;
mod rust;
mod writer;

pub use rust::{RustOptions, generate_rust};
