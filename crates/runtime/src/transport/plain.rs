//! A plain socket: a stream whose bytes are sent and received unchanged.
//!
//! Any thread may read and write it directly, with one system call and without the runtime.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, recv, send, sendmsg, shutdown,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::ConnectionInfo;
use super::StreamWriter;
#[cfg(target_os = "linux")]
use super::unix_wait::UnixWait;

/// A connected stream socket in blocking mode.
#[derive(Debug)]
pub(crate) struct PlainSocket {
    socket: OwnedFd,
    /// Waits on a Unix domain socket. Made by the first wait.
    #[cfg(target_os = "linux")]
    unix_wait: Option<OnceLock<UnixWait>>,
    /// True if the system has a limit for waits on this socket. The limit stays set.
    is_limited: AtomicBool,
    transport: &'static str,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
}

impl PlainSocket {
    /// Takes over a socket in blocking or non-blocking mode. `info` describes its connection.
    pub(crate) fn new(socket: OwnedFd, info: &ConnectionInfo) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(Self {
            #[cfg(target_os = "linux")]
            unix_wait: (info.transport == "unix").then(OnceLock::new),
            is_limited: AtomicBool::new(false),
            transport: info.transport,
            local: info.local_address,
            remote: info.remote_address,
            socket,
        })
    }

    /// Waits for bytes and receives some; 0 at the end of the stream.
    pub(crate) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        self.receive_within(room, None)
    }

    /// Waits as [`PlainSocket::receive`] does, but fails with [`io::ErrorKind::WouldBlock`] after the limit. All waits
    /// of a socket share one limit, or have none.
    pub(crate) fn receive_within(
        &self,
        room: &mut [u8],
        limit: Option<Duration>,
    ) -> io::Result<usize> {
        if self.is_limited.load(Ordering::Relaxed) != limit.is_some() {
            set_socket_timeout(&self.socket, Timeout::Recv, limit)?;
            self.is_limited.store(limit.is_some(), Ordering::Relaxed);
        }
        #[cfg(target_os = "linux")]
        if let Some(unix_wait) = self.unix_wait() {
            return unix_wait.receive(self.socket.as_fd(), room, limit);
        }
        receive(self.socket.as_fd(), room, RecvFlags::empty())
    }

    /// Returns the waiter of a Unix domain socket. `None` for other sockets, and if the system refuses one.
    #[cfg(target_os = "linux")]
    fn unix_wait(&self) -> Option<&UnixWait> {
        let unix_wait = self.unix_wait.as_ref()?;
        if let Some(unix_wait) = unix_wait.get() {
            return Some(unix_wait);
        }
        let new = UnixWait::new(self.socket.as_fd()).ok()?;
        Some(unix_wait.get_or_init(|| new))
    }

    /// Receives what is there, or fails with [`io::ErrorKind::WouldBlock`].
    pub(crate) fn try_receive(&self, room: &mut [u8]) -> io::Result<usize> {
        try_receive(self.socket.as_fd(), room)
    }

    /// Waits as [`PlainSocket::receive`] does until the deadline. Then it fails with [`io::ErrorKind::WouldBlock`]; it
    /// may fail earlier.
    pub(crate) fn receive_until(&self, room: &mut [u8], deadline: Instant) -> io::Result<usize> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut ready, Some(&left))?;
        self.try_receive(room)
    }

    /// Registers the socket with the runtime. Each registration has a duplicate of the socket.
    // The newer method is unsafe, for types that do not own their descriptor. This type does.
    #[allow(deprecated)]
    pub(crate) fn watched(&self, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
        AsyncFd::with_interest(self.socket.try_clone()?, interest)
    }

    /// The writing half.
    pub(crate) fn writer(self: &Arc<Self>) -> Box<dyn StreamWriter> {
        Box::new(PlainWriter {
            socket: self.clone(),
            watched: OnceLock::new(),
        })
    }
}

/// Receives what is there, or fails with [`io::ErrorKind::WouldBlock`]. The socket may be in
/// either mode.
pub(crate) fn try_receive(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<usize> {
    receive(socket, room, RecvFlags::DONTWAIT)
}

/// Receives bytes. The socket must be in blocking mode, unless the flags ask not to wait.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
    flags: RecvFlags,
) -> io::Result<usize> {
    let (count, _) = recv(socket, room, flags)?;
    Ok(count)
}

/// Do not wait, and raise no signal if the peer is gone.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
/// Apple has no such flag; the standard library ignores the signal.
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

struct PlainWriter {
    socket: Arc<PlainSocket>,
    /// Made when the transport is full for the first time.
    watched: OnceLock<AsyncFd<OwnedFd>>,
}

impl StreamWriter for PlainWriter {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.socket.socket, bytes, SEND)?)
    }

    fn try_write_vectored(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(sendmsg(&self.socket.socket, slices, &mut control, SEND)?)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let watched = match self.watched.get() {
            Some(watched) => watched,
            None => {
                let new = self.socket.watched(Interest::WRITABLE)?;
                self.watched.get_or_init(|| new)
            }
        };
        loop {
            let mut ready = ready!(watched.poll_write_ready(context))?;
            // Others write, too, and do not clear the readiness when they find the socket full.
            if is_writable(watched.get_ref().as_fd())? {
                return Poll::Ready(Ok(()));
            }
            ready.clear_ready();
        }
    }

    fn shutdown(&self) {
        // This fails only if the stream has already ended.
        let _ = shutdown(&self.socket.socket, Shutdown::Both);
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        info.transport = self.socket.transport;
        info.local_address = self.socket.local;
        info.remote_address = self.socket.remote;
    }
}

fn is_writable(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut ready = [PollFd::new(&socket, PollFlags::OUT)];
    Ok(poll(&mut ready, Some(&Timespec::default()))? > 0)
}
