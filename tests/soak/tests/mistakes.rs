//! The soak finds what is wrong: each mistake that a server makes on purpose.

use std::process::Command;

/// What a short soak says of a server that makes a mistake.
fn findings_with(mistake: &str) -> String {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_floe-soak"));
    let run = soak.args(["run", "--seconds", "8", "--mistake", mistake]);
    // Less than by default, so that a call that hangs is found soon; above the limits of the others.
    let output = run.args(["--patience", "12"]).output().expect("it starts");
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

#[test]
fn a_call_that_is_never_answered_is_found() {
    let said = findings_with("hang");
    assert!(said.contains("not ended in time"), "{said}");
}
