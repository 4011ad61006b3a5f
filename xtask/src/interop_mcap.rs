//! `cargo xtask interop-mcap`: recordings, read by the `mcap` package of Python.
//!
//! Outside the gate, because Debian has no such package.

use std::env;
use std::path::PathBuf;

use crate::command::{cargo, command, succeeds, succeeds_silently};
use crate::workspace;

/// Runs the test; whether it held.
pub(crate) fn run() -> bool {
    let Some(python) = python() else {
        return false;
    };
    succeeds(cargo(&TEST).env(PYTHON, python))
}

/// The Python that `FLOE_MCAP_PYTHON` names, or a virtual environment that is made now.
fn python() -> Option<PathBuf> {
    if let Some(python) = env::var_os(PYTHON) {
        return Some(python.into());
    }
    let folder = workspace::cache_dir().join("mcap");
    let python = folder.join("bin/python");
    let program = python.to_string_lossy();
    let is_there = || succeeds_silently(&mut command(&program, &["-c", "import mcap"]));
    let make = || {
        let venv = ["-m", "venv", &folder.to_string_lossy()];
        succeeds(&mut command("python3", &venv))
            && succeeds(&mut command(&program, &["-m", "pip", "install", PACKAGE]))
    };
    (is_there() || make()).then_some(python)
}

const PYTHON: &str = "FLOE_MCAP_PYTHON";
const PACKAGE: &str = "mcap==1.6.0";
const TEST: [&str; 7] = [
    "test",
    "--package",
    "floe-tests",
    "--features",
    "mcap",
    "--test",
    "mcap",
];
