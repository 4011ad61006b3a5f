//! The soak: servers and clients under mixed load, killed and paused at random, and audited afterwards; and
//! what a server takes of memory.
//!
//! - `run/`: starts the members, kills them, watches them, audits what they noted
//! - `server.rs`, `client/`: the members
//! - `id.rs`, `journal.rs`: what they note
//! - `mistakes.rs`: what a server does wrong on purpose, to see it found
//! - `memory/`: memory of a server at rest and in a crowd
//! - `process.rs`: what the system knows of a process
//!
//! `cargo xtask soak` and `cargo xtask memory` run it.

mod client;
mod contract;
mod id;
mod journal;
mod memory;
mod mistakes;
mod process;
mod random;
mod run;
mod server;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "floe-soak",
    about = "Soak test, and what servers take of memory"
)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Servers and clients under load for a while, killed and paused at random
    Run(run::Run),
    /// What a server takes of memory
    Memory(memory::Memory),
    #[command(hide = true)]
    Server(server::Server),
    #[command(hide = true)]
    Client(client::Client),
    #[command(hide = true)]
    Hold(memory::roles::Hold),
    #[command(hide = true)]
    Crowd(memory::roles::Crowd),
}

fn main() -> ExitCode {
    match Arguments::parse().role {
        Role::Run(run) => run.run(),
        Role::Memory(memory) => memory.run(),
        Role::Server(server) => server.run(),
        Role::Client(client) => client.run(),
        Role::Hold(hold) => hold.run(),
        Role::Crowd(crowd) => crowd.run(),
    }
}
