//! Packages of Python that Debian does not have: they come from PyPI, into a virtual environment each in the cache folder.
//!
//! The gate makes them be there. If PyPI is out of reach, the gate says so and goes on, as it does with advisories (see
//! `docs/adr/0004-advisories-are-noted.md`).

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::{cargo, command, succeeds, succeeds_silently, succeeds_within};
use crate::workspace;

/// A package, and the tests that need it.
pub(crate) struct PythonPackage {
    /// The package as pip takes it, with the version that was tried.
    package: &'static str,
    /// A module that is there if the package is. It can be found without the package's own libraries.
    module: &'static str,
    /// The folder in the cache.
    folder: &'static str,
    /// The environment variable that tells tests where Python has the package.
    variable: &'static str,
    /// The package and the name of the test program.
    test: [&'static str; 2],
    /// The tests that do not run without it.
    without: &'static str,
}

/// Reads recordings.
pub(crate) const MCAP: PythonPackage = PythonPackage {
    package: "mcap==1.6.0",
    module: "mcap",
    folder: "mcap",
    variable: "FLOE_MCAP_PYTHON",
    test: ["floe-tests", "mcap"],
    without: "it reads no recordings",
};

/// omniORB for Python, with an omniORB of its own.
pub(crate) const OMNIORB: PythonPackage = PythonPackage {
    package: "cmeel-omniorbpy==4.3.1",
    module: "cmeel",
    folder: "omniorb",
    variable: "FLOE_OMNIORB_PYTHON",
    test: ["floe-tests", "corba"],
    without: "no CORBA program speaks to floe-giop",
};

/// Cyclone DDS for Python, with a Cyclone DDS of its own.
pub(crate) const CYCLONE_DDS: PythonPackage = PythonPackage {
    package: "cyclonedds==11.0.1",
    module: "cyclonedds",
    folder: "dds",
    variable: "FLOE_DDS_PYTHON",
    test: ["floe-rtps", "interop"],
    without: "it is no peer of DDS",
};

/// Loads the WSDL of `floe slice wsdl`.
pub(crate) const ZEEP: PythonPackage = PythonPackage {
    package: "zeep==4.3.3",
    module: "zeep",
    folder: "zeep",
    variable: "FLOE_ZEEP_PYTHON",
    test: ["floe-tests", "worlds"],
    without: "it loads no WSDL",
};

/// All of them.
pub(crate) const ALL: [PythonPackage; 4] = [MCAP, OMNIORB, CYCLONE_DDS, ZEEP];

impl PythonPackage {
    /// Runs the tests; whether they held.
    pub(crate) fn run_tests(&self) -> bool {
        let Some(python) = self.python() else {
            return false;
        };
        let [package, program] = self.test;
        let test = ["test", "--package", package, "--test", program];
        succeeds(cargo(&test).env(self.variable, python))
    }

    /// The environment variable for the tests and its value: empty if the package cannot be had.
    pub(crate) fn environment(&self) -> (&'static str, PathBuf) {
        let python = self.python();
        if python.is_none() {
            eprintln!(
                "note: {} for Python cannot be installed, so {}; this fails nothing",
                self.package, self.without
            );
        }
        (self.variable, python.unwrap_or_default())
    }

    /// The Python that the variable names, or a virtual environment that is made now.
    fn python(&self) -> Option<PathBuf> {
        if let Some(python) = env::var_os(self.variable) {
            return Some(python.into());
        }
        let folder = workspace::cache_dir().join(self.folder);
        let python = folder.join("bin/python");
        let program = python.to_string_lossy();
        let find = format!(
            "import importlib.util, sys; sys.exit(importlib.util.find_spec('{}') is None)",
            self.module
        );
        let is_there = || succeeds_silently(&mut command(&program, &["-c", &find]));
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
const INSTALL_LIMIT: Duration = Duration::from_secs(180);
