//! The memory of a server: idle, with many idle connections, and with many concurrent callers; and the memory that a
//! hub and a gateway take.
//!
//! The server is a process of its own, with one adapter over tcp; its peers are others.
//!
//! - `hub.rs`: the hub; `gateway.rs`: the gateway
//! - `roles.rs`: what those processes do
//! - `talker.rs`: a process that is told what to do, line by line
//! - `figure.rs`: a figure and its bound

mod figure;
mod gateway;
mod hub;
pub(crate) mod roles;
mod talker;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::process;
use figure::Figure;
use talker::Talker;

/// An idle server stays below this many resident bytes.
const IDLE_MAX: u64 = 5_000_000;
/// [`IDLE_MAX`] for a build without optimisation, whose code is several times as long.
const IDLE_MAX_DEV: u64 = 12_000_000;
/// An idle connection stays below this many bytes beyond the kernel's.
const CONNECTION_MAX: u64 = 4_000;
/// A server that many clients call at once grows by no more than this after the warm-up: what the
/// allocator's places for threads differ by from one round to another.
const CROWD_GROWTH_MAX: u64 = 512 * 1024;
/// Within this time the server looks at each connection twice: it does so each second.
const QUIET: Duration = Duration::from_secs(4);
/// Rounds of calls before the crowd's memory counts, and after.
const WARM_UP_ROUNDS: usize = 5;
const ROUNDS: usize = 20;
/// Descriptors of a process that are not connections of the test.
const OTHER_DESCRIPTORS: usize = 200;

/// Measures what a server, a hub and a gateway take of memory, and fails if that is too much.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// How many idle connections to make; fewer where the system allows no more descriptors
    #[arg(long, default_value_t = 10_000)]
    connections: usize,
    /// How many clients call at once
    #[arg(long, default_value_t = 1_000)]
    clients: usize,
    /// How many topics the hub has
    #[arg(long, default_value_t = 10_000)]
    topics: usize,
    /// How many subscribers one of them has
    #[arg(long, default_value_t = 1_000)]
    subscribers: usize,
    /// How many sessions the gateway has
    #[arg(long, default_value_t = 1_000)]
    sessions: usize,
}

impl Memory {
    pub(crate) fn run(&self) -> ExitCode {
        let limit = process::raise_descriptor_limit();
        let most = limit.saturating_sub(OTHER_DESCRIPTORS);
        let mut figures = vec![idle()];
        figures.extend(idle_connections(self.connections.min(most)));
        figures.extend(crowd(self.clients.min(most)));
        figures.extend(hub::figures(self.topics, self.subscribers));
        figures.push(gateway::figure(self.sessions.min(most)));
        figures.iter().for_each(|figure| println!("{figure}"));
        let broken = figures.iter().filter(|figure| !figure.holds()).count();
        match broken {
            0 => {
                println!("memory: passed");
                ExitCode::SUCCESS
            }
            count => {
                println!("memory: {count} of {} figures too high", figures.len());
                ExitCode::FAILURE
            }
        }
    }
}

fn idle() -> Figure {
    process::forget_pages(&talker::server_program()).expect("the program can be read");
    let server = Talker::server();
    let limit = if cfg!(debug_assertions) {
        IDLE_MAX_DEV
    } else {
        IDLE_MAX
    };
    Figure::bytes("idle server", server.resident(), limit)
}

fn idle_connections(count: usize) -> Vec<Figure> {
    let server = Talker::server();
    let address = server.first_line().to_owned();
    let before = server.written();
    let mut holder = Talker::start("hold", &[&address, &count.to_string()]);
    let share = |server: &Talker| server.written().saturating_sub(before) / count as u64;
    // Each has got its first message, so the server has started them all.
    let fresh = share(&server);
    holder.ask("ping");
    let used = share(&server);
    holder.ask("burst");
    // A connection gives up what it wrote with when nothing was written from one look to the next.
    thread::sleep(QUIET);
    let calm = share(&server);
    let name = |kind| format!("each of {count} connections, {kind}");
    vec![
        Figure::bytes(&name("idle from the start"), fresh, CONNECTION_MAX),
        Figure::bytes(&name("idle after a call"), used, CONNECTION_MAX),
        Figure::bytes(&name("idle after a burst"), calm, CONNECTION_MAX),
    ]
}

fn crowd(count: usize) -> Vec<Figure> {
    let server = Talker::server();
    let mut crowd = Talker::start("crowd", &[server.first_line(), &count.to_string()]);
    let mut failures = 0;
    let mut rounds = |count| {
        for _ in 0..count {
            let failed = crowd.ask("call");
            failures += failed.parse::<u64>().expect("a count of failures");
        }
    };
    rounds(WARM_UP_ROUNDS);
    let before = server.written();
    rounds(ROUNDS);
    let growth = server.written().saturating_sub(before);
    let name = |what| format!("{count} clients at once, {what}");
    vec![
        Figure::count(&name("failed calls"), failures, 0),
        Figure::bytes(&name("growth after warm-up"), growth, CROWD_GROWTH_MAX),
    ]
}
