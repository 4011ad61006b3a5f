//! `cargo xtask interop-amqp`: our AMQP, as Qpid JMS and Proton for Python speak to it. The tests of bridges use the jars, too.
//!
//! Debian has Proton and Java, but not Qpid JMS, so that comes from Maven's repository. The gate makes it be there, too. If the repository
//! is out of reach, the gate says so and goes on, as it does with packages of Python (see `python_package.rs`).

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::{cargo, command, succeeds, succeeds_within};
use crate::workspace;

/// Runs the tests; whether they held.
pub(crate) fn run() -> bool {
    let Some(jars) = jars() else {
        return false;
    };
    succeeds(cargo(&TEST).env(JARS, jars))
}

/// The environment variable that tells tests where the jars are, and its value: empty if they cannot be had.
pub(crate) fn environment() -> (&'static str, PathBuf) {
    let jars = jars();
    if jars.is_none() {
        eprintln!(
            "note: Qpid JMS cannot be fetched, so no JMS program is served; this fails nothing"
        );
    }
    (JARS, jars.unwrap_or_default())
}

/// The folder that `FLOE_QPID_JMS` names, or one that is filled now.
fn jars() -> Option<PathBuf> {
    if let Some(folder) = env::var_os(JARS) {
        return Some(folder.into());
    }
    let folder = workspace::cache_dir().join("qpid-jms-2.10.0");
    let is_there = || NEEDED.iter().all(|jar| folder.join(jar).is_file());
    let fetch = || {
        let output = format!("-DoutputDirectory={}", folder.display());
        let project = workspace::root().join(PROJECT);
        let words = [
            "--quiet",
            "--batch-mode",
            "--file",
            &project.to_string_lossy(),
            "dependency:copy-dependencies",
            &output,
        ];
        succeeds_within(FETCH_LIMIT, &mut command("mvn", &words))
    };
    (is_there() || fetch() && is_there()).then_some(folder)
}

const JARS: &str = "FLOE_QPID_JMS";
/// The jars that programs name; the others belong to them.
const NEEDED: [&str; 2] = ["qpid-jms-client-2.10.0.jar", "jackson-databind-2.20.1.jar"];
const PROJECT: &str = "crates/amqp/tests/interop/pom.xml";
/// Maven's repository may be out of reach, or slow.
const FETCH_LIMIT: Duration = Duration::from_secs(300);
const TEST: [&str; 5] = ["test", "--package", "floe-amqp", "--test", "interop"];
