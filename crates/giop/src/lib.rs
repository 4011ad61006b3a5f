//! GIOP, the protocol of CORBA: bytes to meaning and back.
//!
//! Pure: bytes go in; bytes and events come out. No socket, no clock, no async, no randomness. The owner of a
//! connection moves the bytes and keeps time.
//!
//! - [`cdr`]: values of types that are known, and code sets
//! - [`type_code`]: types as values
//! - [`any`]: values of types that are known at run time only
//! - [`mod@reference`]: IORs, as bytes and as text, and `corbaloc`
//! - [`system_exception`]: the exceptions that every operation may raise
//! - [`message`]: the messages of GIOP 1.0, 1.1 and 1.2, frames and fragments
//! - [`connection`]: a connection as a state machine
//! - [`cos`]: what the naming and event services of the OMG say, as objects without I/O

pub mod any;
pub mod cdr;
pub mod connection;
pub mod cos;
pub mod message;
pub mod reference;
pub mod system_exception;
pub mod type_code;
