//! Transports: how the bytes of a connection travel. A file per transport.
//!
//! A transport gives a connected stream as two halves. The reading half is a plain
//! [`AsyncRead`]; the writing half is a [`StreamWriter`], because any task may write to it. A
//! transport may be a layer: it takes a connected stream and gives another one.
//!
//! - `tcp.rs`, `unix.rs`: sockets; `udp.rs`: one that poses as a stream
//! - `plain.rs`, `unix_wait.rs`: what tcp and unix are without the runtime
//! - `tls/`, `ws.rs`: layers over another stream
//! - `multicast.rs`: groups, for `udp.rs`
//! - `connection_info.rs`: what a transport tells of a connection
//! - `address.rs`: what hosts and wildcards stand for
//!
//! To add one: a file, a line in [`connect`], [`listen`] and [`can_connect`]. `tests.rs` has what
//! every transport promises.

mod address;
mod connection_info;
mod multicast;
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

pub use connection_info::ConnectionInfo;

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

    /// The same for bytes that stand in several places, none of which is empty. A layer takes them one
    /// after another.
    fn try_write_vectored(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        slices.first().map_or(Ok(0), |first| self.try_write(first))
    }

    /// Waits until `try_write` may succeed again.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Ends the stream in both directions; the reading half then finds its end.
    fn shutdown(&self);

    /// The same because the peer broke the protocol in what the stream carries: a layer may tell it so.
    fn refuse(&self, _error: &ProtocolError) {
        self.shutdown();
    }

    /// Whether what it carries are datagrams, which are never answered.
    fn is_datagram(&self) -> bool {
        false
    }

    /// Where the datagram came from that was read last.
    fn sender(&self) -> Option<SocketAddr> {
        None
    }

    /// Fills in what it knows of the connection: addresses, and what a layer knows of its peer.
    fn describe(&self, _info: &mut ConnectionInfo) {}

    /// The socket, if what is sent and received on it is the stream and nothing else.
    #[cfg(unix)]
    fn plain_socket(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Lets go of a plain socket, without ending the stream.
    #[cfg(unix)]
    fn detach(self: Box<Self>) {}
}

#[cfg(unix)]
impl Stream {
    /// The same stream as a socket that any thread may use directly; as it was, if its transport
    /// has none, or the system gives none.
    pub(crate) fn into_plain(self) -> Result<plain::PlainSocket, Self> {
        let duplicate = |socket: std::os::fd::BorrowedFd<'_>| socket.try_clone_to_owned().ok();
        let Some(socket) = self.writer.plain_socket().and_then(duplicate) else {
            return Err(self);
        };
        let Ok(socket) = plain::PlainSocket::new(socket) else {
            return Err(self);
        };
        self.writer.detach();
        Ok(socket)
    }
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
}

/// What a communicator's transports have in common.
pub(crate) struct Setup {
    /// Longest message that a peer may send, in bytes.
    pub(crate) message_size_max: usize,
    /// Counts datagrams that were no request.
    pub(crate) datagrams_ignored: Arc<AtomicU64>,
    /// What the system keeps for a socket of datagrams, in bytes.
    pub(crate) udp_receive_buffer: Option<usize>,
    pub(crate) udp_send_buffer: Option<usize>,
    /// Mode of the files of `unix` sockets.
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

    /// Finds out before anybody listens whether there is what a server needs.
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

/// Something of a transport that takes a while.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Connects to an endpoint. What is not done at the deadline may be given up earlier, never later.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if no transport of this build can; what the system says.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    setup: &Setup,
    deadline: Instant,
) -> io::Result<Stream> {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp::connect(tcp, deadline).await,
        Endpoint::Ssl(tcp) => setup.encrypt(tcp::connect(tcp, deadline).await?, tcp).await,
        Endpoint::Ws(ws) => ws::client(tcp::connect(&ws.tcp, deadline).await?, ws).await,
        Endpoint::Wss(ws) => {
            let stream = tcp::connect(&ws.tcp, deadline).await?;
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
        Endpoint::Tcp(tcp) => tcp::listen(tcp, Endpoint::Tcp).await,
        Endpoint::Ssl(tcp) => {
            setup.check_server()?;
            Ok(setup.encrypted(tcp::listen(tcp, Endpoint::Ssl).await?))
        }
        Endpoint::Ws(ws) => {
            let listening = tcp::listen(&ws.tcp, |tcp| Endpoint::Ws(with_tcp(ws, tcp))).await?;
            Ok(listening.layered(setup.websocket()))
        }
        Endpoint::Wss(ws) => {
            setup.check_server()?;
            let listening = tcp::listen(&ws.tcp, |tcp| Endpoint::Wss(with_tcp(ws, tcp))).await?;
            let encrypted = setup.encrypted(listening);
            Ok(encrypted.layered(setup.websocket()))
        }
        Endpoint::Udp(udp) => udp::listen(udp, setup).await,
        #[cfg(unix)]
        Endpoint::Unix(unix) => unix::listen(unix, setup.unix_socket_mode).await,
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The endpoints that [`connect`] can reach, in words.
pub(crate) const ENDPOINTS: &str = match cfg!(feature = "tls") {
    true => "tcp, ssl, ws, wss, or a unix endpoint of this host",
    false => {
        "tcp, ws, or a unix endpoint of this host (this build has no ssl and wss: build it with the cargo feature `tls`)"
    }
};

/// The encrypted ones among them.
pub(crate) const SECURE_ENDPOINTS: &str = match cfg!(feature = "tls") {
    true => "an ssl or wss endpoint, for it says `-s`",
    false => {
        "an ssl or wss endpoint, for it says `-s`, and a build that has these: build it with the cargo feature `tls`"
    }
};

/// Whether [`connect`] can reach the endpoint from this host at all.
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

/// The code of the guide compiles.
#[cfg(all(doctest, feature = "tls"))]
#[doc = include_str!("../../../../docs/guides/transports.md")]
struct Guide;
