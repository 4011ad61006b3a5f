//! Source text from a Slice model: what a build script calls, and `floe slice` prints.
//!
//! - [`Build`]: for `build.rs`, reads contracts and writes Rust into `OUT_DIR`
//! - [`generate_rust`]: a model to Rust source text
//! - [`model_json`]: a model as JSON text
//! - [`compile_files`]: files to a model, with the contracts of Floe itself built in
//!
//! The text that is made depends on the model and the options alone. Only `build_script.rs` and
//! `files.rs` touch the file system.

mod build_script;
mod files;
mod json;
pub mod names;
mod rust;
mod writer;

pub use build_script::{Build, BuildError};
pub use files::{BUILT_IN_DIR, BuiltIn, FileSystem, built_in_files, compile_files};
pub use json::model_json;
pub use rust::{RustOptions, generate_rust};
