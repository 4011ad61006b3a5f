//! The sockets of a participant: two for each interface, and one for the group of discovery.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll};

use floe_rtps::locator::{DomainPorts, PARTICIPANT_INDEX_MAX, SPDP_GROUP};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use crate::world::StartError;

/// The sockets of a participant.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Where discovery reaches it, by interface. They send, too.
    discovery: Vec<UdpSocket>,
    /// Where samples reach it, by interface.
    samples: Vec<UdpSocket>,
    groups: Vec<UdpSocket>,
    /// The socket that is read first, so that all have their turn.
    first: usize,
}

/// A datagram that has come: its length in the buffer, and its sender.
pub(crate) type Datagram = (usize, SocketAddr);

impl Sockets {
    /// Binds the ports of the first index of a participant that is free on all interfaces.
    pub(crate) fn bind(
        domain: u32,
        ports: DomainPorts,
        interfaces: &[IpAddr],
        multicast: bool,
    ) -> Result<Self, StartError> {
        let mut refused = None;
        for index in 0..=PARTICIPANT_INDEX_MAX {
            let (Some(discovery), Some(samples)) =
                (ports.discovery_unicast(index), ports.user_unicast(index))
            else {
                break;
            };
            match bind_all(interfaces, discovery, samples) {
                Ok((discovery, samples)) => {
                    let groups = match multicast {
                        true => join(ports.discovery_multicast(), interfaces, &discovery)?,
                        false => Vec::new(),
                    };
                    return Ok(Self {
                        discovery,
                        samples,
                        groups,
                        first: 0,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = Some(error),
                Err(error) => {
                    return Err(StartError::new(format_args!(
                        "cannot bind port {discovery} or {samples} of domain {domain} on {}: {error}",
                        list(interfaces)
                    )));
                }
            }
        }
        let error = refused.map_or_else(String::new, |error| format!(": {error}"));
        Err(StartError::new(format_args!(
            "expected a free index of a participant in domain {domain} on {}, and all are taken{error}; end a participant, \
             or choose another domain",
            list(interfaces)
        )))
    }

    /// The addresses where discovery reaches it.
    pub(crate) fn discovery_addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.discovery.iter().map(UdpSocket::local_addr).collect()
    }

    /// The addresses where samples reach it.
    pub(crate) fn sample_addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.samples.iter().map(UdpSocket::local_addr).collect()
    }

    /// Waits for a datagram. May be cancelled.
    pub(crate) async fn receive(&mut self, buffer: &mut [u8]) -> Datagram {
        poll_fn(|context| self.poll_receive(context, buffer)).await
    }

    /// A datagram, if one is there.
    pub(crate) fn try_receive(&mut self, buffer: &mut [u8]) -> Option<Datagram> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match self.poll_receive(&mut context, buffer) {
            Poll::Ready(datagram) => Some(datagram),
            Poll::Pending => None,
        }
    }

    fn poll_receive(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Datagram> {
        let count = self.discovery.len() + self.samples.len() + self.groups.len();
        let mut has_errors_left = false;
        for turn in 0..count {
            let at = (self.first + turn) % count;
            let socket = self.socket(at);
            // Errors are those of what was sent before: nobody listens there. They come at most once for each datagram.
            let mut is_empty = false;
            for _ in 0..ERRORS_MAX {
                let mut into = ReadBuf::new(buffer);
                match socket.poll_recv_from(context, &mut into) {
                    Poll::Ready(Ok(from)) => {
                        let len = into.filled().len();
                        self.first = at + 1;
                        return Poll::Ready((len, from));
                    }
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => {
                        is_empty = true;
                        break;
                    }
                }
            }
            has_errors_left |= !is_empty;
        }
        if has_errors_left {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn socket(&self, at: usize) -> &UdpSocket {
        let all = self.discovery.iter().chain(&self.samples);
        let mut all = all.chain(&self.groups);
        all.nth(at).expect("the caller counts them")
    }

    /// Sends a datagram by the socket of an interface. A peer that has just ended makes the next sending fail, which is no
    /// reason to stop: all that matters is sent again.
    pub(crate) async fn send(&self, interface: usize, to: SocketAddr, bytes: &[u8]) {
        let _ = self.discovery[interface].send_to(bytes, to).await;
    }
}

type Pair = (Vec<UdpSocket>, Vec<UdpSocket>);

fn bind_all(interfaces: &[IpAddr], discovery: u16, samples: u16) -> io::Result<Pair> {
    let bind = |port: u16| {
        let sockets = interfaces.iter().map(|interface| {
            let socket = std::net::UdpSocket::bind((*interface, port))?;
            socket.set_nonblocking(true)?;
            // As much as the system allows. What is lost here is sent again.
            let _ = SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER_LEN);
            UdpSocket::from_std(socket)
        });
        sockets.collect::<io::Result<Vec<_>>>()
    };
    Ok((bind(discovery)?, bind(samples)?))
}

/// Joins the group of discovery on each interface.
fn join(
    port: u16,
    interfaces: &[IpAddr],
    senders: &[UdpSocket],
) -> Result<Vec<UdpSocket>, StartError> {
    let joined = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        // The address of the group and not any, so that nothing else is heard.
        socket.bind(&SocketAddr::from((SPDP_GROUP, port)).into())?;
        for (interface, sender) in interfaces.iter().zip(senders) {
            if let IpAddr::V4(interface) = interface {
                socket.join_multicast_v4(&SPDP_GROUP, interface)?;
                SockRef::from(sender).set_multicast_if_v4(interface)?;
            }
        }
        UdpSocket::from_std(socket.into())
    };
    let group: Ipv4Addr = SPDP_GROUP;
    joined().map(|socket| vec![socket]).map_err(|error: io::Error| {
        StartError::new(format_args!(
            "cannot join {group}:{port} on {}: {error}; without `multicast = true`, participants are found by `peers`",
            list(interfaces)
        ))
    })
}

fn list(interfaces: &[IpAddr]) -> String {
    let names: Vec<_> = interfaces.iter().map(IpAddr::to_string).collect();
    names.join(", ")
}

/// The receive buffer that is asked for.
const RECEIVE_BUFFER_LEN: usize = 1 << 20;
/// How many errors of one socket are skipped at a time.
const ERRORS_MAX: usize = 16;
