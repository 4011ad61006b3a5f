//! Messages of AMQP as events, and back.
//!
//! A message names its operation in the property [`OPERATION`], and its body is the payload of the event: the struct, or a
//! struct of the parameters. A TextMessage has it as JSON, a MapMessage as entries by the paths of their fields.
//!
//! - [`message`]: the sections around a body
//! - [`payload`]: the part of an event's parameters that a body holds
//! - [`writer`], [`reader`]: the entries of a MapMessage; the JSON is that of [`floe_dynamic`]
//! - [`entries`]: the entries of a map that has come, found and not decoded
//! - [`error`]: why a message is no event, or an event no message

mod entries;
mod error;
mod message;
mod payload;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use error::EventError;
pub(crate) use message::{MessageCodec, redelivered};
pub(crate) use reader::{can_be_entries, can_be_text};
