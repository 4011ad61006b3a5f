//! Error conditions: what one peer tells the other about what went wrong.

use std::fmt;

use crate::codec::{Raw, Symbol, composite};

composite! {
    /// An error of a delivery, a link, a session or a connection, as it is sent.
    AmqpError = 0x1D "amqp:error:list" {
        /// A name of the kind of error, as in the constants of [`condition`](crate::condition).
        condition: Symbol,
        /// More, for people.
        description: Option<String>,
        /// A map of more, for programs.
        info: Option<Raw>,
    }
}

impl AmqpError {
    /// An error of this kind.
    pub fn new(condition: Symbol, description: impl Into<String>) -> Self {
        Self {
            condition,
            description: Some(description.into()),
            info: None,
        }
    }
}

impl fmt::Display for AmqpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.description {
            Some(description) => write!(f, "{}: {description}", self.condition),
            None => write!(f, "{}", self.condition),
        }
    }
}

impl std::error::Error for AmqpError {}

/// Declares conditions.
macro_rules! conditions {
    ($( $(#[$attribute:meta])* $name:ident = $text:literal; )*) => {
        $( $(#[$attribute])* pub const $name: Symbol = Symbol::new($text); )*
    };
}

// Source: OASIS AMQP 1.0, part 2, 2.8.15 to 2.8.18.
conditions! {
    /// Something failed within a peer.
    INTERNAL_ERROR = "amqp:internal-error";
    /// There is no such thing.
    NOT_FOUND = "amqp:not-found";
    /// The peer may not do this.
    UNAUTHORIZED_ACCESS = "amqp:unauthorized-access";
    /// Bytes that are no values.
    DECODE_ERROR = "amqp:decode-error";
    /// A limit is reached.
    RESOURCE_LIMIT_EXCEEDED = "amqp:resource-limit-exceeded";
    /// The peer may not do this now or in this way.
    NOT_ALLOWED = "amqp:not-allowed";
    /// A field has a wrong value.
    INVALID_FIELD = "amqp:invalid-field";
    /// The thing that was asked for is not implemented.
    NOT_IMPLEMENTED = "amqp:not-implemented";
    /// Another holds the thing.
    RESOURCE_LOCKED = "amqp:resource-locked";
    /// The thing was deleted.
    RESOURCE_DELETED = "amqp:resource-deleted";
    /// A frame that may not come in this state.
    ILLEGAL_STATE = "amqp:illegal-state";
    /// The connection was closed by an operator, or because it shuts down.
    CONNECTION_FORCED = "amqp:connection:forced";
    /// The frames make no sense.
    FRAMING_ERROR = "amqp:connection:framing-error";
    /// The peer sent more than the window allows.
    WINDOW_VIOLATION = "amqp:session:window-violation";
    /// A frame names a link that was never attached, or is detached.
    UNATTACHED_HANDLE = "amqp:session:unattached-handle";
    /// A handle is used for two links.
    HANDLE_IN_USE = "amqp:session:handle-in-use";
    /// A link of the name is attached elsewhere.
    STOLEN = "amqp:link:stolen";
    /// The peer sent more messages than there was credit.
    TRANSFER_LIMIT_EXCEEDED = "amqp:link:transfer-limit-exceeded";
    /// A message is longer than the link takes.
    MESSAGE_SIZE_EXCEEDED = "amqp:link:message-size-exceeded";
    /// An operator detached the link.
    DETACH_FORCED = "amqp:link:detach-forced";
}
