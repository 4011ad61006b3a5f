//! The shipped parts: the `floe` program with manual pages and completions, as a Debian package; and its test.

use std::fs;
use std::path::PathBuf;

use crate::command::{cargo, command, succeeds};
use crate::tools::CARGO_DEB;
use crate::workspace;

/// Builds the program and the package; whether it succeeded.
pub(crate) fn build() -> bool {
    let words = [
        "build",
        "--locked",
        "--profile",
        "dist",
        "--package",
        "floe-cli",
    ];
    let program = [&words[..], &["--features", "full"]].concat();
    succeeds(&mut cargo(&program)) && write_documents() && debian_package().is_some()
}

/// Installs the package on this machine, starts the hub as its unit does, publishes an event, and removes all again.
pub(crate) fn test() -> bool {
    let Some(package) = debian_package() else {
        return false;
    };
    let script = workspace::root().join("xtask/src/dist-test.sh");
    let (script, package) = (script.display().to_string(), package.display().to_string());
    succeeds(&mut command("sh", &[&script, &package]))
}

/// Packs each crate for crates.io, and builds it from what is packed.
pub(crate) fn crates() -> bool {
    let packages = PUBLISHED.iter().flat_map(|name| ["--package", name]);
    let words: Vec<&str> = ["package", "--locked"]
        .into_iter()
        .chain(packages)
        .collect();
    succeeds(&mut cargo(&words))
}

/// The crates that stand on crates.io, from the lowest up.
const PUBLISHED: [&str; 15] = [
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
    "floe-server",
    "floe-lab",
    "floe-cli",
];

/// Has the program write its own manual pages and completions, where the manifest looks for them.
fn write_documents() -> bool {
    let folder = folder().join("package");
    let man = folder.join("man").display().to_string();
    let completions = folder.join("completions");
    if let Err(error) = fs::create_dir_all(&completions) {
        eprintln!("error: cannot make {}: {error}", completions.display());
        return false;
    }
    let floe = program();
    let shells = [
        ("bash", "floe.bash"),
        ("zsh", "_floe"),
        ("fish", "floe.fish"),
    ];
    let written = shells.iter().all(|(shell, name)| {
        let output = command(&floe, &["completions", shell]).output();
        let text = output.ok().filter(|output| output.status.success());
        text.is_some_and(|output| fs::write(completions.join(name), output.stdout).is_ok())
    });
    if !written {
        eprintln!("error: {floe} does not write its completions");
    }
    written && succeeds(&mut command(&floe, &["man", &man]))
}

/// The Debian package, made from what is built.
fn debian_package() -> Option<PathBuf> {
    let package = folder().join("floe.deb");
    let output = package.display().to_string();
    let words = [
        "--package",
        "floe-cli",
        "--no-build",
        "--profile",
        "dist",
        "--output",
        &output,
    ];
    let mut made = CARGO_DEB.command(&words)?;
    succeeds(&mut made).then_some(package)
}

fn program() -> String {
    folder().join("floe").display().to_string()
}

fn folder() -> PathBuf {
    workspace::target_dir().join("dist")
}
