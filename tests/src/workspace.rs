//! The workspace under test: where it is, and its programs.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the repository.
///
/// Cargo says at run time where that is; what the compiler knew is wrong in a checkout that was moved.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = package
            .ancestors()
            .find(|folder| folder.join("xtask").is_dir());
        root.expect("a package of the workspace lies below the root")
            .to_owned()
    })
}

/// The target folder that this test was built in.
pub fn target_dir() -> PathBuf {
    profile_dir()
        .parent()
        .expect("a profile's folder lies in the target folder")
        .to_owned()
}

/// A program of the workspace, such as `floe`, built in the profile of this test.
///
/// The first call in a process builds all programs of the workspace, so that they are never older than the test. Under
/// `cargo xtask test` they are built already, with the features that the tests have, and are taken as they are.
///
/// # Panics
/// If the workspace does not build, or has no such program.
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        if env::var_os(PROGRAMS_ARE_BUILT).is_none() {
            build_programs();
        }
    });
    let path = profile_dir().join(name);
    assert!(
        path.is_file(),
        "expected the workspace to have a program `{name}`, found no {}",
        path.display()
    );
    path
}

fn build_programs() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--workspace", "--bins"])
        .args(["--features", "floe-cli/full,floe-cli/lab"])
        .current_dir(root());
    build.arg("--target-dir").arg(target_dir());
    if profile_dir().ends_with("release") {
        build.arg("--release");
    }
    let status = build
        .status()
        .expect("cargo starts, since it started this test");
    assert!(
        status.success(),
        "expected the workspace's programs to build, got {status}"
    );
}

/// Cargo puts a test into `<target>/<profile>/deps`, and a program into the folder above.
fn profile_dir() -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let folder = test.parent().expect("a program lies in a folder");
    let is_deps = folder.ends_with("deps");
    let profile = folder.ancestors().nth(usize::from(is_deps));
    profile.expect("it lies in the target folder").to_owned()
}

/// Set by `cargo xtask test`.
const PROGRAMS_ARE_BUILT: &str = "FLOE_PROGRAMS_ARE_BUILT";
