//! Peers of the measured server: a holder of idle connections, a crowd of clients. The server itself is a program
//! of its own, `floe-idle-server`.

use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use clap::Args;
use floe::{Communicator, InvokeError, Proxy, TypedProxy};

/// A header and nothing else: what a server sends first.
const VALIDATE_LEN: usize = 14;
/// A request `ice_ping` to the object `target`: header, request id 1, identity, no facet, operation,
/// idempotent, no context, and an empty encapsulation in encoding 1.1.
const PING: &[u8] = b"IceP\x01\x00\x01\x00\x00\x00\x2c\x00\x00\x00\x01\x00\x00\x00\x06target\x00\x00\x08ice_ping\x02\x00\x06\x00\x00\x00\x01\x01";
/// A reply without a result: header, request id, status, and an empty encapsulation.
const REPLY_LEN: usize = 25;

/// Holds connections that were validated, without a runtime of ours.
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
        answer_each(|_| {
            for stream in &mut streams {
                stream.write_all(PING).expect("the server reads");
                let mut reply = [0; REPLY_LEN];
                stream.read_exact(&mut reply).expect("a reply");
            }
            "pinged".to_owned()
        });
        ExitCode::SUCCESS
    }

    fn connect(&self) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts");
        let mut validate = [0; VALIDATE_LEN];
        stream.read_exact(&mut validate).expect("a first message");
        stream
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
