//! The one build that all steps of the gate share.
//!
//! Cargo compiles a crate again for each set of features, and the set depends on the packages and targets that a command
//! selects: without the tests, for example, dependencies have fewer features than with them. Every step that needs a
//! program therefore takes the one that this build has made.

use std::path::PathBuf;

use crate::command::{cargo, succeeds};
use crate::workspace;

/// The environment variable that tells tests that the programs which they start are built.
///
/// `floe_tests::workspace` reads it.
pub(crate) const DONE: &str = "FLOE_PROGRAMS_ARE_BUILT";

/// The features of the command in each step: with all of them its tests try everything.
///
/// Libraries need no word here, because each names its own features for its tests.
pub(crate) const FEATURES: [&str; 2] = ["--features", "floe-cli/full,floe-cli/lab"];

/// Builds all programs and tests of the workspace in the profile that the tests use; whether it succeeded.
pub(crate) fn workspace() -> bool {
    let words = [&["build", "--workspace", "--all-targets"][..], &FEATURES].concat();
    succeeds(&mut cargo(&words))
}

/// Where [`workspace`] puts the program `name`.
pub(crate) fn program(name: &str) -> PathBuf {
    workspace::target_dir().join("debug").join(name)
}
