//! `cargo xtask soak` and `cargo xtask memory`: the package `floe-soak`, built as it is needed, and tests of durable topics with larger
//! numbers than the gate has time for.

use std::time::SystemTime;

use crate::build;
use crate::command::{cargo, command, succeeds};

/// Time of the load in the gate, in seconds.
const SMOKE_SECONDS: &str = "60";

/// Events of a log of more than 10 GB.
const BACKLOG_EVENTS: &str = "10000000";
/// How often a hub is killed.
const KILLS: &str = "500";
/// Contracts whose Rust is compiled.
const RANDOM_CONTRACTS: &str = "1000";
/// Damaged messages, and as many damaged values.
const DAMAGED_INPUTS: &str = "100000000";

/// The soak, optimised, with these options to it, or another part of it named first; whether it passed.
pub(crate) fn run(options: &[&str]) -> bool {
    match options {
        [
            role @ ("attack" | "hub" | "isolation" | "stalled" | "flood"),
            options @ ..,
        ] => run_program(role, options),
        ["backlog"] => run_tests(BACKLOG, "FLOE_BACKLOG_EVENTS", BACKLOG_EVENTS),
        ["backlog", "--events", count] => run_tests(BACKLOG, "FLOE_BACKLOG_EVENTS", count),
        ["kills"] => run_tests(KILLED_EVENTS, "FLOE_DURABLE_ROUNDS", KILLS),
        ["kills", "--rounds", count] => run_tests(KILLED_EVENTS, "FLOE_DURABLE_ROUNDS", count),
        ["inputs"] => run_tests(INPUTS, "FLOE_DAMAGED_INPUTS", DAMAGED_INPUTS),
        ["inputs", "--count", count] => run_tests(INPUTS, "FLOE_DAMAGED_INPUTS", count),
        ["contracts", options @ ..] => random_contracts(options),
        options => run_program("run", options),
    }
}

/// Compiles what random contracts become, of seeds that no run before had unless one is given.
fn random_contracts(options: &[&str]) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs()).to_string();
    let (mut count, mut seed) = (RANDOM_CONTRACTS, &*now);
    for option in options.chunks(2) {
        match option {
            ["--count", number] => count = number,
            ["--seed", number] => seed = number,
            _ => {
                eprintln!(
                    "error: expected --count N or --seed N, got `{}`",
                    option.join(" ")
                );
                return false;
            }
        }
    }
    // In the profile of the gate: the time goes into the compiler, not into the generator.
    let words = [
        "test",
        "--package",
        "floe-tests",
        "--test",
        "generated",
        "--",
    ];
    let words = [&words[..], &["random_contracts::", "--nocapture"]].concat();
    let mut tests = cargo(&words);
    tests.env("FLOE_RANDOM_CONTRACTS", count);
    succeeds(tests.env("FLOE_RANDOM_SEED", seed))
}

/// Runs a minute of it with the programs that the gate has built for its tests.
pub(crate) fn smoke() -> bool {
    let soak = build::program("floe-soak").display().to_string();
    let words = ["run", "--seconds", SMOKE_SECONDS];
    build::workspace() && succeeds(command(&soak, &words).env(build::DONE, "1"))
}

/// Measures what optimised servers take of memory; whether it is within its bounds.
///
/// The hub is built by itself and without features, as for a small computer. In one build with the soak it would have all
/// features of the runtime, as Cargo unites them.
pub(crate) fn memory(options: &[&str]) -> bool {
    let hub = ["build", "--quiet", "--release", "--package", "floe-cli"];
    let hub = [&hub[..], &["--no-default-features"]].concat();
    succeeds(&mut cargo(&hub)) && build_programs(&[]) && run_built("memory", options)
}

/// Builds the optimised programs of the package and the hub, for they start one another, and runs the first.
fn run_program(role: &str, options: &[&str]) -> bool {
    build_programs(&["--package", "floe-cli"]) && run_built(role, options)
}

/// Builds the optimised programs of the package, and of these packages beside it.
fn build_programs(others: &[&str]) -> bool {
    let words = ["build", "--quiet", "--bins"];
    succeeds(&mut cargo(&[&words[..], &PACKAGE, others].concat()))
}

fn run_built(role: &str, options: &[&str]) -> bool {
    let words = ["run", "--quiet"];
    succeeds(&mut cargo(
        &[&words[..], &PACKAGE, &["--", role], options].concat(),
    ))
}

const PACKAGE: [&str; 3] = ["--release", "--package", "floe-soak"];

/// Runs optimised tests, of a program and with a name that contains a word, with a number that they take from a variable of
/// the environment.
fn run_tests((program, name): (&str, &str), variable: &str, count: &str) -> bool {
    let words = ["test", "--release", "--package", "floe-tests", "--test"];
    let words = [&words[..], &[program, "--", name, "--nocapture"]].concat();
    succeeds(cargo(&words).env(variable, count))
}

const BACKLOG: (&str, &str) = ("durable", "backlog::");
const KILLED_EVENTS: (&str, &str) = ("durable", "killed_events::");
/// All tests of the program.
const INPUTS: (&str, &str) = ("fuzz_corpora", "");
