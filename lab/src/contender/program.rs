//! Contenders that are built: small programs of ours, with the installed peer, when they are first needed.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::peer::Peer;
use crate::sample::Encoded;

/// How a program comes into being.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) peer: &'static Peer,
    /// How its folders in the lab's cache begin.
    pub(crate) folder: &'static str,
    /// Files by name. They travel inside of the program, so that an installed `floe` needs no checkout.
    pub(crate) sources: &'static [(&'static str, &'static str)],
    /// Makes one more source, which holds data.
    pub(crate) data: Option<fn() -> (&'static str, String)>,
    /// Commands, run in their folder one after the other; the last one makes [`FRESH`]. See [`gxx`].
    pub(crate) build: &'static [&'static [&'static str]],
}

/// A contender's program, ready to start.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    /// Of the middleware.
    pub(crate) version: String,
}

impl Program {
    /// The program, built if there is none yet of these sources with the installed peer.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn build(&self) -> Result<Built, String> {
        let version = self.peer.installed_version()?;
        let sources = self.all_sources();
        let folder = self.folder(&cache_dir()?, &version, &sources);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        // Two runs of the lab may start at the same time.
        let lock = File::create(folder.join("lock")).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.map_err(|error| format!("cannot lock {}: {error}", folder.display()))?;
        let program = folder.join(PROGRAM);
        if !program.is_file() {
            for (name, text) in &sources {
                write(&folder.join(name), text)?;
            }
            for command in self.build {
                self.run(command, &folder)?;
            }
            // Only a whole program has the name that is looked for.
            fs::rename(folder.join(FRESH), &program).map_err(|error| {
                format!("cannot rename {FRESH} in {}: {error}", folder.display())
            })?;
        }
        Ok(Built { program, version })
    }

    /// Where it is built: a place for each text of the sources and version of the peer, so that checkouts
    /// that differ share a cache and no program.
    fn folder(&self, cache: &Path, version: &str, sources: &[(&str, String)]) -> PathBuf {
        let made_from = self.describe(version, sources);
        let digest = Encoded::of(made_from.as_bytes()).digest;
        cache
            .join("floe/lab")
            .join(format!("{}-{digest}", self.folder))
    }

    fn all_sources(&self) -> Vec<(&'static str, String)> {
        let fixed = self.sources.iter();
        let fixed = fixed.map(|(name, text)| (*name, (*text).to_owned()));
        fixed.chain(self.data.map(|data| data())).collect()
    }

    /// Everything that the program depends on, as text.
    fn describe(&self, version: &str, sources: &[(&str, String)]) -> String {
        let texts = sources.iter().map(|(name, text)| format!("{name}\n{text}"));
        let texts: Vec<_> = texts.collect();
        let (build, texts) = (self.build, texts.join("\n"));
        format!("{version}\n{build:?}\n{texts}")
    }

    fn run(&self, words: &[&str], folder: &Path) -> Result<(), String> {
        let output = command(words).current_dir(folder).output();
        let shown = words.join(" ");
        let output = output
            .map_err(|error| format!("cannot start {shown} ({error}); {}", self.peer.advice()))?;
        if output.status.success() {
            return Ok(());
        }
        let complaints = String::from_utf8_lossy(&output.stderr);
        let first: Vec<_> = complaints.lines().take(COMPLAINT_LINES_MAX).collect();
        Err(format!(
            "expected `{shown}` to succeed in {}, got:\n{}\nif headers or libraries are missing: {}",
            folder.display(),
            first.join("\n"),
            self.peer.advice()
        ))
    }
}

pub(super) fn command(words: &[&str]) -> Command {
    let (program, arguments) = words.split_first().expect("a command has a program");
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// With the folder that it stands in.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
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

const PROGRAM: &str = "contender";

/// The name of the file that a compiler makes.
const FRESH: &str = "fresh";

/// The command that compiles these sources with these libraries, as an application that is released would be.
macro_rules! gxx {
    ($($word:literal),* $(,)?) => {
        &["g++", "-std=c++17", "-O2", "-pthread", "-I.", "-o", "fresh", $($word),*]
    };
}
pub(crate) use gxx;

/// The commands that build a package of its own from these sources, in the versions of its lock file.
pub(crate) const CARGO_BUILD: &[&[&str]] = &[
    &[
        "cargo",
        "build",
        "--release",
        "--locked",
        "--target-dir",
        "target",
    ],
    &["cp", "target/release/fresh", "fresh"],
    // Hundreds of megabytes that are made again in minutes.
    &["rm", "-r", "target"],
];

/// Lines of a compiler's complaints that are shown.
const COMPLAINT_LINES_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: Program = Program {
        peer: &Peer {
            version: &["floe-lab-no-such-translator", "--version"],
            install: "no-such-package",
        },
        folder: "missing",
        sources: &[],
        data: None,
        build: &[],
    };

    #[test]
    fn a_missing_translator_is_answered_with_the_packages() {
        let reason = MISSING.build().unwrap_err();
        assert!(reason.contains("cannot start floe-lab-no-such-translator"));
        assert!(reason.contains("apt-get install no-such-package"));
    }

    #[test]
    fn a_failed_command_is_shown_with_what_it_said() {
        let reason = MISSING
            .run(&["sh", "-c", "echo no header >&2; false"], Path::new("."))
            .unwrap_err();
        assert!(reason.contains("got:\nno header\n"), "{reason}");
    }

    #[test]
    fn a_source_or_a_version_that_differs_is_built_elsewhere() {
        let with = |version: &str, text: &str| {
            let sources = [("contender.cpp", text.to_owned())];
            MISSING.folder(Path::new("/cache"), version, &sources)
        };
        assert_ne!(with("1", "a"), with("2", "a"));
        assert_ne!(with("1", "a"), with("1", "b"));
        assert_eq!(with("1", "a"), with("1", "a"));
        assert!(with("1", "a").starts_with("/cache/floe/lab"));
    }
}
