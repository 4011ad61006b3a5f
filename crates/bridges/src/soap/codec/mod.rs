//! Events as elements of XML.
//!
//! - [`document`]: what quick-xml reads, checked, as a flat list of elements
//! - [`reader`] and [`writer`]: the formats that a walk reads from and writes to
//! - [`text`]: characters that XML can hold

pub mod document;
pub mod reader;
pub mod text;
pub mod writer;

pub use document::{Document, ElementId, XmlError};
pub use reader::{SoapReadError, SoapReader};
pub use writer::{SoapWriteError, SoapWriter};
