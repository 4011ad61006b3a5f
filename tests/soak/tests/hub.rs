//! A hub that can be trusted: whatever some subscribers do, the others lose nothing, and the counts add up.
//! `cargo xtask soak hub` and `cargo xtask soak isolation` do the same for longer, with optimised programs.

use std::process::Command;

use floe_tests::workspace;

/// Returns the output of a part of the soak, which must pass.
fn passing(arguments: &[&str]) -> String {
    // It is found beside the soak.
    workspace::program("floe");
    let mut soak = Command::new(env!("CARGO_BIN_EXE_floe-soak"));
    let output = soak.args(arguments).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    said
}

#[test]
fn a_stopped_a_slow_and_a_dying_subscriber_cost_seventeen_others_no_event() {
    let said = passing(&[
        "isolation",
        "--rounds",
        "1",
        "--events",
        "3000",
        "--load",
        "12000",
        "--rate",
        "0",
    ]);
    assert!(said.ends_with("isolation: passed\n"), "{said}");
}

#[test]
fn a_hub_under_full_load_loses_nothing_that_was_promised_while_subscribers_come_and_go() {
    let said = passing(&["hub", "--seconds", "20"]);
    assert!(said.ends_with("hub: passed\n"), "{said}");
}

#[test]
fn a_stopped_subscriber_costs_three_others_no_event_at_a_steady_rate() {
    let said = passing(&["stalled", "--seconds", "5", "--rate", "5000"]);
    assert!(said.ends_with("stalled: passed\n"), "{said}");
}

#[test]
fn publishers_at_full_speed_cost_healthy_subscribers_no_event_while_others_stop_crawl_and_return() {
    // The patience is that of a busy machine: a healthy subscriber may not run for a second.
    let said = passing(&["flood", "--seconds", "10", "--patience", "3000"]);
    assert!(said.ends_with("flood: passed\n"), "{said}");
}
