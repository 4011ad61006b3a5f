//! Cyclone DDS: its peers in C (Debian) and Python (PyPI).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use floe_codegen::{Idl, generate_idl};
use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};

use crate::event;

/// The language of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Cyclone DDS 0.10 of Debian.
    C,
    /// Cyclone DDS 11 of PyPI.
    Python,
}

/// Starts the peer with its arguments; `None` is a visible skip, because it cannot be had.
pub(crate) fn peer(language: Language, arguments: &[&str]) -> Option<Peer> {
    let mut command = match language {
        Language::C => match compiled() {
            Ok(program) => Command::new(program),
            Err(reason) => {
                skip::report("cyclonedds", &reason);
                return None;
            }
        },
        Language::Python => {
            let mut command = Command::new(python_or_skip()?);
            command.arg(workspace::root().join("examples/worlds/dds.py"));
            command
        }
    };
    Some(start(command.args(arguments)))
}

/// Starts a program of Python; `None` as [`peer`].
pub(crate) fn python(program: &str) -> Option<Peer> {
    Some(start(Command::new(python_or_skip()?).args(["-c", program])))
}

fn start(command: &mut Command) -> Peer {
    command.env("CYCLONEDDS_URI", ON_LOOPBACK_WITHOUT_MULTICAST);
    Peer::start("cyclonedds", command)
}

/// The Python that can import cyclonedds. The gate says by an empty name that PyPI is out of reach, which fails nothing.
fn python_or_skip() -> Option<OsString> {
    let python = env::var_os("FLOE_DDS_PYTHON");
    if python.is_none() {
        skip::report(
            "cyclonedds for Python",
            "FLOE_DDS_PYTHON names no Python: cargo xtask interop-dds provides one",
        );
    }
    python.filter(|python| !python.is_empty())
}

const ON_LOOPBACK_WITHOUT_MULTICAST: &str = "<CycloneDDS><Domain id=\"any\"><General><Interfaces>\
    <NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast></General><Discovery>\
    <ParticipantIndex>auto</ParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>";

/// The peer in C, with the types that `idlc` makes of the contract's IDL; compiled if it is not up to date.
fn compiled() -> Result<PathBuf, String> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let output = workspace::target_dir().join("interop/bridges/dds");
    fs::create_dir_all(&output).map_err(|error| error.to_string())?;
    let (program, source) = (output.join("peer"), folder().join("peer.c"));
    let contract = event::contract();
    let (idl, _) =
        generate_idl(contract.model(), Idl::Dds).map_err(|errors| format!("{errors:?}"))?;
    let idl_file = output.join("Worlds.idl");
    let is_same = fs::read_to_string(&idl_file).is_ok_and(|written| written == idl);
    if is_same && is_newer(&program, &source) {
        return Ok(program);
    }
    fs::write(&idl_file, idl).map_err(|error| error.to_string())?;
    run(Command::new("idlc").arg("Worlds.idl").current_dir(&output))?;
    let partial = output.join("peer.new");
    run(Command::new("cc")
        .args(["-O1", "-o"])
        .arg(&partial)
        .arg(source)
        .arg("Worlds.c")
        .args(["-I.", "-lddsc"])
        .current_dir(&output))?;
    fs::rename(&partial, &program).map_err(|error| error.to_string())?;
    Ok(program)
}

fn run(command: &mut Command) -> Result<(), String> {
    let hint = "cargo xtask install provides cyclonedds-dev and cyclonedds-tools";
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}; {hint}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command:?}: {}; {hint}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn is_newer(program: &Path, source: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let made = time(program);
    made.is_some() && time(source) < made
}

fn folder() -> PathBuf {
    workspace::root().join("tests/interop/bridges/peers/dds")
}
