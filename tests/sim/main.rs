//! Simulation: both ends of a connection, joined by a bad network under a clock of its own.
//!
//! What runs here is what runs in production: the state machine of `floe-wire`, its messages, the send
//! queue with its flush policy, the liveness check, and the decision to retry. Callers, servants and the network around
//! them are drawn from a seed, and each run of a seed is the same.
//!
//! - `plan.rs`: what a seed decides; `random.rs`: how
//! - `world.rs`: the time, the connections, and what happens next; `trouble.rs`: what goes wrong
//! - `pipe.rs`: one direction of a stream
//! - `end.rs`: one end of a connection; `calling.rs`: who calls over it, and who answers
//! - `keepalive.rs`: heartbeats and idle checks of Floe, Ice 3.7 and Ice 3.8
//! - `liveness.rs`: the liveness check alone, over random events
//! - `book.rs`: what must hold of each call
//!
//! What must hold, whatever happens: a call ends exactly once; one that is not idempotent is
//! dispatched at most once, and never after its caller was told that it was not; requests of one
//! connection are dispatched in their order, without a gap; each close ends; no message stays in a
//! send queue that nothing will write; nothing passes its limit. If nothing but closes happens, no call is lost, and
//! each close ends before its time is over.
//!
//! ```text
//! cargo test -p floe-tests --test sim                              a few thousand seeds
//! FLOE_SIM_SEEDS=1000000 cargo test --release -p floe-tests --test sim
//! FLOE_SIM_SEED=77 FLOE_SIM_TRACE=1 cargo test -p floe-tests --test sim -- --nocapture
//! ```

mod book;
mod calling;
mod end;
mod keepalive;
mod liveness;
mod pipe;
mod plan;
mod random;
mod trouble;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use plan::Plan;
use random::Random;
use world::World;

/// Runs what a seed says.
fn run(seed: u64) {
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random);
    World::new(plan, random).run();
}

/// Runs a seed; if it fails, says how to run it again.
fn run_or_tell(seed: u64) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
        let plan = Plan::draw(&mut Random::new(seed));
        eprintln!("seed {seed} failed: {plan:#?}");
        eprintln!(
            "run it again: FLOE_SIM_SEED={seed} FLOE_SIM_TRACE=1 cargo test -p floe-tests --test sim -- --nocapture"
        );
        std::panic::resume_unwind(panic);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

#[test]
fn every_seed_keeps_what_is_promised() {
    if let Some(seed) = number("FLOE_SIM_SEED") {
        return run_or_tell(seed);
    }
    let first = number("FLOE_SIM_FIRST").unwrap_or(0);
    let count = number("FLOE_SIM_SEEDS").unwrap_or(SEED_COUNT);
    (first..first + count).for_each(run_or_tell);
}

/// Seeds that each run of the gate tries.
const SEED_COUNT: u64 = 1_000;
