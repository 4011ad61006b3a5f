//! Compiles the lab's contracts, and notes the compiler that the report names.

use std::process::Command;

use floe_codegen::Build;

fn main() {
    compile(Build::new().file("contracts/Codec.ice"));
    let calls = Build::new().file("contracts/Calls.ice");
    compile(calls.external("::FloeLab", "crate::contender::codec::contract::floe_lab"));
    compile(Build::new().file("contracts/Events.ice").blocking());
    println!("cargo:rustc-env=FLOE_LAB_RUSTC={}", rustc_version());
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
