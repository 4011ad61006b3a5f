//! A slow line of our own: relays between two addresses of loopback.
//!
//! A server listens at one address. For each of its ports a relay listens at the other address, and what passes a relay is
//! held up as by a token bucket, which all connections share in each direction. TCP ends at the relay, so that a relay cannot
//! lose anything: a segment that the line would lose comes a round trip later, and what follows it on its connection waits.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{BURST, End, HOST_VARIABLE, LineQuality};
use crate::error::LabError;
use crate::sample::Carried;

/// The relays of a line. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Relay {
    server: Ipv4Addr,
    client: Ipv4Addr,
    line: Arc<Line>,
    /// Where relays listen.
    relays: Vec<SocketAddr>,
}

/// The state that all connections share.
#[derive(Debug)]
struct Line {
    to_server: Direction,
    to_client: Direction,
    is_over: AtomicBool,
}

impl Relay {
    /// A line without relays yet: those are made when the server listens.
    pub(super) fn new(quality: LineQuality) -> Self {
        // Addresses of equal length, which no other line of this computer is likely to have.
        static COUNT: AtomicU8 = AtomicU8::new(0);
        let count = u32::from(COUNT.fetch_add(1, Ordering::Relaxed));
        let third = 100 + (std::process::id().wrapping_mul(31).wrapping_add(count)) % 100;
        let host = |last| Ipv4Addr::new(127, 77, third as u8, last);
        Self {
            server: host(1),
            client: host(2),
            line: Arc::new(Line {
                to_server: Direction::new(quality),
                to_client: Direction::new(quality),
                is_over: AtomicBool::new(false),
            }),
            relays: Vec::new(),
        }
    }

    pub(super) fn at(&self, end: End, command: &Command) -> Command {
        let mut own = Command::new(command.get_program());
        own.args(command.get_args());
        if end == End::Server {
            own.env(HOST_VARIABLE, self.server.to_string());
        }
        own
    }

    /// Has a relay listen for each port of the server, and puts the relays' host into the address, which has the server's host as
    /// text or, in an IOR, as text in hexadecimal digits.
    pub(super) fn through(&mut self, address: &str) -> Result<String, LabError> {
        for port in self.listening()? {
            let own = SocketAddr::from((self.client, port));
            let listener = TcpListener::bind(own);
            let listener = listener.map_err(|source| LabError::system("start a relay", source))?;
            let server = SocketAddr::from((self.server, port));
            let line = self.line.clone();
            thread::spawn(move || line.accept(&listener, server));
            self.relays.push(own);
        }
        let (server, client) = (self.server.to_string(), self.client.to_string());
        let address = address.replace(&server, &client);
        Ok(address.replace(&hexadecimal(&server), &hexadecimal(&client)))
    }

    pub(super) fn carried(&self) -> Carried {
        let directions = [&self.line.to_server, &self.line.to_client];
        let sum = |of: fn(&Direction) -> &AtomicU64| -> u64 {
            let counts = directions.iter().map(|one| of(one).load(Ordering::Relaxed));
            counts.sum()
        };
        let messages = sum(|direction| &direction.bytes);
        Carried {
            messages,
            line: messages + HEADERS_LEN as u64 * sum(|direction| &direction.segments),
            is_relayed: true,
        }
    }

    /// The ports at which the server listens.
    fn listening(&self) -> Result<BTreeSet<u16>, LabError> {
        let mut ports = BTreeSet::new();
        for path in SOCKETS {
            match std::fs::read_to_string(path) {
                Ok(table) => ports.extend(listening_at(&table, self.server)),
                // A system without IPv6 has no table for it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(LabError::system(format!("read {path}"), source)),
            }
        }
        Ok(ports)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.line.is_over.store(true, Ordering::Release);
        for relay in &self.relays {
            // Wakes it, so that it sees that the line is over.
            let _ = TcpStream::connect(relay);
        }
    }
}

impl Line {
    /// Relays connections to the server until the line is over.
    fn accept(self: &Arc<Self>, listener: &TcpListener, server: SocketAddr) {
        for client in listener.incoming() {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            // A client whose server is gone finds its connection closed.
            let _ = client.and_then(|client| self.relay(client, TcpStream::connect(server)?));
        }
    }

    fn relay(self: &Arc<Self>, client: TcpStream, server: TcpStream) -> std::io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let ways = [
            (client.try_clone()?, server.try_clone()?, true),
            (server, client, false),
        ];
        for (from, to, is_to_server) in ways {
            let line = self.clone();
            let (sender, arriving) = sync_channel(IN_FLIGHT_MAX);
            thread::spawn(move || deliver(&arriving, to));
            thread::spawn(move || {
                let direction = match is_to_server {
                    true => &line.to_server,
                    false => &line.to_client,
                };
                direction.carry(from, |segment| sender.send(segment).is_ok());
            });
        }
        Ok(())
    }
}

/// Bytes on their way, and when they arrive.
struct Segment {
    bytes: Vec<u8>,
    arrives: Instant,
}

/// One direction of the line.
#[derive(Debug)]
struct Direction {
    quality: LineQuality,
    /// Held for a calculation, never across a wait.
    bucket: Mutex<Bucket>,
    /// Bytes of messages that it has carried.
    bytes: AtomicU64,
    segments: AtomicU64,
}

impl Direction {
    fn new(quality: LineQuality) -> Self {
        Self {
            quality,
            bucket: Mutex::new(Bucket::new(quality)),
            bytes: AtomicU64::new(0),
            segments: AtomicU64::new(0),
        }
    }

    /// Reads what one end sends, and passes it on with the time at which it arrives, until one of the ends is gone.
    fn carry(&self, mut from: TcpStream, pass_on: impl Fn(Segment) -> bool) {
        let mut buffer = [0; SEGMENT_LEN];
        let mut last_arrival = Instant::now();
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            let now = Instant::now();
            let (departs, is_lost) = {
                let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
                (bucket.take(len + HEADERS_LEN, now), bucket.loses())
            };
            self.bytes.fetch_add(len as u64, Ordering::Relaxed);
            self.segments.fetch_add(1, Ordering::Relaxed);
            let delays = if is_lost { 3 } else { 1 };
            last_arrival = last_arrival.max(departs + self.quality.delay * delays);
            let segment = Segment {
                bytes: buffer[..len].to_vec(),
                arrives: last_arrival,
            };
            // What waits for its turn, waits at its sender, which notices that.
            thread::sleep(departs.saturating_duration_since(now));
            if !pass_on(segment) {
                return;
            }
        }
    }
}

/// Writes segments when they arrive. The end of them is the end of the stream.
fn deliver(arriving: &Receiver<Segment>, mut to: TcpStream) {
    while let Ok(segment) = arriving.recv() {
        thread::sleep(segment.arrives.saturating_duration_since(Instant::now()));
        if to.write_all(&segment.bytes).is_err() {
            // Its sender learns of that, too.
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// A token bucket, and what decides which segments are lost.
#[derive(Debug)]
struct Bucket {
    bits_per_second: u32,
    loss_percent: u32,
    /// When the bucket is full again.
    is_full_at: Option<Instant>,
    /// The state of a generator, the same at each start.
    random: u64,
}

impl Bucket {
    fn new(quality: LineQuality) -> Self {
        Self {
            bits_per_second: quality.bits_per_second,
            loss_percent: quality.loss_percent,
            is_full_at: None,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Takes tokens for so many bytes. Returns when these may leave.
    fn take(&mut self, len: usize, now: Instant) -> Instant {
        let full = self.time_of(BURST as usize);
        let is_full_at = self.is_full_at.map_or(now, |at| at.max(now)) + self.time_of(len);
        self.is_full_at = Some(is_full_at);
        is_full_at.checked_sub(full).map_or(now, |at| at.max(now))
    }

    fn time_of(&self, len: usize) -> Duration {
        Duration::from_secs_f64(len as f64 * 8.0 / f64::from(self.bits_per_second))
    }

    /// Returns true if the next segment is lost.
    fn loses(&mut self) -> bool {
        // Source: Marsaglia, "Xorshift RNGs".
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 100 < u64::from(self.loss_percent)
    }
}

/// The ports at which sockets listen at this host, of a table as `/proc/net/tcp` has it.
fn listening_at(table: &str, host: Ipv4Addr) -> BTreeSet<u16> {
    // An address is made of words of memory, in the order of this computer.
    let word = |octets| format!("{:08X}", u32::from_ne_bytes(octets));
    let host = word(host.octets());
    // As a socket of IPv6 has it.
    let mapped = format!("{:016}{}{host}", 0, word([0, 0, 0xff, 0xff]));
    let rows = table.lines().filter_map(|row| {
        let mut columns = row.split_whitespace().skip(1);
        let (local, _, state) = (columns.next()?, columns.next()?, columns.next()?);
        let (address, port) = local.split_once(':')?;
        let is_meant = (address == host || address == mapped) && state == LISTENING;
        is_meant
            .then(|| u16::from_str_radix(port, 16).ok())
            .flatten()
    });
    rows.collect()
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The kernel's tables of TCP sockets.
const SOCKETS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The state of one that listens.
const LISTENING: &str = "0A";

/// Bytes of a message that fit into a frame.
const SEGMENT_LEN: usize = 1448;
/// Headers of Ethernet, IP and TCP with its timestamps, which take their time, too.
const HEADERS_LEN: usize = 14 + 20 + 32;
/// Segments of a connection that are on their way at a time, at most.
const IN_FLIGHT_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::super::MODEM;
    use super::*;

    #[test]
    fn a_bucket_lets_pass_a_burst_and_then_its_rate() {
        let (mut bucket, start) = (Bucket::new(MODEM), Instant::now());
        assert_eq!(bucket.take(1600, start), start);
        // 700 bytes are 100 ms at 56 kbit/s.
        let waits = |leaves: Instant| (leaves - start).as_millis();
        assert_eq!(waits(bucket.take(700, start)), 100);
        assert_eq!(waits(bucket.take(700, start)), 200);
        let later = start + Duration::from_secs(10);
        assert_eq!(bucket.take(1600, later), later);
    }

    #[test]
    fn sockets_that_listen_are_found_by_their_host() {
        let host = Ipv4Addr::new(127, 77, 100, 1);
        let word = format!("{:08X}", u32::from_ne_bytes(host.octets()));
        let table = format!(
            "  sl  local_address rem_address   st\n   0: {word}:0FDF 00000000:0000 0A x\n   \
             1: {word}:0FE0 00000000:0000 01 x\n   2: 0100007F:0FE1 00000000:0000 0A x\n"
        );
        assert_eq!(listening_at(&table, host), BTreeSet::from([0x0fdf]));
        let mapped = format!("{:08X}", u32::from_ne_bytes([0, 0, 0xff, 0xff]));
        let table = format!("   0: 0000000000000000{mapped}{word}:0FE2 0:0000 0A x\n");
        assert_eq!(listening_at(&table, host), BTreeSet::from([0x0fe2]));
    }

    #[test]
    fn a_relay_carries_both_ways_and_counts_the_bytes_of_messages() {
        let mut relay = Relay::new(LineQuality {
            bits_per_second: 10_000_000,
            delay: Duration::from_millis(1),
            loss_percent: 10,
        });
        let server = TcpListener::bind((relay.server, 0)).expect("loopback");
        let port = server.local_addr().expect("it listens").port();
        let echo = thread::spawn(move || {
            let (mut client, _) = server.accept().expect("a client");
            let mut all = Vec::new();
            client.read_to_end(&mut all).expect("an end");
            client.write_all(&all).expect("it listens");
        });
        let said = format!(
            "{}:{port} {}",
            relay.server,
            hexadecimal(&relay.server.to_string())
        );
        let through = relay.through(&said).expect("it may listen");
        let (address, ior) = through.split_once(' ').expect("two");
        assert_eq!(ior, hexadecimal(&relay.client.to_string()));
        let mut client = TcpStream::connect(address).expect("the relay listens");
        let sent: Vec<u8> = (0..10_000_u32).map(|number| number as u8).collect();
        client.write_all(&sent).expect("it takes all");
        client.shutdown(Shutdown::Write).expect("it is connected");
        let mut got = Vec::new();
        client.read_to_end(&mut got).expect("an end");
        assert!(got == sent, "expected the bytes in their order");
        echo.join().expect("it does not panic");
        let carried = relay.carried();
        assert_eq!(carried.messages, 20_000);
        assert!(carried.line >= carried.messages + 14 * HEADERS_LEN as u64);
        drop(relay);
    }
}
