//! Peers of our own that follow the protocol until the fault: plain sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use floe::{Communicator, Proxy};
use floe_wire::compression::{Compression, Compressor};

use crate::stage::{NOTHING, PATIENCE};

/// The message ValidateConnection, which is also a heartbeat.
pub(crate) const VALIDATE: [u8; 14] = *b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";
/// The message CloseConnection.
pub(crate) const CLOSE: [u8; 14] = *b"IceP\x01\x00\x01\x00\x04\x00\x0e\x00\x00\x00";

/// A request to the object `echo`, without parameters.
pub(crate) fn request(id: i32, operation: &str) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.extend(b"\x04echo\x00\x00");
    body.push(operation.len() as u8);
    body.extend(operation.as_bytes());
    body.extend([0, 0]);
    body.extend(NOTHING);
    message(0, &body)
}

/// Parameters of so many bytes.
pub(crate) fn parameters(len: usize) -> Vec<u8> {
    let mut bytes = (len as i32).to_le_bytes().to_vec();
    bytes.extend([1, 1]);
    bytes.resize(len, 7);
    bytes
}

/// A BatchRequest message with so many requests to the object `echo`, without parameters.
pub(crate) fn batch_of(operation: &str, count: i32) -> Vec<u8> {
    let request = &request(0, operation)[18..];
    let mut body = count.to_le_bytes().to_vec();
    (0..count).for_each(|_| body.extend(request));
    message(1, &body)
}

/// A oneway request with parameters of so many bytes, all zero, compressed with bzip2.
pub(crate) fn bomb(operation: &str, len: usize) -> Vec<u8> {
    let mut body = 0_i32.to_le_bytes().to_vec();
    body.extend(b"\x04echo\x00\x00");
    body.push(operation.len() as u8);
    body.extend(operation.as_bytes());
    body.extend([0, 0]);
    body.extend((len as i32).to_le_bytes());
    body.extend([1, 1]);
    body.resize(body.len() + len - 6, 0);
    let mut bytes = message(0, &body);
    Compressor::new(Compression::Bzip2).compress(&mut bytes, 0);
    bytes
}

/// A reply without results.
pub(crate) fn reply(id: i32) -> Vec<u8> {
    let mut body = id.to_le_bytes().to_vec();
    body.push(0);
    body.extend(NOTHING);
    message(2, &body)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00".to_vec();
    bytes.extend([kind, 0]);
    bytes.extend((14 + body.len() as i32).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A message of a peer: its type and its body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Heartbeat,
    Request(i32),
    Reply(i32),
    Close,
    /// Nothing within the time.
    Silence,
    /// The end of the stream, or its loss.
    End,
}

/// A connection of a raw peer.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    /// Connects to a server and waits to be validated.
    pub(crate) fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let mut raw = Self(stream);
        assert_eq!(raw.next(PATIENCE), Came::Heartbeat, "the server validates");
        raw
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the peer reads");
    }

    /// Waits for the next message.
    pub(crate) fn next(&mut self, patience: Duration) -> Came {
        self.0.set_read_timeout(Some(patience)).expect("a timeout");
        let mut header = [0; 14];
        let mut first = [0; 1];
        match self.0.read(&mut first) {
            Ok(1) => {}
            Err(error) if is_timeout(&error) => return Came::Silence,
            _ => return Came::End,
        }
        self.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        header[0] = first[0];
        if self.0.read_exact(&mut header[1..]).is_err() {
            return Came::End;
        }
        let len = i32::from_le_bytes(header[10..].try_into().expect("four bytes")) as usize;
        let mut body = vec![0; len - 14];
        if self.0.read_exact(&mut body).is_err() {
            return Came::End;
        }
        let id = || i32::from_le_bytes(body[..4].try_into().expect("an id"));
        match header[8] {
            0 => Came::Request(id()),
            2 => Came::Reply(id()),
            3 => Came::Heartbeat,
            4 => Came::Close,
            other => panic!("expected a message of the protocol, got type {other}"),
        }
    }

    /// The next message that is no heartbeat.
    pub(crate) fn next_but_heartbeats(&mut self) -> Came {
        loop {
            match self.next(PATIENCE) {
                Came::Heartbeat => {}
                other => return other,
            }
        }
    }

    /// The peer's name for this side.
    pub(crate) fn name(&self) -> String {
        self.0.local_addr().expect("an address").to_string()
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    )
}

/// A listening raw server.
pub(crate) struct RawServer(TcpListener);

impl RawServer {
    pub(crate) fn listen() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").expect("loopback"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    pub(crate) fn proxy(&self, client: &Communicator) -> Proxy {
        let text = format!("echo:tcp -h 127.0.0.1 -p {}", self.port());
        client.proxy(&text).expect("a proxy")
    }

    /// Accepts a connection and validates it.
    pub(crate) fn accept(&self) -> Raw {
        let mut raw = self.accept_silently();
        raw.send(&VALIDATE);
        raw
    }

    pub(crate) fn accept_silently(&self) -> Raw {
        Raw(self.0.accept().expect("somebody connects").0)
    }
}
