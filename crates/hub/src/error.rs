//! Errors of starting a hub and of changing its topics.

use std::fmt;

use floe::reference::Readable;
use floe::{AdapterError, InvokeError, SystemException};

use crate::core::LimitReached;
pub use crate::store::StoreError;

/// Why a hub could not be started.
#[derive(Clone)]
#[non_exhaustive]
pub enum HubError {
    /// It cannot listen at its endpoints.
    Adapter(AdapterError),
    /// A published endpoint leads nowhere.
    Published {
        /// An endpoint without a host, or without a port.
        endpoint: String,
    },
    /// It would listen for datagrams alone, and could answer no request.
    OnlyDatagrams {
        /// The endpoints.
        endpoints: String,
    },
    /// Publisher objects have published endpoints or an adapter id of their own, but no adapter of their own.
    NothingPublished,
    /// The instance name is empty. The objects of the hub would have no category.
    NoInstanceName,
    /// The store cannot be read or written.
    Store(StoreError),
}

/// The text of `Display`: `main` prints the error that it returns in this form.
impl fmt::Debug for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adapter(error) => error.fmt(f),
            Self::Published { endpoint } => write!(
                f,
                "expected published endpoints with a host and a port that clients reach, such as \
                 tcp -h hub.example -p 10000, got \"{endpoint}\""
            ),
            Self::OnlyDatagrams { endpoints } => write!(
                f,
                "expected an endpoint of tcp, ssl, ws, wss or unix among those of the hub, got only \"{}\": over udp a hub takes \
                 events and answers nothing, so no program could find a topic or subscribe; add one, such as tcp -p 10000",
                Readable(endpoints)
            ),
            Self::NothingPublished => f.write_str(
                "expected endpoints at which publisher objects listen, because their published endpoints or adapter id are set, got none: set \
                 publish-listen (Publish.Endpoints), or leave publish-published-endpoints and publish-adapter-id out",
            ),
            Self::NoInstanceName => f.write_str(
                "expected an instance name, such as IceStorm, got an empty one: set instance (InstanceName), or leave it out",
            ),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HubError {}

impl From<AdapterError> for HubError {
    fn from(error: AdapterError) -> Self {
        Self::Adapter(error)
    }
}

impl From<StoreError> for HubError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a change of topics or subscriptions was refused. Nothing has changed then.
#[derive(Debug, Clone)]
pub(crate) enum ChangeError {
    /// A topic of this name exists.
    TopicExists,
    /// An object of this identity is subscribed already.
    AlreadySubscribed,
    /// The topics are linked already.
    LinkExists,
    /// The topics are not linked.
    NoSuchLink,
    /// The topic was destroyed meanwhile.
    TopicGone,
    /// A name is too long to be stored, or another object has the identity already.
    Unnameable(String),
    /// A limit of the hub is reached.
    Limit(LimitReached),
    /// A subscriber wants to read the log of a topic that has none.
    NotDurable(String),
    /// Another subscriber has this durable subscription.
    DurableInUse(String),
    /// The subscribers that share this durable subscription have another key, or none.
    KeyDiffers(String),
    /// The store failed.
    Store(StoreError),
}

impl From<LimitReached> for ChangeError {
    fn from(reached: LimitReached) -> Self {
        tracing::warn!("refused a change: {reached}");
        Self::Limit(reached)
    }
}

impl From<StoreError> for ChangeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TopicExists => f.write_str("the topic exists already"),
            Self::AlreadySubscribed => f.write_str("the object is subscribed already"),
            Self::LinkExists => f.write_str("the topics are linked already"),
            Self::NoSuchLink => f.write_str("the topics are not linked"),
            Self::TopicGone => f.write_str("the topic was destroyed"),
            Self::Unnameable(reason) => f.write_str(reason),
            Self::Limit(reached) => reached.fmt(f),
            Self::NotDurable(topic) => write!(
                f,
                "expected a durable topic for floe.durable, or one that remembers events for floe.from, got {topic:?}: create it with \
                 floe topic create --durable, or set topic.NAME.durable or topic.NAME.history.events"
            ),
            Self::DurableInUse(name) => write!(
                f,
                "another subscriber has the durable subscription {name:?} and is connected: use another name, or let both \
                 share it with floe.shared=yes"
            ),
            Self::KeyDiffers(name) => write!(
                f,
                "invalid floe.sticky: expected the key that the other subscribers of {name:?} have, got another one or none"
            ),
            Self::Store(error) => error.fmt(f),
        }
    }
}

/// The exception for operations whose contract declares none for this.
impl From<ChangeError> for InvokeError {
    fn from(error: ChangeError) -> Self {
        Self::System(match error {
            ChangeError::TopicGone => SystemException::ObjectNotExist(Default::default()),
            error => SystemException::UnknownException(error.to_string()),
        })
    }
}
