//! Failures of an invocation on this side of the wire.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use floe_wire::encoding::{DecodeError, EncodeError};
use floe_wire::message::ProtocolError;
use floe_wire::reference::Readable;

use super::InvokeError;

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
        /// The kind of endpoint that was needed.
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

/// Returns true if the text of an endpoint has the port that means none.
fn has_port_0(endpoint: &str) -> bool {
    let mut words = endpoint.split(' ');
    words.any(|word| word == "-p") && words.next() == Some("0")
}

#[cfg(test)]
mod tests {
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
}
