//! Source text from a Slice model: what a build script calls, and `floe slice` prints.
//!
//! - [`Build`]: for `build.rs`, reads contracts and writes Rust into `OUT_DIR`
//! - [`generate_rust`]: a model to Rust source text; [`generate_rust_with_warnings`] also says which names
//!   it had to change
//! - [`model_json`]: a model as JSON text
//! - [`generate_html`]: a model as a reference for people, one HTML page
//! - [`generate_idl`], [`generate_wsdl`], [`generate_notification_wsdl`]: a model in the languages of DDS, CORBA and SOAP
//! - [`foreign`]: its names and types there, for programs that carry events between the worlds
//! - [`compile_files`]: files to a model, with the contracts of Floe itself built in
//!
//! The text that is made depends on the model and the options alone. Only `build_script.rs` and
//! `files.rs` touch the file system, and only `threads.rs` starts threads.
//!
//! # What Slice becomes
//!
//! | Slice | Rust |
//! |---|---|
//! | `module Demo` | `pub mod demo` |
//! | `bool byte short int long float double` | `bool u8 i16 i32 i64 f32 f64` |
//! | `string` | `String`; `&str` as a parameter of a proxy |
//! | `sequence<int> Numbers` | `type Numbers = Vec<i32>`; `&[i32]` as a parameter of a proxy |
//! | `dictionary<string, int> Ages` | `type Ages = BTreeMap<String, i32>` |
//! | `enum`, `struct` | `enum`, `struct`, with `Default` as the contract says |
//! | `const int maxCost = 5` | `const MAX_COST: i32 = 5` |
//! | `Greeter*`, `Object*` | `Option<GreeterProxy>`, `Option<floe::Proxy>`; nil is `None` |
//! | `class Node` | `struct Node`, with a field `base` for what it extends, to which it derefs |
//! | `Node` as a type; `Object`, `Value` | `floe::classes::Link<Node>`; `floe::classes::Link<dyn floe::classes::AnyClass>` |
//! | `optional(1) int size` | `Option<i32>`; a declared default makes it `Some` at first |
//! | `optional(1) Greeter*` | `Option<Option<GreeterProxy>>`: unset, or set, perhaps to nil |
//! | `exception Rejected` | `struct Rejected` that holds the members of its bases too |
//! | `throws` of operation `greet` | `enum NoNameError`, a variant for each exception that can come, and `Invoke` |
//! | `interface Greeter` | `GreeterProxy` to call it, trait `Greeter` to serve it, `GreeterDispatcher` for an adapter |
//! | an operation | an `async` method; results are the return value, then the out-parameters |
//!
//! Names take the case that Rust wants; keywords become `r#type` or `self_`. Metadata
//! `["rust:identifier:name"]` chooses a name, `["rust:type:path"]` a container, `["rust:bytes"]` bytes
//! that are not copied, `["rust:derive:path"]` more derives; `["deprecated:why"]` becomes
//! `#[deprecated]`, and `["format:sliced"]` chooses the format of class instances and exceptions: see
//! `docs/guides/metadata.md`. Doc comments become documentation.
//!
//! Each contract has a static `CLASSES`, in its first module: the classes that a decoder makes
//! instances of. Those that only another contract knows are added with `floe::Settings::classes`.
//!
//! What Ice 3.8 has removed from the language becomes Rust too. The operations of a class give
//! `NodeProxy`, `NodeServant` and `NodeDispatcher`; an interface without `*`, and a class that is
//! declared and never defined, are links to any class; `local` definitions become nothing.

mod build_script;
mod files;
pub mod foreign;
mod html;
mod idl;
mod json;
pub mod names;
mod rust;
mod threads;
mod writer;
mod wsdl;

pub use floe_slice::Language;

pub use build_script::{Build, BuildError};
pub use files::{BUILT_IN_DIR, BuiltIn, FileSystem, built_in_files, compile_files};
pub use html::generate_html;
pub use idl::{Idl, generate_idl};
pub use json::model_json;
pub use rust::{RustOptions, generate_rust, generate_rust_with_warnings};
pub use wsdl::{WsdlOptions, generate_notification_wsdl, generate_wsdl};
