//! A connection that ends when its peer does not take what is written, and that can be watched for its peer's end.

use std::future::{Future, pending};
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A TCP connection whose writes fail when nothing of them was taken for a while.
#[derive(Debug)]
pub(super) struct Stream {
    tcp: Arc<TcpStream>,
    patience: Duration,
    /// Set while a write waits.
    late: Option<Pin<Box<Sleep>>>,
}

/// Sees the end of a peer while its request is being answered: hyper looks for it only between requests that keep the
/// connection.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    tcp: Arc<TcpStream>,
}

impl Watch {
    /// Waits until the peer sends nothing more. If it has sent more already, nothing can be said, and this never ends.
    pub(super) async fn gone(&self) {
        match self.tcp.peek(&mut [0]).await {
            Ok(0) | Err(_) => {}
            Ok(_) => pending().await,
        }
    }

    /// True if the peer sends nothing more, as the system knows it now.
    pub(super) fn is_gone(&self) -> bool {
        let peeked = SockRef::from(&*self.tcp).peek(&mut [MaybeUninit::uninit()]);
        match peeked {
            Ok(len) => len == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, patience: Duration) -> Self {
        Self {
            tcp: Arc::new(tcp),
            patience,
            late: None,
        }
    }

    pub(super) fn watch(&self) -> Watch {
        Watch {
            tcp: self.tcp.clone(),
        }
    }

    /// Fails if what waits has waited too long.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.late = None;
            return written;
        }
        let patience = self.patience;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(patience)));
        match late.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }

    fn write(&self, bytes: &[u8], context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(context))?;
            match self.tcp.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(context))?;
            match self.tcp.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    buffer.advance(read?);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.write(bytes, context);
        self.bounded(written, context)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.tcp).shutdown(Shutdown::Write))
    }
}
