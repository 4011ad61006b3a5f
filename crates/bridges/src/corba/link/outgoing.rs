//! A connection to a consumer or supplier of the other world: this side calls it.
//!
//! The reference that it gave names any host and port. Each address is looked up and judged before it is connected to, and
//! the judged address is the one that is connected to.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use floe_giop::cdr::{CodeSets, EncodeError, Encoder};
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role, SendError};
use floe_giop::message::{Reply, RequestHead, ResponseExpected, Target};
use floe_giop::reference::{IiopProfile, Ior};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::corba::own_address::is_of_this_computer;
use crate::networks::Networks;

/// Where the bridge may connect.
#[derive(Debug, Clone)]
pub(in crate::corba) struct Reach {
    networks: Networks,
    /// Where the bridge listens itself: an event that it pushed to itself would never end.
    own: SocketAddr,
    /// Hosts that are looked up at a time: each takes a thread for as long as a name server is silent.
    lookups: Arc<Semaphore>,
}

/// A connection that was made for one reference; `usize` is the caller's number of a request.
#[derive(Debug)]
pub(super) struct Outgoing {
    stream: TcpStream,
    connection: Connection<usize>,
    input: BytesMut,
    target: Target,
}

/// A peer that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::corba) enum OutgoingError {
    /// Its address is none that the bridge may connect to.
    NotAllowed(String),
    /// It has no address, or the host has none.
    NotFound(String),
    /// It does not listen, does not answer in time, or the connection broke.
    Broken(String),
}

/// The time to find a host, and to connect to an address.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// The time in which a peer must take what is written.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// The time in which a peer must answer.
const REPLY_LIMIT: Duration = Duration::from_secs(30);
/// The longest reply, in bytes. A `push` returns nothing, and an exception of it has no members.
const REPLY_LEN_MAX: usize = 64 << 10;
/// The most hosts that are looked up at a time.
const LOOKUPS_MAX: usize = 8;
/// The most addresses of a reference that are tried.
const ADDRESSES_MAX: usize = 8;

impl Reach {
    pub(in crate::corba) fn new(networks: Networks, own: SocketAddr) -> Self {
        Self {
            networks,
            own,
            lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)),
        }
    }

    /// The first address of a reference that may be connected to.
    pub(in crate::corba) async fn judge(&self, reference: &Ior) -> Result<(), OutgoingError> {
        self.addresses(reference).await.map(drop)
    }

    /// The addresses that may be connected to, with their profiles.
    async fn addresses<'r>(
        &self,
        reference: &'r Ior,
    ) -> Result<Vec<(SocketAddr, &'r IiopProfile)>, OutgoingError> {
        let mut allowed = Vec::new();
        let mut error = OutgoingError::NotFound("the reference has no IIOP profile".to_owned());
        let profiles = reference.iiop_profiles();
        let named = profiles.flat_map(|profile| profile.addresses().map(move |at| (at, profile)));
        for (named, profile) in named.take(ADDRESSES_MAX) {
            match self.look_up(named.host.clone(), named.port).await {
                Ok(addresses) => {
                    for address in addresses.into_iter().take(ADDRESSES_MAX) {
                        match self.refuses(address) {
                            None => allowed.push((address, profile)),
                            Some(why) => error = why,
                        }
                    }
                }
                Err(why) => {
                    let host = named.host.escape_debug();
                    error = OutgoingError::NotFound(format!("host {host}: {why}"));
                }
            }
        }
        allowed.truncate(ADDRESSES_MAX);
        match allowed.is_empty() {
            true => Err(error),
            false => Ok(allowed),
        }
    }

    async fn look_up(&self, host: String, port: u16) -> Result<Vec<SocketAddr>, String> {
        let lookups = Arc::clone(&self.lookups);
        // It is not cancelled with this future: the thread would go on without its permit.
        let found = tokio::spawn(async move {
            let _permit = lookups.acquire_owned().await;
            let found = lookup_host((host.as_str(), port)).await;
            found.map(Iterator::collect)
        });
        match timeout(CONNECT_LIMIT, found).await {
            Ok(Ok(found)) => found.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the name service does not answer".to_owned()),
        }
    }

    fn refuses(&self, address: SocketAddr) -> Option<OutgoingError> {
        let ip = address.ip().to_canonical();
        // Where loopback is allowed, the other addresses of this computer are.
        let is_allowed = self.networks.contain(ip)
            || is_of_this_computer(ip) && self.networks.contain(Ipv4Addr::LOCALHOST.into());
        if !is_allowed {
            return Some(OutgoingError::NotAllowed(format!(
                "{address} is in none of the networks {}; list it in `consumer-networks` if the bridge shall connect there",
                self.networks
            )));
        }
        let is_own = address.port() == self.own.port() && is_of_this_computer(ip);
        is_own.then(|| self.is_own(address))
    }

    fn is_own(&self, address: SocketAddr) -> OutgoingError {
        OutgoingError::NotAllowed(format!(
            "{address} is this bridge itself, whose events would never end; link topics in the hub"
        ))
    }
}

impl Outgoing {
    /// Connects to the object of a reference.
    pub(super) async fn open(
        reference: &Ior,
        reach: &Reach,
        in_flight_max: usize,
    ) -> Result<Self, OutgoingError> {
        let addresses = reach.addresses(reference).await?;
        let mut error = OutgoingError::Broken("no address".to_owned());
        for (address, profile) in addresses {
            let connected = match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
                Ok(connected) => connected.map_err(|error| error.to_string()),
                Err(_) => Err("it does not answer in time".to_owned()),
            };
            match connected {
                // A connection from an address to itself stays within this computer.
                Ok(stream)
                    if address.port() == reach.own.port()
                        && stream
                            .local_addr()
                            .is_ok_and(|own| own.ip() == address.ip()) =>
                {
                    error = reach.is_own(address);
                }
                Ok(stream) => return Ok(Self::new(stream, profile, in_flight_max)),
                Err(why) => error = OutgoingError::Broken(format!("{address}: {why}")),
            }
        }
        Err(error)
    }

    fn new(stream: TcpStream, profile: &IiopProfile, in_flight_max: usize) -> Self {
        // Small requests leave at once. Without it they leave a little later.
        let _ = stream.set_nodelay(true);
        let listed = profile.code_sets().ok().flatten();
        let settings = ConnectionSettings {
            version: profile.version,
            code_sets: listed.map_or_else(CodeSets::default, |info| info.select()),
            message_len_max: REPLY_LEN_MAX,
            in_flight_max,
            ..ConnectionSettings::default()
        };
        Self {
            stream,
            connection: Connection::new(Role::Client, settings),
            input: BytesMut::new(),
            target: Target::Key(profile.key.clone()),
        }
    }

    /// The number of requests without a reply.
    pub(super) fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    /// Appends a twoway request to what is written next.
    pub(super) fn call(
        &mut self,
        operation: &str,
        number: usize,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), SendError> {
        let head = RequestHead {
            target: self.target.clone(),
            operation: operation.to_owned(),
            response: ResponseExpected::Target,
            contexts: Vec::new(),
        };
        self.connection.send_request(head, number, write).map(drop)
    }

    /// Writes what was appended. Not to be cancelled: the connection is then broken.
    pub(super) async fn flush(&mut self) -> Result<(), OutgoingError> {
        while let Some(bytes) = self.connection.poll_output() {
            match timeout(WRITE_LIMIT, self.stream.write_all(&bytes)).await {
                Ok(written) => written.map_err(|error| OutgoingError::Broken(error.to_string()))?,
                Err(_) => {
                    let why = "it does not take what is written";
                    return Err(OutgoingError::Broken(why.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// The next reply, with the number of its request.
    pub(super) async fn reply(&mut self) -> Result<(usize, Reply), OutgoingError> {
        let broken = |why: &dyn fmt::Display| OutgoingError::Broken(why.to_string());
        loop {
            match self.connection.handle_input(&mut self.input) {
                Ok(Some(ConnectionEvent::Reply(number, reply))) => return Ok((number, reply)),
                Ok(Some(ConnectionEvent::Closed(_))) => {
                    return Err(broken(&"it has closed the connection"));
                }
                Ok(Some(ConnectionEvent::PeerError(_))) => {
                    return Err(broken(&"it says that the protocol was broken"));
                }
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(error) => {
                    // It learns what it did wrong, if it still reads.
                    let _ = self.flush().await;
                    return Err(broken(&error));
                }
            }
            match timeout(REPLY_LIMIT, self.stream.read_buf(&mut self.input)).await {
                Ok(Ok(0)) => return Err(broken(&"it has closed the connection")),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(broken(&error)),
                Err(_) => return Err(broken(&"it does not answer")),
            }
        }
    }
}

impl fmt::Display for OutgoingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAllowed(why) | Self::NotFound(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}
