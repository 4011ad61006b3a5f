//! `cargo xtask interop-dds`: our participant of DDS with Cyclone DDS, in C of Debian and in Python of PyPI.
//!
//! The gate makes the Python be there, too. If PyPI is out of reach, the gate says so and goes on, as it does with recordings
//! (see `interop_mcap.rs`).

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::{cargo, command, succeeds, succeeds_silently, succeeds_within};
use crate::workspace;

/// Runs the test; whether it held.
pub(crate) fn run() -> bool {
    let Some(python) = python() else {
        return false;
    };
    succeeds(cargo(&TEST).env(PYTHON, python))
}

/// The environment variable that tells tests where Python has the package, and its value: empty if it cannot be had.
pub(crate) fn environment() -> (&'static str, PathBuf) {
    let python = python();
    if python.is_none() {
        eprintln!(
            "note: {PACKAGE} for Python cannot be installed, so it is no peer of DDS; this fails nothing"
        );
    }
    (PYTHON, python.unwrap_or_default())
}

/// The Python that `FLOE_DDS_PYTHON` names, or a virtual environment that is made now.
fn python() -> Option<PathBuf> {
    if let Some(python) = env::var_os(PYTHON) {
        return Some(python.into());
    }
    let folder = workspace::cache_dir().join("dds");
    let python = folder.join("bin/python");
    let program = python.to_string_lossy();
    let is_there = || succeeds_silently(&mut command(&program, &["-c", "import cyclonedds.idl"]));
    let make = || {
        let venv = ["-m", "venv", &folder.to_string_lossy()];
        succeeds(&mut command("python3", &venv))
            && succeeds_within(
                INSTALL_LIMIT,
                &mut command(&program, &["-m", "pip", "install", "--quiet", PACKAGE]),
            )
    };
    (is_there() || make()).then_some(python)
}

const PYTHON: &str = "FLOE_DDS_PYTHON";
const PACKAGE: &str = "cyclonedds==11.0.1";
/// PyPI may be out of reach, or slow.
const INSTALL_LIMIT: Duration = Duration::from_secs(120);
const TEST: [&str; 5] = ["test", "--package", "floe-rtps", "--test", "interop"];
