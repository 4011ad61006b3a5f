//! Invocation errors, sorted by whether the operation may have been executed.
//!
//! - `attempt.rs`: the failure of one attempt to send a request
//! - `operation_error.rs`: the errors of an operation, user exceptions included
//! - `registration.rs`: why a locator did not take the registration of an adapter

mod attempt;
mod operation_error;
mod registration;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::encoding::{DecodeError, EncodeError};
use floe_wire::message::{ProtocolError, SystemException};
use floe_wire::reference::{ParseReferenceError, Readable};

pub(crate) use attempt::{AttemptError, attempt_end};
pub use operation_error::OperationError;
pub use registration::RegistrationError;

/// Why an invocation returned no result.
///
/// User exceptions are separate: each operation that declares some has an error enum of its own, with this type as one
/// of its variants.
#[derive(Clone)]
#[non_exhaustive]
pub enum InvokeError {
    /// The peer's runtime answered instead of the servant.
    System(SystemException),
    /// The servant threw an exception that the caller's contract does not declare.
    UndeclaredException {
        /// Its type id.
        type_id: String,
    },
    /// A reply arrived that does not match the contract. Do both sides have the same contract?
    BadReply(DecodeError),
    /// The invocation failed on this side, and the operation was surely not executed.
    NotDispatched(LocalError),
    /// The invocation failed on this side, after the request may have reached the servant.
    PerhapsDispatched(LocalError),
}

impl InvokeError {
    /// Whether the operation was surely not executed, so that it is always safe to try again.
    pub fn is_surely_not_dispatched(&self) -> bool {
        matches!(
            self,
            Self::NotDispatched(_)
                | Self::System(
                    SystemException::ObjectNotExist(_)
                        | SystemException::FacetNotExist(_)
                        | SystemException::OperationNotExist(_)
                )
        )
    }

    /// Whether the invocation ended because of a timeout.
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::NotDispatched(LocalError::Timeout { .. } | LocalError::ConnectTimeout { .. })
                | Self::PerhapsDispatched(LocalError::Timeout { .. })
        )
    }
}

impl fmt::Display for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(exception) => exception.fmt(f),
            Self::UndeclaredException { type_id } => write!(
                f,
                "the servant threw {type_id}, which the operation does not declare: \
                 compile both sides from the same contract"
            ),
            Self::BadReply(error) => write!(
                f,
                "the reply does not match the contract: {error}: \
                 compile both sides from the same contract"
            ),
            Self::NotDispatched(LocalError::Timeout { operation, after }) => write!(
                f,
                "operation \"{operation}\" was not sent within {after:?}: no connection was ready"
            ),
            Self::NotDispatched(error) => error.fmt(f),
            Self::PerhapsDispatched(error) => {
                write!(f, "{error}; the operation may have been executed")
            }
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The source is the cause: the error of the system, of decoding, or of another invocation.
impl std::error::Error for InvokeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadReply(error) => Some(error),
            Self::NotDispatched(error) | Self::PerhapsDispatched(error) => error.source(),
            Self::System(_) | Self::UndeclaredException { .. } => None,
        }
    }
}

impl From<SystemException> for InvokeError {
    fn from(exception: SystemException) -> Self {
        Self::System(exception)
    }
}

impl From<EncodeError> for InvokeError {
    fn from(error: EncodeError) -> Self {
        Self::NotDispatched(error.into())
    }
}

/// The caller of a servant sees a failure of the servant's own invocation as an unknown failure, except an exception that
/// another server has reported.
impl From<InvokeError> for SystemException {
    fn from(error: InvokeError) -> Self {
        match error {
            InvokeError::System(exception) => exception,
            InvokeError::UndeclaredException { type_id } => Self::UnknownUserException(type_id),
            other => Self::UnknownLocalException(other.to_string()),
        }
    }
}

/// A failure on this side of the wire.
#[derive(Clone)]
#[non_exhaustive]
pub enum LocalError {
    /// No connection could be made to any endpoint of the proxy.
    Connect {
        /// The endpoint tried last.
        endpoint: String,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// No connection was established in time.
    ConnectTimeout {
        /// The endpoint.
        endpoint: String,
        /// The limit.
        after: Duration,
    },
    /// The connection was lost.
    ConnectionLost {
        /// The endpoint or address of the peer.
        peer: String,
        /// The error of the system.
        reason: String,
    },
    /// The peer closed the connection gracefully before it accepted the request.
    ClosedByPeer {
        /// The endpoint or address of the peer.
        peer: String,
    },
    /// The peer violated the protocol.
    Protocol {
        /// The endpoint or address of the peer.
        peer: String,
        /// The violation.
        error: ProtocolError,
    },
    /// No reply arrived in time.
    Timeout {
        /// The operation.
        operation: String,
        /// The limit.
        after: Duration,
    },
    /// A parameter cannot be encoded.
    Encode(EncodeError),
    /// The proxy has no endpoint that this program can use in the proxy's invocation mode.
    NoEndpoint {
        /// The proxy.
        proxy: String,
        /// What kind of endpoint was needed.
        wanted: &'static str,
    },
    /// The locator does not know where the object or the adapter of a proxy is.
    NotRegistered {
        /// The proxy.
        proxy: String,
        /// The object or adapter that the locator was asked for, with its name.
        what: String,
        /// The proxy of the locator.
        locator: String,
    },
    /// The locator did not answer where the object of a proxy is.
    Locator {
        /// The proxy.
        proxy: String,
        /// The proxy of the locator.
        locator: String,
        /// Why it did not answer.
        source: Box<InvokeError>,
    },
    /// The object of a proxy could not be registered with its router.
    Router {
        /// The proxy.
        proxy: String,
        /// The router.
        router: String,
        /// Why.
        source: Box<InvokeError>,
    },
    /// The proxy belongs to no communicator, because it was decoded outside of one.
    Unbound,
    /// The operation returns data, but the proxy is not twoway.
    NotTwoway {
        /// The operation.
        operation: String,
    },
    /// This side is closing the connection.
    Closing {
        /// The endpoint or address of the peer.
        peer: String,
    },
    /// The application aborted the connection.
    ClosedHere {
        /// The endpoint or address of the peer.
        peer: String,
    },
    /// A blocking servant waits for a reply over the connection that its own thread reads. No thread would read the
    /// reply.
    OwnReader {
        /// The endpoint or address of the peer.
        peer: String,
    },
    /// Encoded parameters that the caller passed are not an encapsulation.
    Parameters(DecodeError),
    /// Requests that a batch had collected could not be sent.
    BatchLost {
        /// How many.
        count: usize,
        /// Why.
        source: Box<LocalError>,
    },
    /// A request is too long for a datagram.
    DatagramTooLong {
        /// Length of its message in bytes.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The communicator is shut down.
    Shutdown,
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { endpoint, source } => {
                write!(f, "cannot connect to \"{}\": {source}", Readable(endpoint))?;
                match has_port_0(endpoint) {
                    true => f.write_str("; port 0 stands for no port: add -p PORT"),
                    false => Ok(()),
                }
            }
            Self::ConnectTimeout { endpoint, after } => write!(
                f,
                "\"{}\" was not ready within {after:?}: expected a connection and the peer's ValidateConnection \
                 message; is it an Ice or Floe server, is its adapter activated, and is its transport the same (one with \
                 ssl waits silently for a client of tcp)?",
                Readable(endpoint)
            ),
            Self::ConnectionLost { peer, reason } => {
                write!(f, "lost the connection to {}: {reason}", Readable(peer))
            }
            Self::ClosedByPeer { peer } => write!(f, "{} closed the connection", Readable(peer)),
            Self::Protocol { peer, error } => write!(f, "{} broke the protocol: {error}", Readable(peer)),
            Self::Timeout { operation, after } => {
                write!(f, "no reply to operation \"{operation}\" within {after:?}")
            }
            Self::Encode(error) => error.fmt(f),
            Self::NoEndpoint { proxy, wanted } => {
                write!(f, "proxy \"{}\" has no usable endpoint: expected {wanted}", Readable(proxy))
            }
            Self::NotRegistered {
                proxy,
                what,
                locator,
            } => write!(
                f,
                "cannot locate \"{}\": {what} is not registered with the locator \"{}\"; does its server run, and \
                 does it register there?",
                Readable(proxy),
                Readable(locator)
            ),
            Self::Locator {
                proxy,
                locator,
                source,
            } => write!(
                f,
                "cannot ask the locator \"{}\" where \"{}\" is: {source}",
                Readable(locator),
                Readable(proxy)
            ),
            Self::Router {
                proxy,
                router,
                source,
            } => write!(
                f,
                "cannot reach \"{}\" through the router \"{}\": {source}; does this client have a session there?",
                Readable(proxy),
                Readable(router)
            ),
            Self::Unbound => f.write_str(
                "the proxy belongs to no communicator: make it with `Communicator::proxy`, or decode it \
                 where one is known",
            ),
            Self::NotTwoway { operation } => write!(
                f,
                "operation \"{operation}\" returns data or throws exceptions: invoke it through a twoway proxy"
            ),
            Self::Closing { peer } => write!(f, "the connection to {} is closing", Readable(peer)),
            Self::ClosedHere { peer } => {
                write!(f, "the application dropped the connection to {}", Readable(peer))
            }
            Self::OwnReader { peer } => write!(
                f,
                "this thread is the one that reads the connection to {peer}, so a reply over it would \
                 never be read: wait on another thread, let an async servant make the call, or call \
                 over a connection of its own (`TypedProxy::ice_connection_id`)"
            ),
            Self::Parameters(error) => {
                write!(f, "expected an encapsulation with its header: {error}")
            }
            Self::BatchLost { count, source } => {
                write!(f, "lost {count} collected requests: {source}")
            }
            Self::DatagramTooLong { len, limit } => write!(
                f,
                "expected a message of at most {limit} bytes for a datagram, got {len}: send less, \
                 or use a oneway proxy"
            ),
            Self::Shutdown => f.write_str("the communicator is shut down"),
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LocalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect { source, .. } => Some(&**source),
            Self::Protocol { error, .. } => Some(error),
            Self::Encode(error) => Some(error),
            Self::Locator { source, .. } => Some(&**source),
            Self::Parameters(error) => Some(error),
            Self::BatchLost { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

impl From<EncodeError> for LocalError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

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
        /// What is wrong with the text.
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

/// Whether the text of an endpoint has the port that means none.
fn has_port_0(endpoint: &str) -> bool {
    let mut words = endpoint.split(' ');
    words.any(|word| word == "-p") && words.next() == Some("0")
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn an_endpoint_without_a_port_is_told_to_need_one() {
        let text = |endpoint: &str| {
            let endpoint = endpoint.to_owned();
            let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
            LocalError::Connect { endpoint, source }.to_string()
        };
        assert_eq!(
            text("tcp -h a -p 0 -t 60000"),
            "cannot connect to \"tcp -h a -p 0\": connection refused; port 0 stands for no port: add -p PORT"
        );
        assert_eq!(
            text("tcp -h a -p 1"),
            "cannot connect to \"tcp -h a -p 1\": connection refused"
        );
    }

    #[test]
    fn an_error_that_ends_main_reads_as_a_sentence_and_gives_its_cause() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = InvokeError::NotDispatched(LocalError::Connect {
            endpoint: "tcp -h localhost -p 1".to_owned(),
            source: Arc::new(refused),
        });
        let expected = "cannot connect to \"tcp -h localhost -p 1\": connection refused";
        assert_eq!(format!("{error:?}"), expected);
        let cause = error
            .source()
            .and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(
            cause.map(io::Error::kind),
            Some(io::ErrorKind::ConnectionRefused)
        );
        let boxed: Box<dyn Error> = AdapterError::Deactivated.into();
        assert_eq!(
            format!("{boxed:?}"),
            "the adapter is deactivated: make another one"
        );
    }
}
