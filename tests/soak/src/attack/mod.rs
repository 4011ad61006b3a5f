//! Clients that harm a hub or a gateway on purpose, one kind after another, and what others see of it meanwhile.
//!
//! - `canary.rs`: a client that calls and connects, and notes how long it waits
//! - `server.rs`, `target.rs`: the server that is attacked, and how clients reach it
//! - `shared.rs`, `kinds.rs`, `gateway.rs`: what the attackers do to both, to a hub and to a gateway
//! - `transports.rs`: what they do with TLS, WebSockets and the metrics page
//! - `message.rs`: messages that no library would send

mod canary;
mod gateway;
mod kinds;
mod message;
mod server;
mod shared;
mod target;
mod transports;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use floe::Communicator;
use floe_tests::certificates::Certificates;
use serde_json::json;

use crate::process;
use canary::{Canary, Waits};
pub(crate) use server::BackEnd;
use server::{Passwords, Server, Which};
use target::{Kind, Target};

/// Attacks a hub or a gateway, and measures how long its other clients wait
#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// The server that is attacked
    #[arg(long, value_enum, default_value = "hub")]
    target: Which,
    /// Seconds of each kind of attack
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// The longest that another client may wait, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    worst: u64,
    /// The most that the server may take, in MiB
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
    /// How many panics the server had logged at the end.
    panics: usize,
    /// Bytes of the server at most.
    resident: u64,
}

impl Attack {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let certificates = Certificates::make();
        let mut seen = Vec::new();
        match self.target {
            Which::Hub => {
                let kinds = shared::KINDS.into_iter().chain(kinds::KINDS);
                let hub = || Server::hub(&certificates);
                self.attack(hub, kinds, &mut seen).await;
            }
            Which::Gateway => {
                let kinds = shared::KINDS.into_iter().chain(gateway::KINDS);
                let gateway = || Server::gateway(&certificates, Passwords::Any);
                self.attack(gateway, kinds, &mut seen).await;
                let gateway = || Server::gateway(&certificates, Passwords::File);
                self.attack(gateway, gateway::LOGINS, &mut seen).await;
            }
        }
        if seen.is_empty() {
            eprintln!(
                "expected --only to be in the name of an attack, got {:?}: without it, all of them run and are named",
                self.only
            );
            return ExitCode::FAILURE;
        }
        self.tell(&seen)
    }

    /// Starts a server, and runs the chosen attacks against it.
    async fn attack(
        &self,
        start: impl FnOnce() -> Server,
        kinds: impl IntoIterator<Item = (&'static str, Kind)>,
        seen: &mut Vec<Seen>,
    ) {
        let kinds = kinds.into_iter();
        let chosen: Vec<_> = kinds
            .filter(|(name, _)| name.contains(&self.only))
            .collect();
        if chosen.is_empty() {
            return;
        }
        let mut server = start();
        let id = server.id();
        let client = Communicator::new();
        let canary = Canary::start(server.ports.tcp, server.entry.clone());
        tokio::time::sleep(Duration::from_secs(2)).await;
        let none = look("no attack", &canary, id);
        println!("{none}");
        seen.push(none);
        let mut panics = 0;
        for (name, attack) in chosen {
            let (manager, entry) = (server.manager.clone(), server.entry.clone());
            let target = Target::new(client.clone(), manager, entry, server.ports, self.seconds);
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
            last.panics = server.panics() - panics;
            panics += last.panics;
            println!("{last}");
            seen.push(last);
        }
        canary.stop();
    }

    /// Says whether all waits and the memory are within bounds.
    fn tell(&self, seen: &[Seen]) -> ExitCode {
        let worst = Duration::from_millis(self.worst);
        let memory = self.memory << 20;
        let is_bad = |it: &&Seen| {
            it.waits.worst() > worst
                || it.waits.failures > 0
                || it.panics > 0
                || it.resident > memory
        };
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
            "expected waits of at most {worst:?}, no failure and at most {} MiB, got more during: {}",
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
            failures,
        } = self.waits;
        json!({
            "attack": self.name,
            "worst_call_ms": call.as_secs_f64() * 1e3,
            "worst_connect_ms": connect.as_secs_f64() * 1e3,
            "calls": calls,
            "failures": failures,
            "panics": self.panics,
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
            failures,
        } = self.waits;
        write!(
            f,
            "{:<44} worst of {calls} calls {call:>10.1?}, worst connect {connect:>10.1?}, {:>5} MiB",
            self.name,
            self.resident >> 20
        )?;
        match (failures, self.panics) {
            (0, 0) => Ok(()),
            (failures, panics) => write!(f, ", {failures} failed, {panics} panics"),
        }
    }
}

fn look(name: &'static str, canary: &Canary, id: u32) -> Seen {
    Seen {
        name,
        waits: canary.take(Instant::now()),
        panics: 0,
        resident: process::resident(id).unwrap_or_default(),
    }
}
