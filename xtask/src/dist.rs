//! The shipped parts: the `floe` program with manual pages and completions, as a Debian package and as static tarballs, with a bill of materials and
//! checksums; and their test.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{cargo, command, output_of, succeeds};
use crate::tarball;
use crate::tools::{CARGO_CYCLONEDX, CARGO_DEB};
use crate::workspace;

/// Builds the program, the package and the tarballs, and says what is in them; whether it succeeded.
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
    succeeds(&mut cargo(&program)) && write_documents() && artifacts().is_some()
}

/// All that is shipped beside the program itself.
fn artifacts() -> Option<()> {
    let mut files = tarball::make_all(&folder().join("package"), &folder())?;
    files.push(debian_package()?);
    files.push(bill_of_materials()?);
    write_checksums(&files).then_some(())
}

/// The packages that the program is made of, with versions, licences and checksums, in CycloneDX's JSON.
fn bill_of_materials() -> Option<PathBuf> {
    let manifest = workspace::root().join("crates/cli/Cargo.toml");
    let manifest_text = manifest.display().to_string();
    let words = [
        "--manifest-path",
        &manifest_text,
        "--features",
        "full",
        "--format",
        "json",
    ];
    let more = [
        "--target",
        "x86_64-unknown-linux-gnu",
        "--override-filename",
        BILL,
    ];
    let mut made = CARGO_CYCLONEDX.command(&[&words[..], &more].concat())?;
    if !succeeds(&mut made) {
        return None;
    }
    // The tool writes beside the manifest of each package of the workspace.
    let bill = folder().join("floe.cdx.json");
    let written = fs::copy(manifest.with_file_name(format!("{BILL}.json")), &bill);
    remove_bills(&workspace::root());
    written.is_ok().then_some(bill)
}

fn remove_bills(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name() != "target") {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_bills(&entry.path()),
            _ if entry.file_name().to_string_lossy() == format!("{BILL}.json") => {
                // It is one of ours, made anew by the next run.
                let _ = fs::remove_file(entry.path());
            }
            _ => {}
        }
    }
}

/// The name of the files of the tool, which no other file has.
const BILL: &str = "floe-bill-of-materials";

/// `SHA256SUMS`, as `sha256sum --check` reads it.
fn write_checksums(files: &[PathBuf]) -> bool {
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    let names: Vec<&str> = names.collect();
    let mut sums = command("sha256sum", &names);
    let sums = output_of(sums.current_dir(folder()));
    sums.is_some_and(|sums| fs::write(folder().join("SHA256SUMS"), sums).is_ok())
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
