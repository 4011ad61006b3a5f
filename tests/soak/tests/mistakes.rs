//! The soak finds what is wrong: each mistake that a server makes on purpose.

use std::process::Command;

/// What a short soak says of a server that makes a mistake.
fn findings_with(mistake: &str) -> String {
    findings_after("8", mistake)
}

fn findings_after(seconds: &str, mistake: &str) -> String {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_floe-soak"));
    let run = soak.args(["run", "--seconds", seconds, "--mistake", mistake]);
    let output = run.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success(), "expected a failure, got:\n{said}");
    said
}

#[test]
fn a_call_that_is_executed_twice_is_found() {
    let said = findings_with("double");
    assert!(said.contains("executed more than once"), "{said}");
}

#[test]
fn a_call_that_is_answered_and_not_executed_is_found() {
    let said = findings_with("lose");
    assert!(said.contains("answered and never executed"), "{said}");
}

#[test]
fn a_panic_is_found() {
    let said = findings_with("panic");
    assert!(said.contains("members panicked"), "{said}");
}
