//! The soak: servers and clients under mixed load, killed and paused at random, and audited afterwards; a hub
//! under full load, and beside subscribers that misbehave; and what servers take of memory.
//!
//! - `run/`: starts the members, kills them, watches them, audits what they noted
//! - `server.rs`, `client/`: the members
//! - `id.rs`, `journal.rs`: what they note
//! - `mistakes.rs`: what a server does wrong on purpose, to see it found
//! - `memory/`: memory of a server at rest and in a crowd
//! - `hub/`: a hub under load, and what its events came to
//! - `attack/`: clients that harm a hub or a gateway on purpose
//! - `member.rs`, `watch.rs`: a process that takes part; its memory and descriptors over time
//! - `process.rs`: what the system knows of a process
//!
//! `cargo xtask soak` and `cargo xtask memory` run it.

mod attack;
mod client;
mod contract;
mod hub;
mod id;
mod journal;
mod member;
mod memory;
mod mistakes;
mod process;
mod random;
mod run;
mod server;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "floe-soak",
    about = "Soak tests, and what servers take of memory"
)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Servers and clients under load for a while, killed and paused at random
    Run(run::Run),
    /// A hub under full load for a while, with subscribers that come and go
    Hub(hub::load::Load),
    /// A hub with some subscribers that misbehave: what the others see of it
    Isolation(hub::isolation::Isolation),
    /// A hub with one subscriber of four that is stopped: what the others get in each second
    Stalled(hub::stalled::Stalled),
    /// Attacks a hub or a gateway, and measures how long its other clients wait
    Attack(attack::Attack),
    /// A hub with batched publishers at full speed, and subscribers that stop, crawl and return
    Flood(hub::flood::Flood),
    /// Measures the memory of a server
    Memory(memory::Memory),
    #[command(hide = true)]
    Server(server::Server),
    #[command(hide = true)]
    Client(client::Client),
    #[command(hide = true)]
    BackEnd(attack::BackEnd),
    #[command(hide = true)]
    Listen(hub::listen::Listen),
    #[command(hide = true)]
    Hold(memory::roles::Hold),
    #[command(hide = true)]
    Crowd(memory::roles::Crowd),
}

fn main() -> ExitCode {
    match Arguments::parse().role {
        Role::Run(run) => run.run(),
        Role::Hub(load) => load.run(),
        Role::Isolation(isolation) => isolation.run(),
        Role::Stalled(stalled) => stalled.run(),
        Role::Attack(attack) => attack.run(),
        Role::Flood(flood) => flood.run(),
        Role::Memory(memory) => memory.run(),
        Role::Server(server) => server.run(),
        Role::Client(client) => client.run(),
        Role::BackEnd(back_end) => back_end.run(),
        Role::Listen(listen) => listen.run(),
        Role::Hold(hold) => hold.run(),
        Role::Crowd(crowd) => crowd.run(),
    }
}
