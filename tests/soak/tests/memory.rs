//! The memory of a server, in the profile of the tests. `cargo xtask memory` prints the figures of optimised
//! programs.

use std::process::Command;

#[test]
fn idle_connections_a_crowd_of_clients_and_a_hub_stay_within_their_bounds() {
    // It is found beside the soak.
    floe_tests::workspace::program("floe");
    let mut memory = Command::new(env!("CARGO_BIN_EXE_floe-soak"));
    let output = memory.arg("memory").output().expect("it starts");
    let figures = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{figures}\n{errors}");
    assert!(figures.ends_with("memory: passed\n"), "{figures}");
}
