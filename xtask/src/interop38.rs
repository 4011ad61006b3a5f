//! `cargo xtask interop-38`: the interop tests with Ice 3.8 for Python.
//!
//! Outside the gate, because Debian has no Ice 3.8 and its package compiles for minutes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{cargo, command, first_line, succeeds, succeeds_silently};
use crate::workspace;

/// Runs the tests, and notes in [`RESULT`] what was run and whether it held; whether it did.
pub(crate) fn run() -> bool {
    let Some(python) = python() else {
        return false;
    };
    let python = python.to_string_lossy();
    let version = "import Ice, platform; print('Ice', Ice.stringVersion(), 'Python', platform.python_version())";
    let Some(version) = first_line(&mut command(&python, &["-c", version])) else {
        eprintln!("error: `{python}` cannot `import Ice`");
        return false;
    };
    if !version.starts_with("Ice 3.8.") {
        eprintln!("error: expected `{python}` to have Ice 3.8, got {version}");
        return false;
    }
    let mut tests = cargo(&TESTS);
    let passed = succeeds(tests.env(PYTHON, &*python));
    note(&version, passed) && passed
}

/// The Python that `FLOE_ICE38_PYTHON` names, or one that is built now.
fn python() -> Option<PathBuf> {
    match env::var_os(PYTHON) {
        Some(python) => Some(python.into()),
        None => build(&workspace::cache_dir().join("ice38")),
    }
}

/// A virtual environment with Ice in it; it is built once for each user.
fn build(folder: &Path) -> Option<PathBuf> {
    let python = folder.join("bin/python");
    let program = python.to_string_lossy();
    if succeeds_silently(&mut command(&program, &["-c", "import Ice"])) {
        return Some(python);
    }
    eprintln!(
        "note: building {PACKAGE} takes some ten minutes; {PYTHON} can name a Python that has it"
    );
    let Some(base) = BASES
        .iter()
        .find(|base| succeeds_silently(&mut command(base, &["-c", IS_NEW_ENOUGH])))
    else {
        eprintln!("error: none of {BASES:?} is Python 3.12 or later, which Ice 3.8 needs");
        return None;
    };
    let is_made = succeeds(&mut command(
        base,
        &["-m", "venv", &folder.to_string_lossy()],
    )) && succeeds(&mut command(&program, &["-m", "pip", "install", PACKAGE]));
    is_made.then_some(python)
}

fn note(version: &str, passed: bool) -> bool {
    let day = first_line(&mut command("date", &["-u", "+%Y-%m-%d"])).unwrap_or_default();
    let held = if passed { "held" } else { "did not hold" };
    let text = format!(
        "What `cargo xtask interop-38` found last. What it expects to differ is in tests/interop/ice/values/ice38.rs.\n\n\
         {day}: {version}: the conversation about classes, optionals and exceptions, in both encodings, with Floe as client\n\
         and as server, each side once with the newer contract; random values and exceptions; parts of graphs with cycles,\n\
         with Floe as client and as server; exceptions and classes of unknown types through a Floe servant; every line of a\n\
         runtime that docs/guides/interop.md marks, modes of requests and failing servant locators among them, over tcp, udp,\n\
         ssl, ws and wss, with Floe as client and as server, and certificates of all kinds; adapters that are held or have\n\
         limits of their own, on both sides; the operations of Ice's services, metrics of a server read with the built-in\n\
         contract, events through a hub, and clients and back ends on both sides of a gateway: {held}\n"
    );
    let path = workspace::root().join(RESULT);
    match fs::write(&path, text) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", path.display());
            false
        }
    }
}

const PYTHON: &str = "FLOE_ICE38_PYTHON";
const PACKAGE: &str = "zeroc-ice==3.8.3";
/// Pythons that Ice 3.8 runs with.
const BASES: [&str; 3] = ["python3.13", "python3.12", "python3"];
const IS_NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 12))";
const RESULT: &str = "tests/interop/ice38.txt";
const TESTS: [&str; 10] = [
    "test",
    "--package",
    "floe-tests",
    "--features",
    "ice38",
    "--test",
    "ice",
    "--",
    "ice38",
    "random::",
];
