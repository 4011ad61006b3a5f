//! Why a message is no event, or an event no message.

use std::fmt;

use floe_amqp::jms::JmsError;

/// A message that is no event of its topic: what was expected, what came, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageProblem(pub(super) String);

impl MessageProblem {
    pub(super) fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

impl fmt::Display for MessageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MessageProblem {}

impl From<JmsError> for MessageProblem {
    fn from(error: JmsError) -> Self {
        Self::new(error)
    }
}

impl From<floe_amqp::message::MessageError> for MessageProblem {
    fn from(error: floe_amqp::message::MessageError) -> Self {
        Self::new(error)
    }
}

/// An event that is no message: its parameters are not those of the contract, or a message cannot say one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventError {
    /// Its parameters are not those of the contract.
    NotOfContract(String),
    /// A message cannot say a value.
    CannotBeSaid(String),
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOfContract(text) | Self::CannotBeSaid(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for EventError {}

/// A value that does not fit its type: what was expected, and what came. The walk adds where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryError {
    pub(super) expected: String,
    pub(super) found: String,
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got {}", self.expected, self.found)
    }
}

impl std::error::Error for EntryError {}
