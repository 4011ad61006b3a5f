//! The layout of the optimised program: what an idle hub has executed stands side by side, so that little else is
//! in its memory. See `docs/adr/0031-an-idle-hub-in-whole-pages.md`.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// The functions that stand together, as a linker script; made by `cargo xtask order`.
const SCRIPT: &str = "idle-hub.ld";
/// The addresses that the loader fills in, noted in a hundredth of the room; glibc 2.36 and later read it.
const SHORT_RELOCATIONS: &str = "-Wl,-z,pack-relative-relocs";

/// Asks for it where the linker can do it. A program without it works as well, and takes more memory.
pub(crate) fn ask_for() {
    println!("cargo:rerun-if-changed={SCRIPT}");
    let is = |name, wanted| env::var(name).is_ok_and(|value| value == wanted);
    let is_known = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if !is_known || !is("PROFILE", "release") {
        return;
    }
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let script = Path::new(&folder).join(SCRIPT);
    for argument in [
        format!("-Wl,-T,{}", script.display()),
        SHORT_RELOCATIONS.to_owned(),
    ] {
        if links_with(&argument) {
            println!("cargo:rustc-link-arg-bin=floe={argument}");
        }
    }
}

/// Whether the linker of this build takes an argument, for some know no scripts, and what it links starts on this machine,
/// for older loaders know no such relocations. What is built for another machine gets neither.
fn links_with(argument: &str) -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("nothing.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--edition", "2024", "--crate-name", "nothing", "--target"])
        .args([&variable("TARGET"), "--out-dir", &folder])
        .arg(source);
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    rustc.args(["-C", &format!("link-arg={argument}")]);
    succeeds(&mut rustc)
        && variable("HOST") == variable("TARGET")
        && succeeds(&mut Command::new(Path::new(&folder).join("nothing")))
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
