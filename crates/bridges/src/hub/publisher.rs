//! Publishes events of a participant of another world.

use std::fmt;

use floe::message::Outcome;
use floe::{InvokeError, Proxy};

use super::Port;
use crate::core::account::Reason;
use crate::core::mapping::EventKind;

/// Publishes the events of one participant to one topic. A clone is the same.
#[derive(Debug, Clone)]
pub struct Publisher {
    port: Port,
    proxy: Proxy,
}

/// An event that the hub does not have.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PublishError {
    /// The hub refused it: an access rule, a limit, or the topic is gone. Nothing is gained by trying again.
    Refused(String),
    /// The hub could not be reached, and surely does not have it.
    Away(String),
    /// The hub may have it: the connection broke before the answer came.
    Unknown(String),
}

impl Publisher {
    pub(super) fn new(port: Port, proxy: Proxy) -> Self {
        Self { port, proxy }
    }

    /// Publishes an event: its kind, and its parameters as a whole encapsulation. Returns when the hub has the event; a durable
    /// topic has stored it. Calls that are first polled one after the other keep their order.
    ///
    /// # Errors
    /// [`PublishError`]; it is counted.
    pub async fn publish(&self, kind: &EventKind, parameters: &[u8]) -> Result<(), PublishError> {
        let attempted = self.attempt(kind, parameters).await;
        if let Err(error @ PublishError::Away(_)) = &attempted {
            self.port.account().refuse(error.reason(), 1);
        }
        attempted
    }

    /// As [`Publisher::publish`], for a world that tries again while the hub is away: that is not counted.
    ///
    /// # Errors
    /// [`PublishError`]; it is counted, unless it is [`PublishError::Away`].
    pub async fn attempt(&self, kind: &EventKind, parameters: &[u8]) -> Result<(), PublishError> {
        let mode = kind.operation().mode();
        let error = match self.proxy.invoke(kind.name(), mode, parameters).await {
            Ok(None | Some(Outcome::Returned(_))) => {
                self.port.account().take_in();
                return Ok(());
            }
            Ok(Some(_)) => PublishError::Refused("the hub answered with an exception".to_owned()),
            Err(error) => PublishError::of(&error),
        };
        if !matches!(error, PublishError::Away(_)) {
            self.port.account().refuse(error.reason(), 1);
        }
        Err(error)
    }

    /// The port.
    pub fn port(&self) -> &Port {
        &self.port
    }
}

impl PublishError {
    fn of(error: &InvokeError) -> Self {
        match error {
            InvokeError::NotDispatched(_) => Self::Away(error.to_string()),
            InvokeError::PerhapsDispatched(_) => Self::Unknown(error.to_string()),
            _ => Self::Refused(error.to_string()),
        }
    }

    /// The reason in the account.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Refused(_) => Reason::RefusedByHub,
            Self::Away(_) | Self::Unknown(_) => Reason::HubAway,
        }
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => write!(f, "the hub refused the event: {reason}"),
            Self::Away(reason) => {
                write!(f, "the hub is away, and does not have the event: {reason}")
            }
            Self::Unknown(reason) => write!(
                f,
                "the connection to the hub broke, and it may or may not have the event: {reason}"
            ),
        }
    }
}

impl std::error::Error for PublishError {}
