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
                    "cannot listen on \"{}\": {}",
                    Readable(endpoint),
                    why_unsupported(endpoint, cfg!(feature = "tls"))
                )
            }
            Self::Listen { endpoint, source } => {
                write!(
                    f,
                    "cannot listen on \"{}\": {source}{}",
                    Readable(endpoint),
                    listen_advice(endpoint, source.kind())
                )
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

/// Why a build cannot listen on the endpoint.
fn why_unsupported(endpoint: &str, has_tls: bool) -> &'static str {
    let is_encrypted = ["ssl", "wss"].contains(&protocol(endpoint));
    match has_tls {
        false if is_encrypted => {
            "this build of `floe` has no encryption: enable its cargo feature `tls` in your Cargo.toml"
        }
        _ => "expected a transport that this build has",
    }
}

/// Advice for a system that refused to listen.
fn listen_advice(endpoint: &str, kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse if protocol(endpoint) == "unix" => {
            "; another program listens there, perhaps an earlier run of this one: end it, or choose another path"
        }
        io::ErrorKind::AddrInUse => {
            "; another program listens there, perhaps an earlier run of this one: end it, or choose another port; \
             port 0 picks a free port"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; listen on an address or a name of this machine; `*` is all of them"
        }
        _ => "",
    }
}

/// The first word of an endpoint.
fn protocol(endpoint: &str) -> &str {
    endpoint.split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encrypted_endpoint_of_a_build_without_encryption_names_the_feature() {
        for endpoint in ["ssl -h a -p 1", "wss -h a -p 1"] {
            let why = why_unsupported(endpoint, false);
            assert!(why.contains("cargo feature `tls`"), "{why}");
        }
        for (endpoint, has_tls) in [("opaque -t 99", false), ("ssl -h a -p 1", true)] {
            let why = why_unsupported(endpoint, has_tls);
            assert_eq!(why, "expected a transport that this build has");
        }
    }

    #[test]
    fn an_address_in_use_comes_with_advice() {
        let text = |endpoint: &str, kind: io::ErrorKind| {
            let endpoint = endpoint.to_owned();
            let source = Arc::new(io::Error::from(kind));
            AdapterError::Listen { endpoint, source }.to_string()
        };
        let port = text("tcp -h a -p 1 -t 60000", io::ErrorKind::AddrInUse);
        assert_eq!(
            port,
            "cannot listen on \"tcp -h a -p 1\": address in use; another program listens there, perhaps an earlier run \
             of this one: end it, or choose another port; port 0 picks a free port"
        );
        let path = text("unix -f /a", io::ErrorKind::AddrInUse);
        assert!(path.ends_with("or choose another path"), "{path}");
        let elsewhere = text("tcp -h a -p 1", io::ErrorKind::AddrNotAvailable);
        assert!(elsewhere.ends_with("`*` is all of them"), "{elsewhere}");
    }
}
