//! The transport `udp`: each datagram carries one message to a receiver or a multicast group, and is never answered.
//!
//! The socket acts as a stream, so that connections know nothing of datagrams. A receiver reads whole messages in the
//! order of arrival; a sender's bytes are cut into messages again. This file handles the parts of the protocol that
//! datagrams do not have: validation, heartbeats and close.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use floe_wire::compression::Decompressor;
use floe_wire::message::{
    CLOSE_CONNECTION, IncomingRequest, Message, MessageType, RequestBatch, VALIDATE_CONNECTION,
};
use floe_wire::reference::{Endpoint, UdpEndpoint};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UdpSocket;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ConnectionInfo;
use super::overhead::give_way;
use super::{
    Accepted, Listener, Listening, ListeningPlace, Pending, Setup, Stream, StreamWriter, address,
    multicast,
};

/// Longest message that a datagram holds, in bytes: what IPv4 leaves of 65,535.
pub(crate) const DATAGRAM_LEN_MAX: usize = 65_507;
/// Invalid datagrams are logged once in this interval.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Makes a socket that sends to an endpoint.
pub(super) async fn connect(endpoint: &UdpEndpoint, setup: &Setup) -> io::Result<Stream> {
    let addresses = address::resolve(&endpoint.host, endpoint.port).await?;
    let mut last = None;
    for address in addresses {
        match sender(endpoint, address) {
            Ok(socket) => {
                set_buffers(&socket, setup)?;
                return Ok(sending(socket, address));
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Makes sockets that receive for an endpoint.
pub(super) async fn listen(endpoint: &UdpEndpoint, setup: &Setup) -> io::Result<Listening> {
    let (host, port) = (&endpoint.host, endpoint.port);
    let bind = |address, only_v6| bind_address(endpoint, address, only_v6);
    let bound = address::bind_host(host, port, bind, UdpSocket::local_addr).await?;
    for socket in &bound.sockets {
        set_buffers(socket, setup)?;
    }
    let published = bound.hosts.into_iter().map(|host| {
        Endpoint::Udp(UdpEndpoint {
            host,
            port: bound.port,
            ..endpoint.clone()
        })
    });
    let listeners = bound.sockets.into_iter().map(|socket| {
        Box::new(BoundSocket {
            socket: Arc::new(socket),
            only_first: endpoint.connect,
            message_len_max: setup.message_size_max.min(DATAGRAM_LEN_MAX),
            ignored: setup.datagrams_ignored.clone(),
            is_free: Arc::new(Semaphore::new(1)),
        }) as Box<dyn Listener>
    });
    Ok(Listening {
        published: published.collect(),
        listeners: listeners.collect(),
    })
}

fn sender(endpoint: &UdpEndpoint, address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = new_socket(address)?;
    if let Some(source) = endpoint.source_address {
        socket.bind(&SocketAddr::new(source, 0).into())?;
    }
    if address.ip().is_multicast() {
        multicast::send_on(&socket, address.ip(), endpoint.interface.as_deref())?;
        if let Some(ttl) = endpoint.ttl {
            match address.is_ipv4() {
                true => socket.set_multicast_ttl_v4(ttl.into())?,
                false => socket.set_multicast_hops_v6(ttl.into())?,
            }
        }
    }
    socket.connect(&address.into())?;
    UdpSocket::from_std(socket.into())
}

fn bind_address(
    endpoint: &UdpEndpoint,
    address: SocketAddr,
    only_v6: bool,
) -> io::Result<UdpSocket> {
    let socket = new_socket(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(only_v6)?;
    }
    if address.ip().is_multicast() {
        // Every receiver of a group on this machine gets its datagrams.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        multicast::join(&socket, address.ip(), endpoint.interface.as_deref())?;
    } else {
        socket.bind(&address.into())?;
    }
    UdpSocket::from_std(socket.into())
}

/// Sets the buffers. The system may grant less than requested, and Linux counts its own overhead, too.
fn set_buffers(socket: &UdpSocket, setup: &Setup) -> io::Result<()> {
    let socket = SockRef::from(socket);
    if let Some(len) = setup.udp_receive_buffer {
        socket.set_recv_buffer_size(len)?;
    }
    if let Some(len) = setup.udp_send_buffer {
        socket.set_send_buffer_size(len)?;
    }
    Ok(())
}

fn new_socket(address: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A receiving socket. It acts as one connection at a time; if that fails, it acts as another one.
struct BoundSocket {
    socket: Arc<UdpSocket>,
    only_first: bool,
    message_len_max: usize,
    ignored: Arc<AtomicU64>,
    is_free: Arc<Semaphore>,
}

impl Listener for BoundSocket {
    fn accept(&self) -> Pending<'_, Accepted> {
        Box::pin(async move {
            let Ok(permit) = self.is_free.clone().acquire_owned().await else {
                // The connection of the socket is never closed.
                return pending().await;
            };
            let end = Arc::new(SocketEnd::default());
            let sender = Arc::new(Mutex::new(None));
            let local = self.socket.local_addr()?;
            Ok(Accepted::Ready(Stream {
                reader: Box::new(DatagramReceiver {
                    socket: self.socket.clone(),
                    end: end.clone(),
                    sender: sender.clone(),
                    only_first: self.only_first,
                    message_len_max: self.message_len_max,
                    buffer: vec![0; DATAGRAM_LEN_MAX + 1].into(),
                    message: Bytes::new(),
                    ignored: Ignored {
                        count: self.ignored.clone(),
                        logged: None,
                    },
                    _permit: permit,
                }),
                writer: Box::new(DiscardingWriter { end, sender, local }),
                peer: format!("datagrams to {local}"),
            }))
        })
    }

    fn place(&self) -> Option<ListeningPlace> {
        Some(ListeningPlace::Port {
            address: self.socket.local_addr().ok()?,
            is_datagram: true,
        })
    }
}

/// Signals the end of the stream to the reader.
#[derive(Default)]
struct SocketEnd {
    has_ended: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl SocketEnd {
    fn signal(&self) {
        self.has_ended.store(true, Ordering::Release);
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns true if the end has come. Otherwise the task is woken when it comes.
    fn poll(&self, context: &mut Context<'_>) -> bool {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        self.has_ended.load(Ordering::Acquire)
    }
}

/// Reads the received datagrams, message by message.
struct DatagramReceiver {
    socket: Arc<UdpSocket>,
    end: Arc<SocketEnd>,
    sender: Arc<Mutex<Option<SocketAddr>>>,
    /// True if the socket is to be connected to its first sender.
    only_first: bool,
    message_len_max: usize,
    /// Room for the longest possible datagram.
    buffer: Box<[u8]>,
    /// The rest of the last message that is still to be read.
    message: Bytes,
    ignored: Ignored,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for DatagramReceiver {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.end.poll(context) {
            return Poll::Ready(Ok(()));
        }
        while this.message.is_empty() {
            let mut read = ReadBuf::new(&mut this.buffer);
            let from = match ready!(this.socket.poll_recv_from(context, &mut read)) {
                Ok(from) => from,
                // The error belongs to a datagram that we sent earlier, and the receiver does not care.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            match whole_message(read.filled(), this.message_len_max) {
                Ok(message) => {
                    this.message = message;
                    *this.sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
                }
                Err(reason) => {
                    this.ignored.count_and_log(from, &reason);
                    // The connection does not see it, so it does not count in the connection's turn. To decompress it may
                    // have taken as long as a long message.
                    give_way(context);
                    return Poll::Pending;
                }
            }
            if std::mem::take(&mut this.only_first) {
                SockRef::from(&*this.socket).connect(&from.into())?;
            }
        }
        let count = this.message.len().min(out.remaining());
        out.put_slice(&this.message.split_to(count));
        Poll::Ready(Ok(()))
    }
}

/// Returns the message of a datagram. It is made oneway, because datagrams get no reply even if they ask for one. Bytes
/// after the message are ignored.
///
/// Source: observed, Ice 3.7.8.
fn whole_message(datagram: &[u8], len_max: usize) -> Result<Bytes, String> {
    let mut input = BytesMut::from(datagram);
    let message = Message::split(&mut input, len_max).map_err(|error| error.to_string())?;
    let Some(message) = message else {
        return Err(format!(
            "expected a whole message, got {} bytes of one",
            datagram.len()
        ));
    };
    let is_batch = match message.header.message_type {
        MessageType::Request => false,
        MessageType::BatchRequest => true,
        other => {
            return Err(format!(
                "expected a request or a batch of them, got {other}"
            ));
        }
    };
    let message = Decompressor::default().decompress(message, len_max);
    let message = message.map_err(|error| error.to_string())?;
    if is_batch {
        let parsed = RequestBatch::parse(&message);
        parsed.map_err(|error| error.to_string())?;
        return Ok(message.bytes);
    }
    let mut bytes = BytesMut::from(message.bytes);
    if let Some(id) = bytes.get_mut(14..18) {
        id.fill(0);
    }
    let header = message.header;
    let bytes = bytes.freeze();
    let message = Message { header, bytes };
    let parsed = IncomingRequest::parse(&message);
    parsed.map_err(|error| error.to_string())?;
    Ok(message.bytes)
}

/// Counts and logs invalid datagrams.
struct Ignored {
    /// Shared with the adapter, which sums over all its sockets.
    count: Arc<AtomicU64>,
    logged: Option<Instant>,
}

impl Ignored {
    fn count_and_log(&mut self, from: SocketAddr, reason: &str) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let now = Instant::now();
        if self
            .logged
            .is_none_or(|logged| now - logged >= LOG_INTERVAL)
        {
            self.logged = Some(now);
            tracing::warn!("ignored an invalid datagram from {from} ({count} so far): {reason}");
        }
    }
}

/// The writing half of a receiver, which discards everything.
struct DiscardingWriter {
    end: Arc<SocketEnd>,
    /// The sender of the message that was read last.
    sender: Arc<Mutex<Option<SocketAddr>>>,
    local: SocketAddr,
}

impl StreamWriter for DiscardingWriter {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.ends_with(&CLOSE_CONNECTION) {
            self.end.signal();
        }
        Ok(bytes.len())
    }

    fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        info.transport = "udp";
        info.local_address = Some(self.local);
    }

    fn is_datagram(&self) -> bool {
        true
    }

    fn sender(&self) -> Option<SocketAddr> {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shutdown(&self) {
        self.end.signal();
    }
}

fn sending(socket: UdpSocket, peer: SocketAddr) -> Stream {
    let end = Arc::new(SocketEnd::default());
    Stream {
        reader: Box::new(ValidationReader {
            greeting: &VALIDATE_CONNECTION,
            end: end.clone(),
        }),
        writer: Box::new(Sender { socket, end }),
        peer: peer.to_string(),
    }
}

/// The reading half of a sender: it reads a validation, and then nothing.
struct ValidationReader {
    greeting: &'static [u8],
    end: Arc<SocketEnd>,
}

impl AsyncRead for ValidationReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.end.poll(context) {
            return Poll::Ready(Ok(()));
        }
        if self.greeting.is_empty() {
            return Poll::Pending;
        }
        let count = self.greeting.len().min(out.remaining());
        out.put_slice(&self.greeting[..count]);
        self.greeting.advance(count);
        Poll::Ready(Ok(()))
    }
}

struct Sender {
    socket: UdpSocket,
    end: Arc<SocketEnd>,
}

impl StreamWriter for Sender {
    /// Sends the first message of `bytes`, which hold whole messages.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let len = Message::needed(bytes, i32::MAX as usize);
        let message = bytes.get(..len).ok_or(io::ErrorKind::InvalidInput)?;
        if message == CLOSE_CONNECTION {
            self.end.signal();
        }
        if message == CLOSE_CONNECTION || message == VALIDATE_CONNECTION {
            return Ok(len);
        }
        match self.socket.try_send(message) {
            // An earlier datagram had no receiver. The error says nothing about this one.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.socket.try_send(message)
            }
            sent => sent,
        }
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(context)
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        info.transport = "udp";
        info.local_address = self.socket.local_addr().ok();
        info.remote_address = self.socket.peer_addr().ok();
    }

    fn is_datagram(&self) -> bool {
        true
    }

    fn shutdown(&self) {
        self.end.signal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_begins_with_one_whole_request() {
        let request =
            b"IceP\x01\x00\x01\x00\x00\x00\x23\x00\x00\x00\x07\x00\x00\x00\x01t\x00\x00\x04noop\
                        \x00\x00\x06\x00\x00\x00\x01\x01";
        let taken = whole_message(request, 1000).unwrap();
        assert_eq!(taken[14..18], [0; 4], "it asks for no reply");
        assert_eq!(taken[18..], request[18..]);
        let longer = whole_message(&request.repeat(2), 1000);
        assert_eq!(longer.unwrap(), taken);
        let cases: [(&[u8], &str); 6] = [
            (b"", "0 bytes"),
            (&request[..30], "expected a whole message"),
            (b"GET / HTTP/1.1\r\n", "Ice protocol"),
            (&VALIDATE_CONNECTION, "got ValidateConnection"),
            (
                b"IceP\x01\x00\x01\x00\x02\x02\x12\x00\x00\x00\xe8\x03\x00\x00",
                "got Reply",
            ),
            (
                b"IceP\x01\x00\x01\x00\x01\x00\x12\x00\x00\x00\x09\x00\x00\x00",
                "batch",
            ),
        ];
        for (datagram, expected) in cases {
            let reason = whole_message(datagram, 1000).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
        let reason = whole_message(request, 34).unwrap_err();
        assert!(reason.contains("34"), "{reason}");
    }

    #[tokio::test]
    async fn invalid_datagrams_without_end_give_way() {
        const COUNT: u64 = 100;
        let setup = Setup::default();
        let endpoint = UdpEndpoint::new("127.0.0.1", 0);
        let listening = listen(&endpoint, &setup).await.unwrap();
        let port = listening.published[0].port().unwrap();
        let Ok(Accepted::Ready(mut stream)) = listening.listeners[0].accept().await else {
            panic!("a socket is ready at once");
        };
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..COUNT {
            stranger
                .send_to(b"no message", ("127.0.0.1", port))
                .unwrap();
        }
        let ignored = || setup.datagrams_ignored.load(Ordering::Relaxed);
        let mut most = 0;
        let all_ignored = std::future::poll_fn(|context| {
            let before = ignored();
            let mut room = [0; 100];
            let mut out = ReadBuf::new(&mut room);
            let polled = Pin::new(&mut stream.reader).poll_read(context, &mut out);
            assert!(polled.is_pending());
            most = most.max(ignored() - before);
            match ignored() {
                COUNT => Poll::Ready(()),
                _ => Poll::Pending,
            }
        });
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, all_ignored).await.unwrap();
        assert_eq!(most, 1, "of one poll");
    }
}
