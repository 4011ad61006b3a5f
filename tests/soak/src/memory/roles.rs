//! Peers of the measured server: a holder of idle connections, a crowd of clients. The server itself is a program
//! of its own, `floe-idle-server`.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use clap::Args;
use floe::{Communicator, InvokeError, Proxy, TypedProxy};

/// The length of a message's header; a server's first message and its heartbeats have nothing else.
const HEADER_LEN: usize = 14;
/// Where the type of a message stands, and what a reply says there.
const TYPE_AT: usize = 8;
const REPLY: u8 = 2;
/// A request `ice_ping` to the object `target`: header, request id 1, identity, no facet, operation,
/// idempotent, no context, and an empty encapsulation in encoding 1.1.
const PING: &[u8] = b"IceP\x01\x00\x01\x00\x00\x00\x2c\x00\x00\x00\x01\x00\x00\x00\x06target\x00\x00\x08ice_ping\x02\x00\x06\x00\x00\x00\x01\x01";
/// Pings of a burst, and bytes of the request that follows them.
const BURST: usize = 200;
const LONG_LEN: u32 = 100_000;

/// Holds connections that were validated, and asks over each, without a runtime of ours.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    /// The server's port
    port: u16,
    /// How many
    count: usize,
}

impl Hold {
    pub(crate) fn run(&self) -> ExitCode {
        let mut streams: Vec<TcpStream> = (0..self.count).map(|_| self.connect()).collect();
        println!("holding");
        let burst = PING.repeat(BURST);
        let long = long_ping();
        answer_each(|line| {
            for stream in &mut streams {
                if line == "burst" {
                    ask(stream, &burst, BURST);
                    ask(stream, &long, 1);
                } else {
                    ask(stream, PING, 1);
                }
            }
            "answered".to_owned()
        });
        ExitCode::SUCCESS
    }

    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts");
        let mut validate = [0; HEADER_LEN];
        stream.read_exact(&mut validate).expect("a first message");
        stream
    }
}

/// The ping with many parameters, which the server does not look at.
fn long_ping() -> Vec<u8> {
    let mut long = PING.to_vec();
    let at = long.len() - 6;
    long[at..at + 4].copy_from_slice(&(6 + LONG_LEN).to_le_bytes());
    let size = PING.len() as u32 + LONG_LEN;
    long[HEADER_LEN - 4..HEADER_LEN].copy_from_slice(&size.to_le_bytes());
    long.resize(size as usize, 0);
    long
}

/// Sends requests and reads so many replies; heartbeats may come between them.
fn ask(stream: &mut TcpStream, requests: &[u8], mut reply_count: usize) {
    stream.write_all(requests).expect("the server reads");
    let mut message = [0; 64];
    while reply_count > 0 {
        let (header, body) = message.split_at_mut(HEADER_LEN);
        stream.read_exact(header).expect("a message");
        let size = u32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        let body = &mut body[..size as usize - HEADER_LEN];
        stream.read_exact(body).expect("a whole message");
        reply_count -= usize::from(header[TYPE_AT] == REPLY);
    }
}

/// Many clients that call at once, each with a connection of its own.
#[derive(Debug, Args)]
pub(crate) struct Crowd {
    /// The server's port
    port: u16,
    /// How many
    count: usize,
}

impl Crowd {
    pub(crate) fn run(&self) -> ExitCode {
        let runtime = tokio::runtime::Runtime::new().expect("threads");
        let proxy = format!("target:tcp -h 127.0.0.1 -p {}", self.port);
        let clients: Vec<Proxy> = (0..self.count)
            .map(|_| Communicator::new().proxy(&proxy).expect("a proxy"))
            .collect();
        println!("gathered");
        answer_each(|_| runtime.block_on(call_all(&clients)).to_string());
        ExitCode::SUCCESS
    }
}

/// Lets all clients call at once; how many failed.
async fn call_all(clients: &[Proxy]) -> usize {
    let calls: Vec<_> = clients
        .iter()
        .map(|client| tokio::spawn(call(client.clone())))
        .collect();
    let mut failures = 0;
    for call in calls {
        if let Err(error) = call.await.expect("no panic") {
            eprintln!("a call failed: {error}");
            failures += 1;
        }
    }
    failures
}

async fn call(client: Proxy) -> Result<(), InvokeError> {
    client.ice_ping().await
}

/// Answers each line of standard input with one, until its end.
fn answer_each(mut answer: impl FnMut(&str) -> String) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        println!("{}", answer(&line));
    }
}
