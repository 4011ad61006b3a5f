//! The names and types of a contract in worlds whose languages are not ours: DDS and CORBA (IDL), and SOAP (XML).
//!
//! ```text
//! names.rs    one name: its escape, and back
//! naming.rs   all names of a contract
//! event.rs    what an interface is where a topic has one type
//! content.rs  which definitions a world gets, and which it refuses
//! ```
//!
//! It depends on the model alone. The generators of `idl/` and `wsdl/` write these names, and a bridge that carries
//! events of the contract must use them, too: the table is in `docs/guides/bridges.md`.

mod content;
mod event;
mod names;
mod naming;

pub(crate) use content::{Content, Target, content, content_of, throws};
pub use event::{EventOperation, EventType, Payload, event_type, payload};
pub use names::{NameScope, World, original};
pub use naming::{Made, Naming, namespace};
