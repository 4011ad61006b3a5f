//! The soak finds what is wrong: each mistake that a server makes on purpose.

use std::process::Command;

/// Returns the findings of a soak of this many seconds about a server that makes a mistake.
fn findings_with(mistake: &str, seconds: &str) -> String {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_floe-soak"));
    let run = soak.args(["run", "--seconds", seconds, "--mistake", mistake]);
    // Less than by default, so that a call that hangs is found soon; above the limits of the others.
    let output = run.args(["--patience", "12"]).output().expect("it starts");
    let [said, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    // It ends with 1 where it found something, and with another code where it could not be run.
    assert_eq!(
        output.status.code(),
        Some(1),
        "expected findings, got:\n{said}{errors}"
    );
    said
}

/// Long enough for mistakes of single calls.
const SHORT: &str = "8";
/// Long enough for growth: the warm-up, and the samples that say something.
const LONG: &str = "45";

#[test]
fn a_call_that_is_executed_twice_is_found() {
    let said = findings_with("double", SHORT);
    assert!(said.contains("executed more than once"), "{said}");
}

#[test]
fn a_call_that_is_answered_and_not_executed_is_found() {
    let said = findings_with("lose", SHORT);
    assert!(said.contains("answered and never executed"), "{said}");
}

#[test]
fn a_panic_is_found() {
    let said = findings_with("panic", SHORT);
    assert!(said.contains("members panicked"), "{said}");
}

#[test]
fn a_call_that_is_never_answered_is_found() {
    let said = findings_with("hang", SHORT);
    assert!(said.contains("not ended in time"), "{said}");
}

#[test]
fn descriptors_that_stay_open_are_found() {
    let said = findings_with("descriptors", SHORT);
    assert!(
        said.contains("descriptors when all clients had left"),
        "{said}"
    );
}

#[test]
fn memory_that_grows_is_found() {
    let said = findings_with("leak", LONG);
    assert!(said.contains("its memory grew from"), "{said}");
}
