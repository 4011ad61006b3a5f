//! Events as elements of XML.
//!
//! - [`document`]: a document as a flat list of elements; `parser.rs`: what quick-xml reads, checked
//! - [`reader`] and [`writer`]: the formats that a walk reads from and writes to
//! - [`text`]: characters that XML can hold

pub mod document;
mod parser;
pub mod reader;
pub mod text;
pub mod writer;

pub use document::{Document, ElementId, XmlError};
pub use reader::{SoapReadError, SoapReader};
pub use writer::{SoapWriteError, SoapWriter};
