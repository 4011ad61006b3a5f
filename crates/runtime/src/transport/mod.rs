//! Transports: how the bytes of a connection travel. A file per transport.
//!
//! A transport gives a connected stream as two halves. The reading half is a plain
//! [`AsyncRead`]; the writing half is a [`StreamWriter`], because any task may write to it.

pub(crate) mod tcp;

use std::io;
use std::task::{Context, Poll};

use tokio::io::AsyncRead;

/// The writing half of a connected stream.
///
/// The transport promises that `try_write` never blocks and that bytes arrive in order. The caller
/// promises that one task at a time writes.
pub(crate) trait StreamWriter: Send + Sync + 'static {
    /// Writes some bytes, or fails with [`io::ErrorKind::WouldBlock`].
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Waits until `try_write` may succeed again.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream in both directions; the reading half then finds its end.
    fn shutdown(&self);
}

/// A connected stream.
pub(crate) struct Stream {
    /// Where bytes come from. Dropping both halves closes the stream.
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Where they go.
    pub(crate) writer: Box<dyn StreamWriter>,
    /// The peer, for messages to people: `127.0.0.1:4061`.
    pub(crate) peer: String,
}
