//! Transports: how the bytes of a connection travel. Each transport has a file.
//!
//! A transport gives a connected stream as two halves. The reading half is a plain [`AsyncRead`]; the writing half is a
//! [`StreamWriter`], because any task may write to it. A transport may be a layer: it takes a connected stream and
//! gives another one.
//!
//! - `tcp.rs`, `unix.rs`: sockets; `udp.rs`: a datagram socket that acts as a stream
//! - `plain.rs`, `unix_wait.rs`: tcp and unix sockets used without the runtime
//! - `tls/`, `ws.rs`: layers over another stream
//! - `multicast.rs`: multicast groups, for `udp.rs`
//! - `connection_info.rs`: the description of a connection
//! - `overhead.rs`: when input without payload gives way, for the layers
//! - `address.rs`: addresses of hosts and wildcards
//! - `place.rs`: where an adapter listens
//!
//! To add a transport, add a file, and a line in [`connect`], [`listen`] and [`can_connect`]. `tests.rs` tests the
//! promises of every transport.

mod address;
mod connection_info;
mod multicast;
mod overhead;
mod place;
#[cfg(unix)]
pub(crate) mod plain;
mod tcp;
pub(crate) mod tls;
pub(crate) mod udp;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod unix_wait;
mod ws;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};

use floe_wire::message::ProtocolError;
use floe_wire::reference::{Endpoint, TcpEndpoint, WsEndpoint};
use tokio::io::AsyncRead;
use tokio::time::Instant;

pub(crate) use address::resolve;
pub use connection_info::ConnectionInfo;
pub(crate) use place::ListeningPlace;
pub(crate) use tcp::BufferSizes;

/// A connected stream.
pub(crate) struct Stream {
    /// The reading half. Dropping both halves closes the stream.
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    /// The writing half.
    pub(crate) writer: Box<dyn StreamWriter>,
    /// The peer, for logs and errors: `127.0.0.1:4061`.
    pub(crate) peer: String,
}

/// The writing half of a connected stream.
///
/// The transport promises that `try_write` never blocks, that bytes arrive in order, that bytes counted as written
/// leave without a further call, and that it holds back no more than a few tens of kilobytes. The caller promises that
/// one task at a time writes, and that after [`io::ErrorKind::WouldBlock`] the next call begins with the same bytes,
/// because a layer may already have transformed them.
pub(crate) trait StreamWriter: Send + Sync + 'static {
    /// Writes some bytes, or fails with [`io::ErrorKind::WouldBlock`].
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes some bytes from several slices, none of which is empty. A layer takes one slice after another.
    fn try_write_vectored(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        slices.first().map_or(Ok(0), |first| self.try_write(first))
    }

    /// Waits until `try_write` may succeed again.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream in both directions; the reading half then finds its end.
    fn shutdown(&self);

    /// Ends the stream because the peer broke the protocol that the stream carries. A layer may report the reason to
    /// the peer.
    fn refuse(&self, _error: &ProtocolError) {
        self.shutdown();
    }

    /// Returns true if the stream carries datagrams, which are never answered.
    fn is_datagram(&self) -> bool {
        false
    }

    /// Returns true if the stream is encrypted.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// Returns the sender of the datagram that was read last.
    fn sender(&self) -> Option<SocketAddr> {
        None
    }

    /// Fills in what the transport knows of the connection: addresses and, in a layer, properties of the peer.
    fn describe(&self, _info: &mut ConnectionInfo) {}

    /// Returns the socket, if the bytes of the stream are sent and received on it unchanged.
    #[cfg(unix)]
    fn plain_socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Releases a plain socket without ending the stream.
    #[cfg(unix)]
    fn detach(self: Box<Self>) {}
}

#[cfg(unix)]
impl Stream {
    /// Converts the stream into a socket that any thread may use directly. Returns the stream unchanged if its
    /// transport has no such socket, or the system refuses one.
    pub(crate) fn into_plain(self) -> Result<plain::PlainSocket, Self> {
        let duplicate = |socket: std::os::fd::BorrowedFd<'_>| socket.try_clone_to_owned().ok();
        let Some(socket) = self.writer.plain_socket().and_then(duplicate) else {
            return Err(self);
        };
        let mut info = ConnectionInfo::default();
        self.writer.describe(&mut info);
        let Ok(socket) = plain::PlainSocket::new(socket, &info) else {
            return Err(self);
        };
        self.writer.detach();
        Ok(socket)
    }
}

/// A socket that listens. Dropping it frees its address.
pub(crate) trait Listener: Send + Sync + 'static {
    /// Waits for the next connection. It may be cancelled without losing a connection.
    fn accept(&self) -> Pending<'_, Accepted>;

    /// Where it listens; `None` if the system does not say.
    fn place(&self) -> Option<ListeningPlace>;
}

/// A connection that was accepted.
pub(crate) enum Accepted {
    /// It can be used immediately.
    Ready(Stream),
    /// It can be used when this future is done, which takes as long as the peer likes.
    Opening {
        /// The peer, for logs and errors.
        peer: String,
        /// Opens the connection. Dropping it drops the connection.
        opening: Pending<'static, Stream>,
    },
}

/// The listening sockets of an adapter for one endpoint.
pub(crate) struct Listening {
    /// One listener for each address of the endpoint's host.
    pub(crate) listeners: Vec<Box<dyn Listener>>,
    /// The published endpoints: one, or one for each interface.
    pub(crate) published: Vec<Endpoint>,
}

impl Listening {
    /// Puts a layer over every connection that is accepted.
    fn layered(
        self,
        open: impl Fn(Stream) -> Pending<'static, Stream> + Send + Sync + 'static,
    ) -> Self {
        let open: Arc<Open> = Arc::new(open);
        let layered = self.listeners.into_iter().map(|below| {
            let open = open.clone();
            Box::new(Layered { below, open }) as Box<dyn Listener>
        });
        Self {
            listeners: layered.collect(),
            published: self.published,
        }
    }
}

/// Opens a layer over an accepted stream.
type Open = dyn Fn(Stream) -> Pending<'static, Stream> + Send + Sync;

/// A listener whose connections need a layer before they can be used.
struct Layered {
    below: Box<dyn Listener>,
    open: Arc<Open>,
}

impl Listener for Layered {
    fn accept(&self) -> Pending<'_, Accepted> {
        Box::pin(async move {
            let open = self.open.clone();
            Ok(match self.below.accept().await? {
                Accepted::Ready(stream) => Accepted::Opening {
                    peer: stream.peer.clone(),
                    opening: open(stream),
                },
                Accepted::Opening { peer, opening } => Accepted::Opening {
                    peer,
                    opening: Box::pin(async move { open(opening.await?).await }),
                },
            })
        })
    }

    fn place(&self) -> Option<ListeningPlace> {
        self.below.place()
    }
}

/// The settings that all transports of a communicator share.
pub(crate) struct Setup {
    /// Longest message that a peer may send, in bytes.
    pub(crate) message_size_max: usize,
    /// Counts datagrams that were no request.
    pub(crate) datagrams_ignored: Arc<AtomicU64>,
    /// Receive buffer of a datagram socket in the system, in bytes.
    pub(crate) udp_receive_buffer: Option<usize>,
    pub(crate) udp_send_buffer: Option<usize>,
    /// Buffers of a TCP socket in the system.
    pub(crate) tcp_buffers: BufferSizes,
    /// File mode of `unix` sockets.
    pub(crate) unix_socket_mode: Option<u32>,
    /// Certificates and trust.
    pub(crate) tls: Option<tls::Tls>,
    /// The web pages that may open a WebSocket.
    pub(crate) websocket_origins: Arc<[String]>,
}

impl Setup {
    async fn encrypt(&self, stream: Stream, endpoint: &TcpEndpoint) -> io::Result<Stream> {
        let host = address::or_loopback(&endpoint.host);
        tls::client(stream, host, self.tls.as_ref()).await
    }

    /// Checks, before the adapter listens, that a server has all that it needs.
    fn check_server(&self) -> io::Result<()> {
        tls::check_server(self.tls.as_ref())
    }

    /// Opens the WebSocket of a client.
    fn websocket(&self) -> impl Fn(Stream) -> Pending<'static, Stream> + Send + Sync + 'static {
        let origins = self.websocket_origins.clone();
        move |stream| {
            let origins = origins.clone();
            Box::pin(async move { ws::server(stream, &origins).await })
        }
    }

    fn encrypted(&self, listening: Listening) -> Listening {
        let tls = self.tls.clone();
        listening.layered(move |stream| Box::pin(tls::server(stream, tls.clone())))
    }
}

fn with_tcp(ws: &WsEndpoint, tcp: TcpEndpoint) -> WsEndpoint {
    WsEndpoint {
        tcp,
        resource: ws.resource.clone(),
    }
}

/// A future of a transport.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Connects to an endpoint. At the deadline the attempt may be given up; it may also be given up earlier.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if no transport of this build can connect; otherwise the error of the system.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    setup: &Setup,
    deadline: Instant,
) -> io::Result<Stream> {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp::connect(tcp, setup.tcp_buffers, deadline).await,
        Endpoint::Ssl(tcp) => {
            setup
                .encrypt(tcp::connect(tcp, setup.tcp_buffers, deadline).await?, tcp)
                .await
        }
        Endpoint::Ws(ws) => {
            ws::client(
                tcp::connect(&ws.tcp, setup.tcp_buffers, deadline).await?,
                ws,
            )
            .await
        }
        Endpoint::Wss(ws) => {
            let stream = tcp::connect(&ws.tcp, setup.tcp_buffers, deadline).await?;
            ws::client(setup.encrypt(stream, &ws.tcp).await?, ws).await
        }
        Endpoint::Udp(udp) => udp::connect(udp, setup).await,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::connect(unix).await,
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Listens on an endpoint; port 0 picks a free one.
///
/// # Errors
/// As [`connect`].
pub(crate) async fn listen(endpoint: &Endpoint, setup: &Setup) -> io::Result<Listening> {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp::listen(tcp, setup.tcp_buffers, Endpoint::Tcp).await,
        Endpoint::Ssl(tcp) => {
            setup.check_server()?;
            Ok(setup.encrypted(tcp::listen(tcp, setup.tcp_buffers, Endpoint::Ssl).await?))
        }
        Endpoint::Ws(ws) => {
            let listening = tcp::listen(&ws.tcp, setup.tcp_buffers, |tcp| {
                Endpoint::Ws(with_tcp(ws, tcp))
            })
            .await?;
            Ok(listening.layered(setup.websocket()))
        }
        Endpoint::Wss(ws) => {
            setup.check_server()?;
            let listening = tcp::listen(&ws.tcp, setup.tcp_buffers, |tcp| {
                Endpoint::Wss(with_tcp(ws, tcp))
            })
            .await?;
            let encrypted = setup.encrypted(listening);
            Ok(encrypted.layered(setup.websocket()))
        }
        Endpoint::Udp(udp) => udp::listen(udp, setup).await,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::listen(unix, setup.unix_socket_mode).await,
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns true if an endpoint listens at all addresses of the machine.
pub(crate) fn is_wildcard(endpoint: &Endpoint) -> bool {
    endpoint.host().is_some_and(address::is_wildcard)
}

/// The endpoints that [`connect`] can reach, for error messages.
pub(crate) const ENDPOINTS: &str = match cfg!(feature = "tls") {
    true => "tcp, ssl, ws, wss, or a unix endpoint of this host",
    false => {
        "tcp, ws, or a unix endpoint of this host (this build has no ssl and wss: build it with the cargo feature `tls`)"
    }
};

/// The encrypted endpoints among them.
pub(crate) const SECURE_ENDPOINTS: &str = match cfg!(feature = "tls") {
    true => "an ssl or wss endpoint, because it says `-s`",
    false => {
        "an ssl or wss endpoint, because it says `-s`, and a build that has these: build it with the cargo feature `tls`"
    }
};

/// Returns true if [`connect`] can reach the endpoint from this host at all.
pub(crate) fn can_connect(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp(_) | Endpoint::Ws(_) | Endpoint::Udp(_) => true,
        Endpoint::Ssl(_) | Endpoint::Wss(_) => cfg!(feature = "tls"),
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::is_here(unix),
        _ => false,
    }
}

#[cfg(all(test, unix, feature = "tls"))]
mod tests;
