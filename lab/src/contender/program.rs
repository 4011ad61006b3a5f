//! Contenders in C++: small programs of ours, built with the installed peer when they are first needed.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a program comes into being.
#[derive(Debug)]
pub(crate) struct CppProgram {
    /// Where it is built: a folder of the lab's cache.
    pub(crate) folder: &'static str,
    /// Files by name. They travel inside of the program, so that an installed `floe` needs no checkout.
    pub(crate) sources: &'static [(&'static str, &'static str)],
    /// Makes one more source, which holds data.
    pub(crate) data: Option<fn() -> (&'static str, String)>,
    /// What makes more sources of them: commands, run in their folder one after the other.
    pub(crate) translate: &'static [&'static [&'static str]],
    /// What `g++` gets beside [`COMPILE`]: sources and libraries.
    pub(crate) compile: &'static [&'static str],
    /// What tells the version of the peer, on its stdout or stderr.
    pub(crate) version: &'static [&'static str],
    /// What to install where something is missing: packages of Debian, separated by spaces.
    pub(crate) install: &'static str,
}

/// A contender's program, ready to start.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    /// Of the middleware.
    pub(crate) version: String,
}

impl CppProgram {
    /// The program, built anew if a source or the installed peer is another one than the last time.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn build(&self) -> Result<Built, String> {
        let version = self.installed_version()?;
        let folder = cache_dir()?.join("floe/lab").join(self.folder);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        // Two runs of the lab may start at the same time.
        let lock = File::create(folder.join("lock")).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.map_err(|error| format!("cannot lock {}: {error}", folder.display()))?;
        let program = folder.join(PROGRAM);
        let sources = self.all_sources();
        let made_from = self.describe(&version, &sources);
        let stamp = folder.join("made-from");
        let is_current = fs::read_to_string(&stamp).is_ok_and(|text| text == made_from);
        if !is_current || !program.is_file() {
            for (name, text) in &sources {
                write(&folder.join(name), text)?;
            }
            for command in self.translate {
                self.run(command, &folder)?;
            }
            self.run(&self.compiler(), &folder)?;
            write(&stamp, &made_from)?;
        }
        Ok(Built { program, version })
    }

    fn all_sources(&self) -> Vec<(&'static str, String)> {
        let fixed = self.sources.iter();
        let fixed = fixed.map(|(name, text)| (*name, (*text).to_owned()));
        fixed.chain(self.data.map(|data| data())).collect()
    }

    fn compiler(&self) -> Vec<&'static str> {
        [COMPILE, self.compile].concat()
    }

    /// Everything that the program depends on, as text.
    fn describe(&self, version: &str, sources: &[(&str, String)]) -> String {
        let texts = sources.iter().map(|(name, text)| format!("{name}\n{text}"));
        let texts: Vec<_> = texts.collect();
        let (translate, compiler, texts) = (self.translate, self.compiler(), texts.join("\n"));
        format!("{version}\n{translate:?}\n{compiler:?}\n{texts}")
    }

    /// The version of the translator, which comes with headers of the same version.
    fn installed_version(&self) -> Result<String, String> {
        let output = command(self.version).output();
        let program = self.version.first().unwrap_or(&"");
        let output = output
            .map_err(|error| format!("cannot start {program} ({error}); {}", self.advice()))?;
        if !output.status.success() {
            return Err(format!("{program} tells no version; {}", self.advice()));
        }
        // Some write their version to stderr.
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|line| !line.trim().is_empty());
        Ok(line.unwrap_or_default().trim().to_owned())
    }

    fn run(&self, words: &[&str], folder: &Path) -> Result<(), String> {
        let output = command(words).current_dir(folder).output();
        let shown = words.join(" ");
        let output =
            output.map_err(|error| format!("cannot start {shown} ({error}); {}", self.advice()))?;
        if output.status.success() {
            return Ok(());
        }
        let complaints = String::from_utf8_lossy(&output.stderr);
        let first: Vec<_> = complaints.lines().take(COMPLAINT_LINES_MAX).collect();
        Err(format!(
            "expected `{shown}` to succeed in {}, got:\n{}\nif headers or libraries are missing: {}",
            folder.display(),
            first.join("\n"),
            self.advice()
        ))
    }

    fn advice(&self) -> String {
        format!(
            "on Debian: apt-get install {}, or in a checkout: cargo xtask install --lab",
            self.install
        )
    }
}

fn command(words: &[&str]) -> Command {
    let (program, arguments) = words.split_first().expect("a command has a program");
    let mut command = Command::new(program);
    command.args(arguments);
    command
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

const PROGRAM: &str = "contender";

/// As an application that is released would be compiled, and in the folder of the sources.
const COMPILE: &[&str] = &["g++", "-std=c++17", "-O2", "-pthread", "-I.", "-o", PROGRAM];

/// What tells the version of the installed Ice.
pub(crate) const ICE_VERSION: &[&str] = &["slice2cpp", "--version"];

/// The packages of Ice.
pub(crate) const ICE_INSTALL: &str = "zeroc-ice-compilers libzeroc-ice-dev g++";

/// Lines of a compiler's complaints that are shown.
const COMPLAINT_LINES_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: CppProgram = CppProgram {
        folder: "missing",
        sources: &[],
        data: None,
        translate: &[],
        compile: &[],
        version: &["floe-lab-no-such-translator", "--version"],
        install: "no-such-package",
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
    fn a_source_or_a_version_that_differs_asks_for_a_new_build() {
        let with = |version: &str, text: &str| {
            MISSING.describe(version, &[("contender.cpp", text.to_owned())])
        };
        assert_ne!(with("1", "a"), with("2", "a"));
        assert_ne!(with("1", "a"), with("1", "b"));
        assert_eq!(with("1", "a"), with("1", "a"));
    }
}
