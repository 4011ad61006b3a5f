//! The crates as crates.io gets them: packed, built from what is packed, and used by a project that knows their versions alone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{cargo, command, output_of, succeeds};
use crate::workspace;

/// Packs each crate that is published, in the order of their dependencies, and builds it from what is packed.
///
/// Nothing is uploaded. `cargo` leaves out packages with `publish = false`.
pub(crate) fn pack() -> bool {
    let words = [
        "publish",
        "--workspace",
        "--dry-run",
        "--locked",
        "--allow-dirty",
    ];
    succeeds(&mut cargo(&words))
}

/// Installs the command from the packed crates into an empty folder, and builds and runs a project outside the repository that depends on
/// their versions.
pub(crate) fn test() -> bool {
    let words = [
        "package",
        "--workspace",
        "--no-verify",
        "--locked",
        "--allow-dirty",
    ];
    if !succeeds(&mut cargo(&words)) {
        return false;
    }
    let place = std::env::temp_dir().join(format!("floe-crates-{}", std::process::id()));
    let passed = unpacked(&place)
        .is_some_and(|crates| installs(&place) && builds_a_project(&place, &crates));
    // What is left behind is in the folder of temporary files.
    let _ = fs::remove_dir_all(&place);
    passed
}

/// Unpacks the packed crates into a folder below `place`, and has cargo take them there for crates.io's. Returns their names.
fn unpacked(place: &Path) -> Option<Vec<String>> {
    let folder = place.join("crates");
    fs::create_dir_all(&folder).ok()?;
    let packed = fs::read_dir(workspace::target_dir().join("package")).ok()?;
    let ending = format!("-{}.crate", env!("CARGO_PKG_VERSION"));
    let files = packed.flatten().map(|entry| entry.path());
    let packed: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(&ending))
        .collect();
    let mut names = Vec::new();
    let mut patches = "[patch.crates-io]\n".to_owned();
    for file in &packed {
        let (file, to) = (file.display().to_string(), folder.display().to_string());
        if !succeeds(&mut command("tar", &["-xzf", &file, "-C", &to])) {
            return None;
        }
        let name = file
            .rsplit('/')
            .next()
            .and_then(|name| name.strip_suffix(&ending))?;
        let at = folder.join(format!("{name}-{}", env!("CARGO_PKG_VERSION")));
        patches += &format!("{name} = {{ path = {:?} }}\n", at.display().to_string());
        names.push(name.to_owned());
    }
    if names.is_empty() {
        eprintln!("error: expected packed crates in target/package, got none");
        return None;
    }
    fs::create_dir_all(place.join(".cargo")).ok()?;
    fs::write(place.join(".cargo/config.toml"), patches).ok()?;
    Some(names)
}

/// `cargo install` into an empty root, and a look at what is there.
fn installs(place: &Path) -> bool {
    let version = env!("CARGO_PKG_VERSION");
    let cli = place
        .join(format!("crates/floe-cli-{version}"))
        .display()
        .to_string();
    let root = place.join("root").display().to_string();
    let words = ["install", "--debug", "--path", &cli, "--root", &root];
    let installed = succeeds(elsewhere(&mut cargo(&words), place));
    let floe = place.join("root/bin/floe").display().to_string();
    installed
        && succeeds(&mut command(&floe, &["--version"]))
        && succeeds(&mut command(
            &floe,
            &["cert", "ca", "--dir", &place.display().to_string()],
        ))
}

/// Builds the example `greeter` as a project that knows versions alone, and has its client call its server.
fn builds_a_project(place: &Path, crates: &[String]) -> bool {
    let project = place.join("project");
    if !["floe", "floe-codegen"]
        .iter()
        .all(|name| crates.iter().any(|it| it == name))
    {
        eprintln!("error: expected floe and floe-codegen among the packed crates, got {crates:?}");
        return false;
    }
    let example = workspace::root()
        .join("examples/greeter")
        .display()
        .to_string();
    let copied = succeeds(&mut command(
        "cp",
        &["-r", &example, &project.display().to_string()],
    ));
    let written = copied && fs::write(project.join("Cargo.toml"), manifest()).is_ok();
    written && succeeds(elsewhere(&mut cargo(&["build", "--quiet"]), &project)) && calls()
}

fn manifest() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "[package]\nname = \"greeter\"\nedition = \"2024\"\n[dependencies]\nfloe = \"{version}\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\", \"signal\"] }}\n\
         [build-dependencies]\nfloe-codegen = \"{version}\"\n[workspace]\n"
    )
}

/// Starts the server at any port, and has the client call it.
fn calls() -> bool {
    let programs = target().join("debug");
    let mut server = Command::new(programs.join("greeter-server"));
    let server = server
        .arg("tcp -h 127.0.0.1 -p 0")
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut server) = server else {
        eprintln!("error: the server of the project does not start");
        return false;
    };
    let mut line = String::new();
    let output = server.stdout.take().expect("it was asked to be a pipe");
    let read = BufReader::new(output).read_line(&mut line);
    let proxy = read
        .ok()
        .and_then(|_| line.trim().strip_prefix("ready "))
        .unwrap_or_default();
    let said = output_of(Command::new(programs.join("greeter-client")).arg(proxy));
    // It is ours, and has nothing to save.
    let _ = server.kill();
    let _ = server.wait();
    let greeted = said.is_some_and(|said| said.starts_with("Hello, Ada! (number 1)"));
    if !greeted {
        eprintln!("error: expected a greeting from the project's server at `{proxy}`, got none");
    }
    greeted
}

/// Has cargo build outside the repository, whose settings do not reach there. What is compiled is kept for the next time.
fn elsewhere<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target())
}

fn target() -> PathBuf {
    workspace::target_dir().join("crates-test")
}
