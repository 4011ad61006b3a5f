//! ZeroC Ice in C++: a small program of ours, built with the installed Ice when it is first needed.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Built, Contender, Origin};

pub(super) const ICE: Contender = Contender {
    name: "ice",
    cases: &["twoway"],
    origin: Origin::Built(build),
};

/// The sources travel inside of the program, so that an installed `floe` needs no checkout.
const SOURCES: [(&str, &str); 2] = [
    ("Calls.ice", include_str!("../../contracts/Calls.ice")),
    (
        "contender.cpp",
        include_str!("../../contenders/ice/contender.cpp"),
    ),
];

const PROGRAM: &str = "contender";

/// The program, built anew if a source or the installed Ice is another one than the last time.
fn build() -> Result<Built, String> {
    let version = installed_version()?;
    let folder = cache_dir()?.join("floe/lab/ice");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    // Two runs of the lab may start at the same time.
    let lock = File::create(folder.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("cannot lock {}: {error}", folder.display()))?;
    let program = folder.join(PROGRAM);
    let made_from = describe(&version);
    let stamp = folder.join("made-from");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|text| text == made_from);
    if !is_current || !program.is_file() {
        for (name, text) in SOURCES {
            write(&folder.join(name), text)?;
        }
        for command in commands() {
            run(command, &folder)?;
        }
        write(&stamp, &made_from)?;
    }
    Ok(Built { program, version })
}

/// Translates the contract, then compiles everything. Run in the folder of the sources.
fn commands() -> [Command; 2] {
    let mut translate = Command::new("slice2cpp");
    translate.arg("Calls.ice");
    let mut compile = Command::new("g++");
    compile.args([
        "-std=c++17",
        "-O2",
        "-DICE_CPP11_MAPPING",
        "-pthread",
        "-I.",
    ]);
    compile.args(["contender.cpp", "Calls.cpp", "-lIce++11", "-o", PROGRAM]);
    [translate, compile]
}

/// Everything that the program depends on, as text.
fn describe(version: &str) -> String {
    let sources = SOURCES.map(|(name, text)| format!("{name}\n{text}"));
    format!("Ice {version}\n{:?}\n{}", commands(), sources.join("\n"))
}

/// The version of the translator, which comes with headers of the same version.
fn installed_version() -> Result<String, String> {
    let output = Command::new("slice2cpp").arg("--version").output();
    let output = output.map_err(|error| format!("cannot start slice2cpp ({error}); {INSTALL}"))?;
    // It writes its version to stderr.
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

fn run(mut command: Command, folder: &Path) -> Result<(), String> {
    let output = command
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cannot start {command:?} ({error}); {INSTALL}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaints = String::from_utf8_lossy(&output.stderr);
    let first: Vec<_> = complaints.lines().take(COMPLAINT_LINES_MAX).collect();
    Err(format!(
        "expected {command:?} to succeed in {}, got:\n{}\nif headers or libraries are missing: {INSTALL}",
        folder.display(),
        first.join("\n")
    ))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Where programs keep what they can make again: see the XDG Base Directory Specification.
fn cache_dir() -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
    cache
        .filter(|path| path.is_absolute())
        .or_else(home)
        .ok_or_else(|| "no place to build it: set HOME or XDG_CACHE_HOME".to_owned())
}

/// What to do about a missing Ice.
const INSTALL: &str = "install Ice and a C++ compiler: on Debian, apt-get install zeroc-ice-compilers libzeroc-ice-dev g++";

/// Lines of a compiler's complaints that are shown.
const COMPLAINT_LINES_MAX: usize = 10;
