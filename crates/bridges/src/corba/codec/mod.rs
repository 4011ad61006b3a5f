//! Values of a contract as CDR: the formats of CORBA for the walk that `floe-dynamic` has.
//!
//! | Slice | CDR |
//! |---|---|
//! | enumerator | `unsigned long`: its place |
//! | dictionary | a sequence of keys with values |
//! | optional parameter | a sequence of at most one value |
//! | proxy | a string, as Ice writes proxies; empty if nil |
//! | struct without members | an octet |

mod error;
mod reader;
mod writer;

pub use error::CdrReadError;
pub use reader::CdrReader;
pub use writer::CdrWriter;
