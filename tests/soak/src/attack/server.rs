//! Starts the server that is attacked, as its users do.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{Communicator, Dispatcher};
use floe_tests::certificates::Certificates;
use floe_tests::gateway::Router;
use floe_tests::hub::Hub;
use floe_tests::peer::Peer;
use floe_tests::ports;

use super::message::{MANAGER, add_proxies, create_session};
use super::target::{Entry, Ports};
use crate::server::wait_for_end;

/// Which server is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Which {
    Hub,
    /// A gateway with a server behind it.
    Gateway,
}

/// How a gateway checks passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passwords {
    /// It accepts all, as fast as it can.
    Any,
    /// It has the hashes of a file, of the kind that the guide recommends.
    File,
}

/// The running server. Dropping it kills it.
pub(super) struct Server {
    process: Process,
    pub(super) ports: Ports,
    pub(super) entry: Entry,
    /// The proxy of the topic manager, if it is a hub.
    pub(super) manager: String,
}

enum Process {
    Hub(Hub),
    Gateway { router: Router, _back_end: Peer },
}

impl Server {
    pub(super) fn hub(certificates: &Certificates) -> Self {
        let mut ports = unclaimed();
        let path = |name| certificates.path(name).display().to_string();
        let hub = Hub::start(&[
            "--insecure",
            &format!("--listen=ws -h 127.0.0.1 -p {}", ports.ws),
            &format!("--listen=ssl -h 127.0.0.1 -p {}", ports.ssl),
            &format!("--tls-cert={}", path("server.pem")),
            &format!("--tls-key={}", path("server.key")),
            &format!("--metrics=127.0.0.1:{}", ports.metrics),
        ]);
        ports.tcp = port_of(hub.endpoint());
        Self {
            manager: hub.manager(),
            process: Process::Hub(hub),
            ports,
            entry: Entry {
                opening: Vec::new(),
                object: MANAGER,
            },
        }
    }

    pub(super) fn gateway(certificates: &Certificates, passwords: Passwords) -> Self {
        let program = std::env::current_exe().expect("a running program has a path");
        let mut back_end = Peer::start("the back end", Command::new(program).arg("back-end"));
        let mut ports = unclaimed();
        ports.back_end = port_of(&back_end.ready());
        let path = |name| certificates.path(name).display().to_string();
        let verifier = match passwords {
            Passwords::Any => "verifier = \"accept-all\"".to_owned(),
            Passwords::File => {
                let file = path("passwords");
                let users = format!("canary {HASH}\njoe {HASH}\n");
                std::fs::write(&file, users).expect("temporary files can be written");
                format!("passwords = {file:?}")
            }
        };
        let text = format!(
            r#"
            hub = false
            [gateway]
            listen = "tcp -h 127.0.0.1 -p {}:ws -h 127.0.0.1 -p {}:ssl -h 127.0.0.1 -p {}"
            server-listen = "tcp -h 127.0.0.1 -p {}"
            {verifier}
            [tls]
            cert = {:?}
            key = {:?}
            "#,
            ports.tcp,
            ports.ws,
            ports.ssl,
            ports.callbacks,
            path("server.pem"),
            path("server.key"),
        );
        let metrics = format!("--metrics=127.0.0.1:{}", ports.metrics);
        let router = Router::start_toml_with(&text, &[&metrics]);
        let back_end_port = ports.back_end;
        Self {
            manager: String::new(),
            process: Process::Gateway {
                router,
                _back_end: back_end,
            },
            ports,
            entry: Entry {
                opening: vec![
                    create_session(1, "canary", PASSWORD),
                    add_proxies(2, &[(OBJECT, back_end_port, -1)]),
                ],
                object: (OBJECT, ""),
            },
        }
    }

    /// The id of its process.
    pub(super) fn id(&mut self) -> u32 {
        match &mut self.process {
            Process::Hub(hub) => hub.peer().id(),
            Process::Gateway { router, .. } => router.peer().id(),
        }
    }

    /// How many panics it has logged.
    pub(super) fn panics(&mut self) -> usize {
        let log = match &mut self.process {
            Process::Hub(hub) => hub.peer().errors(),
            Process::Gateway { router, .. } => router.peer().errors(),
        };
        log.matches("panicked at").count()
    }
}

/// The password of the users.
pub(super) const PASSWORD: &str = "secret";
/// `echo -n secret | argon2 saltsalt -id -k 19456 -t 2 -p 1 -e`
const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$92afOaO5HFkPDEy/FOqeoc4VhqUq2buK7DWcBjdzd7s";
/// An object of the back end.
const OBJECT: &str = "object";

fn unclaimed() -> Ports {
    Ports {
        tcp: ports::unclaimed(),
        ws: ports::unclaimed(),
        ssl: ports::unclaimed(),
        metrics: ports::unclaimed(),
        callbacks: ports::unclaimed(),
        back_end: 0,
    }
}

fn port_of(endpoint: &str) -> u16 {
    let port = endpoint
        .rsplit(' ')
        .next()
        .and_then(|port| port.parse().ok());
    port.expect("the server names its port")
}

/// A server behind a gateway. It answers every object's pings, `large` with 900 kB, and `wait` after half a minute.
#[derive(Debug, Args)]
pub(crate) struct BackEnd {}

impl BackEnd {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
        let adapter = adapter.expect("loopback has a free port");
        let added = adapter.add_default("", Arc::new(Anything));
        added.expect("there is no other");
        adapter.activate();
        let port = adapter.endpoints()[0].port().unwrap_or_default();
        println!("ready tcp -h 127.0.0.1 -p {port}");
        let ended = tokio::task::spawn_blocking(wait_for_end);
        ended.await.expect("no panic");
        communicator.shutdown().await;
        ExitCode::SUCCESS
    }
}

struct Anything;

impl Dispatcher for Anything {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, answer);
    }
}

fn answer(request: Request) -> DispatchFuture {
    Box::pin(async move {
        match request.operation() {
            "large" => {
                let mut reply = i32::to_le_bytes(LARGE).to_vec();
                reply.extend([1, 1]);
                reply.resize(LARGE as usize, 0);
                request.respond(&Outcome::Returned(reply.into()))
            }
            "wait" => {
                tokio::time::sleep(Duration::from_secs(30)).await;
                request.returned_nothing()
            }
            _ => request.returned_nothing(),
        }
    })
}

/// Bytes of a large reply.
const LARGE: i32 = 900_000;
