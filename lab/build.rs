//! Compiles the lab's contracts, and notes the compiler and the profile that the report names.

use std::path::Path;
use std::process::Command;

use floe_codegen::Build;

fn main() {
    compile(Build::new().file("contracts/Codec.ice"));
    let calls = Build::new().file("contracts/Calls.ice");
    compile(calls.external("::FloeLab", "crate::contender::codec::contract::floe_lab"));
    compile(Build::new().file("contracts/Events.ice").blocking());
    compile(Build::new().file("contracts/Durable.ice").blocking());
    let topics = Build::new().file("contracts/Topics.ice").blocking();
    compile(topics.external("::FloeLab", "crate::contender::codec::contract::floe_lab"));
    let documents = Build::new().file("contracts/Documents.ice");
    compile(documents.external("::FloeLab", "crate::contender::codec::contract::floe_lab"));
    println!("cargo:rustc-env=FLOE_LAB_RUSTC={}", rustc_version());
    println!("cargo:rustc-env=FLOE_LAB_PROFILE={}", profile());
}

fn compile(build: Build) {
    build.compile().unwrap_or_else(|error| error.exit());
}

/// As `rustc --version` says it.
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".to_owned())
}

/// The profile as cargo names its folder: `debug` for `dev`, else by its own name.
///
/// Cargo's variable `PROFILE` says `release` also for a profile that inherits from it, so the name comes from the path of
/// `OUT_DIR`, which is `<target>/<profile>/build/...`.
fn profile() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let out_dir = variable("OUT_DIR");
    let mut folders = Path::new(&out_dir).ancestors();
    let build = folders.find(|folder| folder.ends_with("build"));
    let profile = build.and_then(|folder| folder.parent()?.file_name());
    profile.map_or_else(
        || variable("PROFILE"),
        |name| name.to_string_lossy().into_owned(),
    )
}
