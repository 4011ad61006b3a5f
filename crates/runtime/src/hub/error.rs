//! Errors of hubs, topics and subscriptions.

use std::fmt;
use std::time::Duration;

use floe_wire::message::SystemException;
use floe_wire::reference::{Identity, ParseReferenceError, Readable};

use crate::error::{AdapterError, InvokeError, LocalError};

/// Why a hub, a topic or a subscription is unavailable.
#[derive(Clone)]
#[non_exhaustive]
pub enum HubError {
    /// The text is not an address of a hub.
    Address {
        /// The text.
        address: String,
        /// The error in the text.
        source: ParseReferenceError,
    },
    /// The hub did not answer, or answered unlike a hub.
    Hub {
        /// The proxy that was called.
        hub: String,
        /// The failed invocation.
        source: Box<InvokeError>,
    },
    /// The hub has no such topic.
    NoSuchTopic {
        /// The name.
        topic: String,
        /// The most similar name that the hub has, if one is similar.
        near: Option<String>,
    },
    /// There is a topic of this name, and it is not durable. A topic is durable from its beginning or not at all.
    NotDurable {
        /// The name.
        topic: String,
    },
    /// The hub has no durable topics: it is an IceStorm, or an older hub.
    NoDurableTopics,
    /// The text is not an identity for a subscriber.
    Identity(ParseReferenceError),
    /// Another subscriber of the topic has this identity.
    AlreadySubscribed {
        /// The topic.
        topic: String,
        /// The identity.
        identity: Identity,
    },
    /// The hub cannot provide the quality of service.
    BadQos {
        /// The hub's explanation.
        reason: String,
    },
    /// The hub refused for another reason.
    Refused {
        /// The hub's explanation.
        reason: String,
    },
    /// The subscriber could not listen for events of the hub.
    Listen(AdapterError),
    /// The hub does not call back over the subscriber's connection, and the subscriber has no address at which it could
    /// listen.
    NoAddress {
        /// The connection's transport.
        transport: String,
    },
    /// The hub accepted the subscription, but a test event did not arrive.
    NotReached {
        /// The endpoints at which the subscriber listens.
        endpoints: String,
        /// How long the subscriber waited.
        after: Duration,
    },
}

impl HubError {
    /// Returns true if the communicator is shut down, so that another attempt cannot succeed.
    pub(super) fn is_shutdown(&self) -> bool {
        match self {
            Self::Hub { source, .. } => matches!(
                **source,
                InvokeError::NotDispatched(LocalError::Shutdown)
                    | InvokeError::PerhapsDispatched(LocalError::Shutdown)
            ),
            Self::Listen(error) => matches!(error, AdapterError::Shutdown),
            _ => false,
        }
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, source } => write!(
                f,
                "expected the address of a hub, such as `localhost:10000`, `tcp -h localhost -p 10000` or \
                 `IceStorm/TopicManager:tcp -h localhost -p 10000`, got \"{address}\": {source}"
            ),
            Self::Hub { hub, source } => match &**source {
                InvokeError::System(SystemException::UnknownException(reason)) => {
                    write!(f, "the hub \"{}\" answered: {reason}", Readable(hub))
                }
                InvokeError::NotDispatched(source) => write!(
                    f,
                    "cannot reach the hub \"{}\": {source}; does a hub run there?",
                    Readable(hub)
                ),
                _ => write!(
                    f,
                    "the hub \"{}\" did not answer as expected: {source}; does a hub run there?",
                    Readable(hub)
                ),
            },
            Self::NoSuchTopic { topic, near } => {
                write!(f, "the hub has no topic \"{topic}\"")?;
                match near {
                    Some(near) => write!(f, ": did you mean \"{near}\"?"),
                    None => f.write_str(": `HubClient::topic` creates it"),
                }
            }
            Self::NotDurable { topic } => write!(
                f,
                "topic \"{topic}\" exists and is not durable: choose another name, or remove it first"
            ),
            Self::NoDurableTopics => f.write_str(
                "the hub has no durable topics: expected a Floe hub with a folder for its data, as with `floe serve --data`",
            ),
            Self::Identity(source) => write!(
                f,
                "expected the identity of a subscriber, such as `me` or `prices/me`: {source}"
            ),
            Self::AlreadySubscribed { topic, identity } => write!(
                f,
                "topic \"{topic}\" already has a subscriber with identity \"{identity}\": choose another \
                 identity, or none for a unique one"
            ),
            Self::BadQos { reason } => {
                write!(f, "the hub cannot provide the quality of service: {reason}")
            }
            Self::Refused { reason } => write!(f, "the hub refused the subscription: {reason}"),
            Self::Listen(error) => write!(f, "cannot listen for the hub: {error}"),
            Self::NoAddress { transport } => write!(
                f,
                "the hub does not call back over a connection of transport \"{transport}\", and the subscriber has no \
                 address to listen on: set one with `listen`"
            ),
            Self::NotReached { endpoints, after } => write!(
                f,
                "the hub did not deliver to \"{}\" within {after:?}: is there a firewall or an address \
                 translation in between? Set the address to listen on with `listen`",
                Readable(endpoints)
            ),
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for HubError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { source, .. } | Self::Identity(source) => Some(source),
            Self::Hub { source, .. } => Some(&**source),
            Self::Listen(source) => Some(source),
            _ => None,
        }
    }
}

impl From<AdapterError> for HubError {
    fn from(error: AdapterError) -> Self {
        Self::Listen(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hub_answered_is_told_without_a_doubt_that_it_is_one() {
        let reason = "access refused: anonymous may not create (topic \"t\")";
        let error = HubError::Hub {
            hub: "IceStorm/TopicManager:tcp -h h -p 1".to_owned(),
            source: Box::new(SystemException::UnknownException(reason.to_owned()).into()),
        };
        assert_eq!(
            format!("{error:?}"),
            format!("the hub \"IceStorm/TopicManager:tcp -h h -p 1\" answered: {reason}")
        );
    }
}
