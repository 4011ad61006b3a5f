//! Transports: how the bytes of a connection travel. A file per transport.
//!
//! A transport gives a connected stream as two halves. The reading half is a plain
//! [`AsyncRead`]; the writing half is a [`StreamWriter`], because any task may write to it. A
//! transport may be a layer: it takes a connected stream and gives another one.
//!
//! - `tcp.rs`, `unix.rs`: sockets
//! - `address.rs`: what hosts and wildcards stand for
//!
//! To add one: a file, a line in [`connect`], [`listen`] and [`can_connect`]. `tests.rs` has what
//! every transport promises.

mod address;
mod tcp;
#[cfg(unix)]
mod unix;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::reference::Endpoint;
use tokio::io::AsyncRead;
use tokio::time::Instant;

/// A connected stream.
pub(crate) struct Stream {
    /// Where bytes come from. Dropping both halves closes the stream.
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Where they go.
    pub(crate) writer: Box<dyn StreamWriter>,
    /// The peer, for messages to people: `127.0.0.1:4061`.
    pub(crate) peer: String,
}

/// The writing half of a connected stream.
///
/// The transport promises that `try_write` never blocks, that bytes arrive in order, that what it
/// counted as written needs no further call to leave, and that it holds no more than a few tens of
/// kilobytes back. The caller promises that one task at a time writes, and that after
/// [`io::ErrorKind::WouldBlock`] the next call begins with the same bytes: a layer may have put
/// them into a form of its own already.
pub(crate) trait StreamWriter: Send + Sync + 'static {
    /// Writes some bytes, or fails with [`io::ErrorKind::WouldBlock`].
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until `try_write` may succeed again.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream in both directions; the reading half then finds its end.
    fn shutdown(&self);
}

/// A socket that listens. Dropping it frees its address.
pub(crate) trait Listener: Send + Sync + 'static {
    /// Waits for the next connection. It may be cancelled, and loses none.
    fn accept(&self) -> Pending<'_, Accepted>;
}

/// A connection that was accepted.
pub(crate) enum Accepted {
    /// It can be used at once.
    Ready(Stream),
    #[allow(dead_code)]
    /// It can be used when this is done, which takes as long as the peer likes.
    Opening {
        /// The peer, for messages to people.
        peer: String,
        /// What opens it. Dropping it drops the connection.
        opening: Pending<'static, Stream>,
    },
}

/// What an adapter listens with for one endpoint.
pub(crate) struct Listening {
    /// One for each address that the endpoint's host stands for.
    pub(crate) listeners: Vec<Box<dyn Listener>>,
    /// The endpoints under which others reach them: one, or one for each interface.
    pub(crate) published: Vec<Endpoint>,
}

/// Something of a transport that takes a while.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Connects to an endpoint. What is not done at the deadline may be given up earlier, never later.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if no transport of this build can; what the system says.
pub(crate) async fn connect(endpoint: &Endpoint, deadline: Instant) -> io::Result<Stream> {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp::connect(tcp, deadline).await,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::connect(unix).await,
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Listens on an endpoint; port 0 picks a free one.
///
/// # Errors
/// As [`connect`].
pub(crate) async fn listen(endpoint: &Endpoint) -> io::Result<Listening> {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp::listen(tcp, Endpoint::Tcp).await,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::listen(unix).await,
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether [`connect`] can reach the endpoint from this host at all.
pub(crate) fn can_connect(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(_) => true,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::is_here(unix),
        _ => false,
    }
}

#[cfg(all(test, unix))]
mod tests;
