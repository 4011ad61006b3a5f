//! Why an adapter could not be created or changed.

use std::fmt;
use std::io;
use std::sync::Arc;

use floe_wire::reference::{ParseReferenceError, Readable};

use super::{InvokeError, RegistrationError};

/// Why an adapter could not be created or changed.
#[derive(Clone)]
#[non_exhaustive]
pub enum AdapterError {
    /// The text is not an identity.
    Parse(ParseReferenceError),
    /// The text is not a list of endpoints.
    Endpoints {
        /// The text.
        endpoints: String,
        /// The error in the text.
        source: ParseReferenceError,
    },
    /// No transport of this build can listen on the endpoint.
    UnsupportedEndpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// The system refused to listen.
    Listen {
        /// The endpoint.
        endpoint: String,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// A servant is already registered under this identity and facet.
    AlreadyRegistered {
        /// The identity and, if there is one, the facet; or the category of a default servant.
        what: String,
    },
    /// An identity without a name.
    EmptyIdentity,
    /// The adapter is deactivated.
    Deactivated,
    /// The adapter could not be registered with the locator.
    Registration {
        /// The id of the adapter.
        adapter_id: String,
        /// The proxy of the locator.
        locator: String,
        /// Why.
        source: Box<RegistrationError>,
    },
    /// Servers cannot call this adapter through its router.
    Router {
        /// The proxy of the router.
        router: String,
        /// The failed invocation; `None` if the router has no endpoints for servers.
        source: Option<Box<InvokeError>>,
    },
    /// The communicator is shut down.
    Shutdown,
}

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Endpoints { endpoints, source } => {
                write!(
                    f,
                    "expected endpoints, got \"{}\": {source}",
                    Readable(endpoints)
                )
            }
            Self::UnsupportedEndpoint { endpoint } => {
                write!(
                    f,
                    "cannot listen on \"{}\": expected a transport that this build has",
                    Readable(endpoint)
                )
            }
            Self::Listen { endpoint, source } => {
                write!(f, "cannot listen on \"{}\": {source}", Readable(endpoint))
            }
            Self::AlreadyRegistered { what } => {
                write!(
                    f,
                    "a servant is registered for {what} already: remove it first"
                )
            }
            Self::EmptyIdentity => {
                f.write_str("expected an identity with a name, got an empty one")
            }
            Self::Deactivated => f.write_str("the adapter is deactivated: make another one"),
            Self::Registration {
                adapter_id,
                locator,
                source,
            } => write!(
                f,
                "cannot register the adapter \"{adapter_id}\" with the locator {locator}: {source}"
            ),
            Self::Router { router, source } => match source {
                Some(source) => write!(
                    f,
                    "cannot be called through the router {router}: {source}; does this client have a session there?"
                ),
                None => write!(
                    f,
                    "cannot be called through the router {router}: it has no endpoints for servers \
                     (Glacier2.Server.Endpoints)"
                ),
            },
            Self::Shutdown => f.write_str("the communicator is shut down"),
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for AdapterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Parse(error) => Some(error),
            Self::Endpoints { source, .. } => Some(source),
            Self::Listen { source, .. } => Some(&**source),
            Self::Registration { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

impl From<ParseReferenceError> for AdapterError {
    fn from(error: ParseReferenceError) -> Self {
        Self::Parse(error)
    }
}
