//! The builds that the gate does not run: other systems, fewer features, the oldest Rust, and the interface of the last release.

use std::fs;
use std::process::Command;

use crate::command::{cargo, command, first_line, succeeds, succeeds_silently};
use crate::tools::CARGO_SEMVER_CHECKS;
use crate::workspace;

/// The crates without their optional features, which include all that compile C, for this system, Windows and macOS. One command checks all
/// three, so that they share the processors.
///
/// A system whose standard library is not installed, and cannot be, is left out with a note.
pub(crate) fn other_systems() -> bool {
    let has = |target: &&&str| {
        let is_there = succeeds_silently(&mut command("rustup", &["target", "add", target]));
        if !is_there {
            eprintln!(
                "note: NOT CHECKED: {target}: `rustup target add {target}` does not install it"
            );
        }
        is_there
    };
    let targets: Vec<&str> = OTHER_SYSTEMS.iter().filter(has).copied().collect();
    let mut words = vec![
        "check",
        "--quiet",
        "--no-default-features",
        "--target",
        "host-tuple",
    ];
    targets
        .iter()
        .for_each(|target| words.extend(["--target", target]));
    PORTABLE
        .iter()
        .for_each(|package| words.extend(["--package", package]));
    succeeds(&mut cargo(&words))
}

/// The tests of the command that are about what a build without features lacks.
pub(crate) fn plain_build() -> bool {
    let words = [
        "test",
        "--quiet",
        "--package",
        "floe-cli",
        "--no-default-features",
    ];
    let tests = ["--test", "capabilities", "--", "a_build_without"];
    succeeds(&mut cargo(&[&words[..], &tests].concat()))
}

/// Compiles the crates with the oldest Rust that they name, which is mostly the one that runs.
pub(crate) fn minimum_rust() -> bool {
    let Some(minimum) = declared_rust() else {
        eprintln!("error: expected `rust-version = \"...\"` in Cargo.toml, got none");
        return false;
    };
    let running = first_line(&mut command("rustc", &["--version"])).unwrap_or_default();
    if running.starts_with(&format!("rustc {minimum}.")) {
        eprintln!(
            "{running} is the oldest that the crates name: the build of the gate has checked it"
        );
        return true;
    }
    let toolchain = format!("+{minimum}");
    let install = ["toolchain", "install", "--profile", "minimal", &minimum];
    if !succeeds_silently(&mut command("rustup", &install)) {
        eprintln!(
            "note: NOT CHECKED: Rust {minimum}: `rustup toolchain install {minimum}` does not install it"
        );
        return true;
    }
    // The cargo that runs this task is of one toolchain, and only rustup's own chooses another.
    let mut check = Command::new("cargo");
    check.args([
        &toolchain,
        "check",
        "--quiet",
        "--workspace",
        "--target-dir",
    ]);
    check.arg(workspace::target_dir().join("minimum-rust"));
    check
        .current_dir(workspace::root())
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    succeeds(&mut check)
}

fn declared_rust() -> Option<String> {
    let manifest = fs::read_to_string(workspace::root().join("Cargo.toml")).ok()?;
    let mut lines = manifest.lines();
    let line = lines.find_map(|line| line.strip_prefix("rust-version = "))?;
    Some(line.trim().trim_matches('"').to_owned())
}

/// Compares the public interface of the libraries with that of the last release. A difference that breaks programs needs a higher version.
///
/// Before there is a tag, it says so and passes.
pub(crate) fn interface() -> bool {
    let describe = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let Some(tag) = first_line(&mut command("git", &describe)) else {
        eprintln!("note: NOT CHECKED: no tag v* yet, so there is no interface to compare with");
        return true;
    };
    let words = [
        "--workspace",
        "--exclude",
        "floe-cli",
        "--baseline-rev",
        &tag,
    ];
    let check = CARGO_SEMVER_CHECKS.command(&words);
    check.is_some_and(|mut check| succeeds(&mut check))
}

const OTHER_SYSTEMS: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// All that claims to run on more than Linux. The lab measures Linux alone.
const PORTABLE: [&str; 15] = [
    "floe-wire",
    "floe-giop",
    "floe-rtps",
    "floe-amqp",
    "floe-slice",
    "floe-codegen",
    "floe-dynamic",
    "floe",
    "floe-access",
    "floe-metrics",
    "floe-hub",
    "floe-gateway",
    "floe-bridges",
    "floe-server",
    "floe-cli",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_rust_is_declared_once_for_all() {
        let declared = declared_rust().expect("the workspace declares it");
        let numbers: Vec<&str> = declared.split('.').collect();
        assert!(
            numbers.iter().all(|number| number.parse::<u32>().is_ok()),
            "{declared}"
        );
    }
}
