//! The transport `tcp`.

use std::io;
use std::net::{IpAddr, SocketAddr};
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

/// Connects to an endpoint. Tries each address of its host in turn until one answers. Each address gets an equal share
/// of the time that is left.
pub(super) async fn connect(endpoint: &TcpEndpoint, deadline: Instant) -> io::Result<Stream> {
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
        match timeout(share, connect_address(*address, endpoint.source_address)).await {
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
    published: impl Fn(TcpEndpoint) -> Endpoint,
) -> io::Result<Listening> {
    let (host, port) = (&endpoint.host, endpoint.port);
    let bound = address::bind_host(host, port, bind_address, TcpListener::local_addr).await?;
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

fn bind_address(address: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
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

async fn connect_address(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = match address.is_ipv4() {
        true => TcpSocket::new_v4(),
        false => TcpSocket::new_v6(),
    }?;
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.connect(address).await
}
