//! Packages of Python that read what Floe writes: recordings (`mcap`) and WSDL (`zeep`).
//!
//! Debian has no such packages, so they come from PyPI, each into a virtual environment of its own. The gate makes them be
//! there, too. If PyPI is out of reach, the gate says so and goes on, as it does with advisories (see
//! `docs/adr/0004-advisories-are-noted.md`).

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::{cargo, command, succeeds, succeeds_silently, succeeds_within};
use crate::workspace;

/// A package of Python, and the tests that need it.
pub(crate) struct PythonPeer {
    /// The module that is imported; the environment lies in a folder of this name.
    module: &'static str,
    /// Its name on PyPI, with the version that was tried.
    package: &'static str,
    /// The environment variable that tells tests where Python has the package.
    variable: &'static str,
    /// The note that follows if it cannot be had.
    job: &'static str,
    /// The test program of `floe-tests`.
    test: &'static str,
}

/// Reads recordings of `floe record`.
pub(crate) const MCAP: PythonPeer = PythonPeer {
    module: "mcap",
    package: "mcap==1.6.0",
    variable: "FLOE_MCAP_PYTHON",
    job: "it reads no recordings",
    test: "mcap",
};

/// Loads the WSDL of `floe slice wsdl`.
pub(crate) const ZEEP: PythonPeer = PythonPeer {
    module: "zeep",
    package: "zeep==4.3.3",
    variable: "FLOE_ZEEP_PYTHON",
    job: "it loads no WSDL",
    test: "worlds",
};

/// The environment variables of all peers, and their values: empty where a package cannot be had.
pub(crate) fn environment() -> Vec<(&'static str, PathBuf)> {
    let peers = [&MCAP, &ZEEP];
    peers.map(PythonPeer::environment).into()
}

impl PythonPeer {
    /// Runs the tests that need it, and returns whether they held.
    pub(crate) fn run(&self) -> bool {
        let Some(python) = self.python() else {
            return false;
        };
        let test = ["test", "--package", "floe-tests", "--test", self.test];
        succeeds(cargo(&test).env(self.variable, python))
    }

    fn environment(&self) -> (&'static str, PathBuf) {
        let python = self.python();
        if python.is_none() {
            let (package, job) = (self.package, self.job);
            eprintln!(
                "note: {package} for Python cannot be installed, so {job}; this fails nothing"
            );
        }
        (self.variable, python.unwrap_or_default())
    }

    /// The Python that the variable names, or a virtual environment that is made now.
    fn python(&self) -> Option<PathBuf> {
        if let Some(python) = env::var_os(self.variable) {
            return Some(python.into());
        }
        let folder = workspace::cache_dir().join(self.module);
        let python = folder.join("bin/python");
        let program = python.to_string_lossy();
        let import = format!("import {}", self.module);
        let is_there = || succeeds_silently(&mut command(&program, &["-c", &import]));
        let make = || {
            let venv = ["-m", "venv", &folder.to_string_lossy()];
            let install = ["-m", "pip", "install", "--quiet", self.package];
            succeeds(&mut command("python3", &venv))
                && succeeds_within(INSTALL_LIMIT, &mut command(&program, &install))
        };
        (is_there() || make()).then_some(python)
    }
}

/// PyPI may be out of reach, or slow.
const INSTALL_LIMIT: Duration = Duration::from_secs(120);
