//! Clients that harm a hub on purpose, one kind after another, and what others see of it meanwhile.
//!
//! - `canary.rs`: a client that calls and connects, and notes how long it waits
//! - `kinds.rs`: what the attackers do
//! - `transports.rs`: what they do with TLS, WebSockets and the metrics page
//! - `message.rs`: messages that no library would send

mod canary;
mod kinds;
mod message;
mod transports;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use floe::Communicator;
use floe_tests::certificates::Certificates;
use floe_tests::hub::Hub;
use floe_tests::ports;
use serde_json::json;

use crate::process;
use canary::{Canary, Waits};
use kinds::{KINDS, Ports, Target};

/// Attacks a hub, and measures how long its other clients wait
#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// Seconds of each kind of attack
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// The longest that another client may wait, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    worst: u64,
    /// The most that the hub may take, in MiB
    #[arg(long, default_value_t = 2_048)]
    memory: u64,
    /// Only the attacks whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The observations during an attack.
struct Seen {
    name: &'static str,
    waits: Waits,
    /// Bytes of the hub at most.
    resident: u64,
}

impl Attack {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let certificates = Certificates::make();
        let mut ports = Ports {
            tcp: 0,
            ws: ports::unclaimed(),
            ssl: ports::unclaimed(),
            metrics: ports::unclaimed(),
        };
        let path = |name| certificates.path(name).display().to_string();
        let mut hub = Hub::start(&[
            "--insecure",
            &format!("--listen=ws -h 127.0.0.1 -p {}", ports.ws),
            &format!("--listen=ssl -h 127.0.0.1 -p {}", ports.ssl),
            &format!("--tls-cert={}", path("server.pem")),
            &format!("--tls-key={}", path("server.key")),
            &format!("--metrics=127.0.0.1:{}", ports.metrics),
        ]);
        let id = hub.peer().id();
        ports.tcp = port_of(hub.endpoint());
        let client = Communicator::new();
        let canary = Canary::start(ports.tcp);
        let mut seen = Vec::new();
        tokio::time::sleep(Duration::from_secs(2)).await;
        seen.push(look("no attack", &canary, id));
        let chosen = KINDS
            .into_iter()
            .filter(|(name, _)| name.contains(&self.only));
        for (name, attack) in chosen {
            let target = Target::new(client.clone(), hub.manager(), ports, self.seconds);
            let attacking = attack(target);
            tokio::pin!(attacking);
            let mut resident = 0;
            loop {
                tokio::select! {
                    () = &mut attacking => break,
                    () = tokio::time::sleep(Duration::from_millis(50)) => {}
                }
                resident = resident.max(process::resident(id).unwrap_or_default());
            }
            let mut last = look(name, &canary, id);
            last.resident = last.resident.max(resident);
            println!("{last}");
            seen.push(last);
        }
        self.tell(&seen)
    }

    /// Says whether all waits and the memory are within bounds.
    fn tell(&self, seen: &[Seen]) -> ExitCode {
        let worst = Duration::from_millis(self.worst);
        let memory = self.memory << 20;
        let is_bad = |it: &&Seen| it.waits.worst() > worst || it.resident > memory;
        let bad: Vec<_> = seen.iter().filter(is_bad).map(|it| it.name).collect();
        if let Some(file) = &self.output {
            let rows: Vec<_> = seen.iter().map(Seen::json).collect();
            let text = json!({"attacks": rows, "beyond": bad}).to_string();
            if let Err(error) = fs::write(file, text) {
                eprintln!("cannot write \"{}\": {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        if bad.is_empty() {
            return ExitCode::SUCCESS;
        }
        eprintln!(
            "expected waits of at most {worst:?} and at most {} MiB, got more during: {}",
            self.memory,
            bad.join(", ")
        );
        ExitCode::FAILURE
    }
}

impl Seen {
    fn json(&self) -> serde_json::Value {
        let Waits {
            call,
            connect,
            calls,
        } = self.waits;
        json!({
            "attack": self.name,
            "worst_call_ms": call.as_secs_f64() * 1e3,
            "worst_connect_ms": connect.as_secs_f64() * 1e3,
            "calls": calls,
            "resident_mib": self.resident >> 20,
        })
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Waits {
            call,
            connect,
            calls,
        } = self.waits;
        write!(
            f,
            "{:<44} worst of {calls} calls {call:>10.1?}, worst connect {connect:>10.1?}, hub {:>5} MiB",
            self.name,
            self.resident >> 20
        )
    }
}

fn look(name: &'static str, canary: &Canary, id: u32) -> Seen {
    Seen {
        name,
        waits: canary.take(Instant::now()),
        resident: process::resident(id).unwrap_or_default(),
    }
}

fn port_of(endpoint: &str) -> u16 {
    let port = endpoint
        .rsplit(' ')
        .next()
        .and_then(|port| port.parse().ok());
    port.expect("the hub names its port")
}
