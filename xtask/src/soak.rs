//! `cargo xtask soak` and `cargo xtask memory`: the package `floe-soak`, built as it is needed.

use crate::command::{cargo, succeeds};

/// Time of the load in the gate, in seconds.
const SMOKE_SECONDS: &str = "60";

/// The soak, optimised, with these options to it, or another part of it named first; whether it passed.
pub(crate) fn run(options: &[&str]) -> bool {
    match options {
        [role @ ("hub" | "isolation" | "stalled"), options @ ..] => {
            run_program(&["--release"], role, options)
        }
        options => run_program(&["--release"], "run", options),
    }
}

/// A minute of it, in the profile in which the gate has built everything already.
pub(crate) fn smoke() -> bool {
    run_program(&[], "run", &["--seconds", SMOKE_SECONDS])
}

/// What an optimised server takes of memory; whether it is within its bounds.
pub(crate) fn memory(options: &[&str]) -> bool {
    run_program(&["--release"], "memory", options)
}

/// Builds all programs of the package and the hub, for they start one another, and runs the first.
fn run_program(profile: &[&str], role: &str, options: &[&str]) -> bool {
    let package = ["--package", "floe-soak"];
    let hub = ["--package", "floe-cli"];
    let build = [&["build", "--quiet"], profile, &package, &hub, &["--bins"]].concat();
    let run = [
        &["run", "--quiet"],
        profile,
        &package,
        &["--", role],
        options,
    ]
    .concat();
    succeeds(&mut cargo(&build)) && succeeds(&mut cargo(&run))
}
