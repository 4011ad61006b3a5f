//! A participant on real sockets of the loopback interface: threads read, and one loop does all else.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use floe_rtps::endpoint::{Received, Sample, WriteError};
use floe_rtps::guid::{EntityId, GuidPrefix};
use floe_rtps::locator::{DomainPorts, SPDP_GROUP};
use floe_rtps::participant::{Config, Event, Participant};
use floe_tests::peer::PATIENCE;
use socket2::{Domain, Protocol, Socket, Type};

use super::capture::Capture;

type Datagram = (SocketAddr, SocketAddr, Vec<u8>);

pub(crate) struct Driver {
    pub(crate) participant: Participant,
    pub(crate) events: Vec<Event>,
    pub(crate) capture: Capture,
    /// The datagrams that have come, if they are kept.
    pub(crate) record: Option<Vec<(SocketAddr, Vec<u8>)>>,
    /// The datagrams that were sent, if they are kept.
    pub(crate) sent: Option<Vec<(SocketAddr, Vec<u8>)>>,
    sender: UdpSocket,
    incoming: Receiver<Datagram>,
}

impl Driver {
    /// A participant of a domain that is found by multicast, or by the ports of the standard.
    pub(crate) fn new(domain: u32, multicast: bool) -> Self {
        Self::with(domain, multicast, |_| {})
    }

    pub(crate) fn with(domain: u32, multicast: bool, change: impl FnOnce(&mut Config)) -> Self {
        let ports = DomainPorts::of(domain).expect("the domain exists");
        let (discovery, samples) = bind(ports);
        let (to_loop, incoming) = mpsc::channel();
        let [at_discovery, at_samples] =
            [&discovery, &samples].map(|socket| socket.local_addr().expect("it is bound"));
        let announce_to = match multicast {
            true => vec![SocketAddr::from((SPDP_GROUP, ports.discovery_multicast()))],
            false => ports.peers_of(Ipv4Addr::LOCALHOST.into(), 10).collect(),
        };
        if multicast {
            read(group(ports.discovery_multicast()), to_loop.clone());
        }
        let sender = discovery.try_clone().expect("a socket can be cloned");
        socket2::SockRef::from(&sender)
            .set_multicast_if_v4(&Ipv4Addr::LOCALHOST)
            .expect("loopback can have multicasts");
        read(discovery, to_loop.clone());
        read(samples, to_loop);
        let mut config = Config::new(prefix(), domain, at_discovery, at_samples, announce_to);
        config.name = "Floe".into();
        change(&mut config);
        let participant = Participant::new(config, Instant::now()).expect("it makes sense");
        Self {
            participant,
            events: Vec::new(),
            capture: Capture::default(),
            record: None,
            sent: None,
            sender,
            incoming,
        }
    }

    /// Goes on until something holds.
    pub(crate) fn run_till(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.send_all();
            if holds(self) {
                return self.send_all();
            }
            self.send_all();
            let now = Instant::now();
            assert!(
                now < end,
                "expected {what} in time; events: {:?}, {:?}, {:?}",
                self.events,
                self.participant.counters(),
                self.participant.usage()
            );
            self.step(Duration::from_millis(20));
        }
    }

    /// Goes on for a time.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.send_all();
            self.step(Duration::from_millis(20));
        }
    }

    /// Waits for datagrams or for a deadline, at most so long.
    fn step(&mut self, wait_max: Duration) {
        let now = Instant::now();
        let until = self.participant.poll_timeout().unwrap_or(now + wait_max);
        let wait = until.saturating_duration_since(now).min(wait_max);
        if let Ok(first) = self.incoming.recv_timeout(wait) {
            self.handle(first);
            // What came with it; not more, so that what is to be sent has its turn.
            for _ in 0..64 {
                let Ok(next) = self.incoming.try_recv() else {
                    break;
                };
                self.handle(next);
            }
        }
        self.participant.handle_timeout(Instant::now());
    }

    fn handle(&mut self, (from, to, bytes): Datagram) {
        if bytes.is_empty() {
            // Nothing came: see `read`.
            return;
        }
        if let Some(record) = &mut self.record {
            record.push((from, bytes.clone()));
        }
        self.capture.add(from, to, &bytes);
        self.participant
            .handle_datagram(Instant::now(), from, &bytes);
    }

    fn send_all(&mut self) {
        let from = self.sender.local_addr().expect("it is bound");
        while let Some(transmit) = self.participant.poll_transmit(Instant::now()) {
            self.capture.add(from, transmit.to, &transmit.bytes);
            if let Some(sent) = &mut self.sent {
                sent.push((transmit.to, transmit.bytes.clone()));
            }
            // A peer that has just died makes the next sending fail, which is no reason to stop.
            let _ = self.sender.send_to(&transmit.bytes, transmit.to);
        }
        while let Some(event) = self.participant.poll_event() {
            self.events.push(event);
        }
    }

    /// Writes a sample as soon as there is room.
    pub(crate) fn write(&mut self, writer: EntityId, sample: &Sample) {
        self.run_till("room for a sample", |driver| {
            match driver.participant.write(writer, sample.clone()) {
                Ok(_) => true,
                Err(WriteError::Full { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        });
    }

    /// Reads so many samples.
    pub(crate) fn read(&mut self, reader: EntityId, count: usize) -> Vec<Received> {
        let mut got = Vec::new();
        self.run_till(&format!("{count} samples"), |driver| {
            while let Some(received) = driver.participant.take(reader, Instant::now()) {
                got.push(received);
            }
            got.len() >= count
        });
        got
    }

    /// Waits until an endpoint has so many matches.
    pub(crate) fn wait_for_matches(&mut self, endpoint: EntityId, count: usize) {
        self.run_till(&format!("{count} matches"), |driver| {
            driver.participant.matches(endpoint).len() == count
        });
    }

    /// Waits until everything is acknowledged.
    pub(crate) fn wait_for_acknowledgements(&mut self, writer: EntityId) {
        self.run_till("acknowledgements", |driver| {
            driver
                .participant
                .unacknowledged(writer)
                .all(|(_, count)| count == 0)
        });
    }
}

fn prefix() -> GuidPrefix {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let mut prefix = [0; 12];
    prefix[2..6].copy_from_slice(&std::process::id().to_be_bytes());
    prefix[8..].copy_from_slice(&MADE.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    GuidPrefix(prefix)
}

/// Sockets of the first index of a participant that is free.
fn bind(ports: DomainPorts) -> (UdpSocket, UdpSocket) {
    for index in 0..10 {
        let pair = [ports.discovery_unicast(index), ports.user_unicast(index)].map(|port| {
            let port = port.expect("the index is small");
            UdpSocket::bind((Ipv4Addr::LOCALHOST, port))
        });
        if let [Ok(discovery), Ok(samples)] = pair {
            return (discovery, samples);
        }
    }
    panic!(
        "expected a free index of a participant below 10 in this domain; end what uses its ports"
    );
}

fn group(port: u16) -> UdpSocket {
    let socket =
        Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).expect("a socket can be made");
    socket.set_reuse_address(true).expect("it can be shared");
    let address = SocketAddr::from((SPDP_GROUP, port));
    socket.bind(&address.into()).expect("others share it, too");
    socket
        .join_multicast_v4(&SPDP_GROUP, &Ipv4Addr::LOCALHOST)
        .expect("loopback can have multicasts");
    socket.into()
}

/// Reads until nobody takes what is read.
fn read(socket: UdpSocket, to_loop: Sender<Datagram>) {
    let to = socket.local_addr().expect("it is bound");
    socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("it is above zero");
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    if to_loop.send((from, to, buffer[..len].to_vec())).is_err() {
                        return;
                    }
                }
                // So that the port is free soon after the driver is dropped.
                Err(_) if to_loop.send((to, to, Vec::new())).is_err() => return,
                Err(_) => {}
            }
        }
    });
}
