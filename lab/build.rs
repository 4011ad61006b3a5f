//! Compiles the lab's contracts, and notes the compiler that the report names.

use std::process::Command;

fn main() {
    for contract in ["contracts/Calls.ice", "contracts/Codec.ice"] {
        floe_codegen::Build::new()
            .file(contract)
            .compile()
            .unwrap_or_else(|error| error.exit());
    }
    println!("cargo:rustc-env=FLOE_LAB_RUSTC={}", rustc_version());
}

/// As `rustc --version` says it.
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".to_owned())
}
