//! Cyclone DDS: where it is, and starting its peers.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};

/// The languages in which there is a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Cyclone DDS 0.10 of Debian.
    C,
    /// Cyclone DDS 11 of PyPI.
    Python,
}

/// Peers of Cyclone DDS.
pub(crate) struct Cyclone {
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

/// How peers find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discovery {
    Multicast,
    Peers,
}

impl Cyclone {
    /// The peer in a language; `None` after a skip is reported if it cannot be had.
    pub(crate) fn or_skip(language: Language) -> Option<Self> {
        match language {
            Language::C => match compiled() {
                Ok(program) => Some(Self {
                    program,
                    arguments: Vec::new(),
                }),
                Err(reason) => {
                    skip::report("cyclonedds", &reason);
                    None
                }
            },
            Language::Python => {
                let python = python_or_skip()?;
                Some(Self {
                    program: python.into(),
                    arguments: vec![folder().join("peer.py")],
                })
            }
        }
    }

    /// Starts a peer; see `peer.c` for what it takes and says.
    pub(crate) fn start(&self, discovery: Discovery, domain: u32, words: &str) -> Peer {
        let mut words: Vec<_> = words.split(' ').collect();
        let domain = domain.to_string();
        words.insert(1, &domain);
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(&words);
        command.env("CYCLONEDDS_URI", configuration(discovery));
        Peer::start("cyclonedds", &mut command)
    }
}

fn configuration(discovery: Discovery) -> &'static str {
    match discovery {
        Discovery::Multicast => {
            "<CycloneDDS><Domain id=\"any\"><General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/>\
             </Interfaces></General></Domain></CycloneDDS>"
        }
        Discovery::Peers => {
            "<CycloneDDS><Domain id=\"any\"><General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces>\
             <AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>\
             <Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>"
        }
    }
}

/// The peer in C, compiled if it is not up to date.
fn compiled() -> Result<PathBuf, String> {
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let output = workspace::target_dir().join("interop/dds");
    fs::create_dir_all(&output).map_err(|error| error.to_string())?;
    let program = output.join("peer");
    let sources = ["peer.c", "Telemetry.idl"].map(|name| folder().join(name));
    if is_newer(&program, &sources) {
        return Ok(program);
    }
    let [source, idl] = &sources;
    run(Command::new("idlc").arg(idl).current_dir(&output))?;
    let partial = output.join("peer.new");
    run(Command::new("cc")
        .args(["-O1", "-o"])
        .arg(&partial)
        .arg(source)
        .arg("Telemetry.c")
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

fn is_newer(program: &Path, sources: &[PathBuf]) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let made = time(program);
    made.is_some() && sources.iter().all(|source| time(source) < made)
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

fn folder() -> PathBuf {
    workspace::root().join("crates/rtps/tests/interop")
}
