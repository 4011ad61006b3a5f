//! The transport `tcp`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use floe_wire::reference::{Endpoint, TcpEndpoint};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

use super::ConnectionInfo;
use super::{
    Accepted, Listener, Listening, ListeningPlace, Pending, Stream, StreamWriter, address,
};

/// Connections that the system may queue before we accept them.
const BACKLOG: i32 = 1024;

/// Sizes of the buffers of a socket in the system, in bytes; `None` for the system's own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BufferSizes {
    pub(crate) receive: Option<usize>,
    pub(crate) send: Option<usize>,
}

impl BufferSizes {
    /// Sets them on a socket that neither listens nor is connected yet: the window that TCP offers to the peer depends
    /// on the size at that time, and accepted sockets inherit it. If the system gives less, a warning says so.
    ///
    /// Source: tcp(7); Ice manual, "Ice.TCP.RcvSize".
    fn apply(self, socket: &SockRef<'_>) -> io::Result<()> {
        if let Some(size) = self.receive {
            socket.set_recv_buffer_size(size)?;
            let given = socket.recv_buffer_size()?;
            warn_once(&RECEIVE_WARNED, "receive", "rmem", size, given);
        }
        if let Some(size) = self.send {
            socket.set_send_buffer_size(size)?;
            let given = socket.send_buffer_size()?;
            warn_once(&SEND_WARNED, "send", "wmem", size, given);
        }
        Ok(())
    }
}

/// The sizes of which a warning was logged last: one line is enough for all connections.
static RECEIVE_WARNED: AtomicUsize = AtomicUsize::new(0);
static SEND_WARNED: AtomicUsize = AtomicUsize::new(0);

fn warn_once(warned: &AtomicUsize, which: &str, limit: &str, asked: usize, reported: usize) {
    if let Some(given) = clamped(asked, reported)
        && warned.swap(asked, Ordering::Relaxed) != asked
    {
        tracing::warn!(
            "asked for {asked} bytes of TCP {which} buffer, the system gives {given}: its limit is net.core.{limit}_max on Linux"
        );
    }
}

/// The size that a system gives in place of a larger one. Linux reports twice what it gives, for its own bookkeeping.
///
/// Source: socket(7), `SO_RCVBUF`.
fn clamped(asked: usize, reported: usize) -> Option<usize> {
    let given = match cfg!(target_os = "linux") {
        true => reported / 2,
        false => reported,
    };
    (given < asked).then_some(given)
}

/// Connects to an endpoint. Tries each address of its host in turn until one answers. Each address gets an equal share
/// of the time that is left.
pub(super) async fn connect(
    endpoint: &TcpEndpoint,
    buffers: BufferSizes,
    deadline: Instant,
) -> io::Result<Stream> {
    let mut addresses = address::resolve(&endpoint.host, endpoint.port).await?;
    if let Some(source) = endpoint.source_address {
        addresses.retain(|address| address.is_ipv4() == source.is_ipv4());
        if addresses.is_empty() {
            let wanted = "no address of the host is of the same version as the source address";
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, wanted));
        }
    }
    let mut last = io::ErrorKind::TimedOut.into();
    for (at, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / (addresses.len() - at) as u32;
        let connecting = connect_address(*address, endpoint.source_address, buffers);
        match timeout(share, connecting).await {
            Ok(Ok(stream)) => return into_stream(stream, *address),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Listens on every address of the endpoint's host. `published` makes the endpoints of the transport on top.
pub(super) async fn listen(
    endpoint: &TcpEndpoint,
    buffers: BufferSizes,
    published: impl Fn(TcpEndpoint) -> Endpoint,
) -> io::Result<Listening> {
    let (host, port) = (&endpoint.host, endpoint.port);
    let bind = |address, only_v6| bind_address(address, only_v6, buffers);
    let bound = address::bind_host(host, port, bind, TcpListener::local_addr).await?;
    let published = bound.hosts.into_iter().map(|host| {
        published(TcpEndpoint {
            host,
            port: bound.port,
            ..endpoint.clone()
        })
    });
    Ok(Listening {
        published: published.collect(),
        listeners: bound
            .sockets
            .into_iter()
            .map(|listener| Box::new(listener) as Box<dyn Listener>)
            .collect(),
    })
}

fn bind_address(
    address: SocketAddr,
    only_v6: bool,
    buffers: BufferSizes,
) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    // A restarted server must get its port back while old connections linger. On systems other than Unix, the option
    // would let two servers share a port.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    buffers.apply(&SockRef::from(&socket))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

impl Listener for TcpListener {
    fn accept(&self) -> Pending<'_, Accepted> {
        Box::pin(async move {
            let (stream, peer) = Self::accept(self).await?;
            into_stream(stream, peer).map(Accepted::Ready)
        })
    }

    fn place(&self) -> Option<ListeningPlace> {
        Some(ListeningPlace::Port {
            address: self.local_addr().ok()?,
            is_datagram: false,
        })
    }
}

struct TcpWriter {
    stream: OwnedWriteHalf,
    local: Option<SocketAddr>,
    /// As it was when the stream began: after a reset by the peer, the system no longer knows it.
    remote: SocketAddr,
}

impl StreamWriter for TcpWriter {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.try_write(bytes)
    }

    fn try_write_vectored(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.stream.try_write_vectored(slices)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_ref().poll_write_ready(context)
    }

    fn shutdown(&self) {
        // This fails only if the stream has already ended.
        let _ = SockRef::from(self.stream.as_ref()).shutdown(std::net::Shutdown::Both);
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        info.transport = "tcp";
        info.local_address = self.local;
        info.remote_address = Some(self.remote);
    }

    #[cfg(unix)]
    fn plain_socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(std::os::fd::AsFd::as_fd(self.stream.as_ref()))
    }

    #[cfg(unix)]
    fn detach(self: Box<Self>) {
        self.stream.forget();
    }
}

fn into_stream(stream: TcpStream, peer: SocketAddr) -> io::Result<Stream> {
    // A message is written as a whole. Waiting for more bytes would only delay it.
    stream.set_nodelay(true)?;
    let local = stream.local_addr().ok();
    let (reader, writer) = stream.into_split();
    let writer = TcpWriter {
        stream: writer,
        local,
        remote: peer,
    };
    Ok(Stream {
        reader: Box::new(reader),
        writer: Box::new(writer),
        // A socket of both versions reports IPv4 peers in IPv6 form. Convert them back.
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string(),
    })
}

async fn connect_address(
    address: SocketAddr,
    source: Option<IpAddr>,
    buffers: BufferSizes,
) -> io::Result<TcpStream> {
    let socket = match address.is_ipv4() {
        true => TcpSocket::new_v4(),
        false => TcpSocket::new_v6(),
    }?;
    buffers.apply(&SockRef::from(&socket))?;
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.connect(address).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_buffer_than_was_asked_for_is_told_and_a_larger_one_is_not() {
        let reported = |given: usize| match cfg!(target_os = "linux") {
            true => 2 * given,
            false => given,
        };
        assert_eq!(clamped(1 << 20, reported(212_992)), Some(212_992));
        assert_eq!(clamped(1 << 20, reported(1 << 20)), None);
        assert_eq!(clamped(1, reported(2304)), None);
    }
}
