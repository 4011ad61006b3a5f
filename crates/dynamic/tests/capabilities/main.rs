//! The capabilities of a contract without generated code.

mod aligned;
mod classes;
mod exceptions;
mod fields;
mod graphs;
mod lookups;
mod messages;
mod operations;
mod optionals;
mod payloads;
mod properties;
mod support;
mod values_as_bytes;
mod values_as_json;
mod walks;
mod wrong_json;
