//! TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll};

use floe_wire::reference::{Endpoint, TcpEndpoint};
use socket2::SockRef;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::{Stream, StreamWriter};

/// The host that stands for all interfaces of a machine.
const WILDCARD: &str = "*";

/// Connections that the system may hold for us before we accept them.
const BACKLOG: u32 = 1024;

/// Connects to an endpoint: to each address of its host in turn, until one answers. Each may take
/// an equal share of the time that is left.
pub(crate) async fn connect(endpoint: &TcpEndpoint, deadline: Instant) -> io::Result<Stream> {
    let addresses = lookup_host((host_or_loopback(endpoint), endpoint.port)).await?;
    let addresses: Vec<_> = addresses.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for (at, address) in addresses.iter().enumerate() {
        let share = (deadline - Instant::now()) / (addresses.len() - at) as u32;
        match timeout(share, connect_address(*address, endpoint.source_address)).await {
            Ok(Ok(stream)) => return into_stream(stream, *address),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// A listening socket and the endpoints under which others reach it.
pub(crate) struct Listener {
    listener: TcpListener,
    /// One, or one for each interface if the host is a wildcard.
    pub(crate) published: Vec<Endpoint>,
}

impl Listener {
    /// Starts to listen; port 0 picks a free one.
    pub(crate) async fn bind(endpoint: &TcpEndpoint) -> io::Result<Self> {
        let address = match host_or_loopback(endpoint) {
            WILDCARD => SocketAddr::from((Ipv4Addr::UNSPECIFIED, endpoint.port)),
            host => lookup_host((host, endpoint.port))
                .await?
                .next()
                .ok_or_else(|| {
                    io::Error::new(io::ErrorKind::NotFound, "the host has no address")
                })?,
        };
        let listener = listen(address)?;
        let port = listener.local_addr()?.port();
        let published = published_hosts(endpoint, address.ip())?
            .into_iter()
            .map(|host| {
                Endpoint::Tcp(TcpEndpoint {
                    host,
                    port,
                    ..endpoint.clone()
                })
            })
            .collect();
        Ok(Self {
            listener,
            published,
        })
    }

    /// Waits for the next connection.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        let (stream, peer) = self.listener.accept().await?;
        into_stream(stream, peer)
    }
}

struct Writer(OwnedWriteHalf);

impl StreamWriter for Writer {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_ref().poll_write_ready(context)
    }

    fn shutdown(&self) {
        // It fails only if the stream has ended already.
        let _ = SockRef::from(self.0.as_ref()).shutdown(std::net::Shutdown::Both);
    }
}

fn into_stream(stream: TcpStream, peer: SocketAddr) -> io::Result<Stream> {
    // A message is written whole; waiting for more would only delay it.
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok(Stream {
        reader: Box::new(reader),
        writer: Box::new(Writer(writer)),
        peer: peer.to_string(),
    })
}

async fn connect_address(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = new_socket(address)?;
    if let Some(source) = source {
        socket.bind(SocketAddr::new(source, 0))?;
    }
    socket.connect(address).await
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = new_socket(address)?;
    // A server that restarts must get its port back while old connections linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn new_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }
}

/// Nothing listens beyond loopback unless the endpoint says so.
fn host_or_loopback(endpoint: &TcpEndpoint) -> &str {
    if endpoint.host.is_empty() {
        "127.0.0.1"
    } else {
        &endpoint.host
    }
}

/// The hosts to put into proxies: as written, or the address of each interface for a wildcard.
fn published_hosts(endpoint: &TcpEndpoint, bound: IpAddr) -> io::Result<Vec<String>> {
    if !bound.is_unspecified() {
        return Ok(vec![host_or_loopback(endpoint).to_owned()]);
    }
    let interfaces = if_addrs::get_if_addrs()?;
    let all = interfaces
        .iter()
        .map(|interface| (interface.is_loopback(), interface.ip()));
    let usable: Vec<_> = all
        .filter(|(_, ip)| ip.is_ipv4() || bound.is_ipv6())
        .collect();
    let is_alone = usable.iter().all(|(is_loopback, _)| *is_loopback);
    Ok(usable
        .into_iter()
        .filter(|(is_loopback, ip)| (is_alone || !is_loopback) && !is_link_local(ip))
        .map(|(_, ip)| ip.to_string())
        .collect())
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}
