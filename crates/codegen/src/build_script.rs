//! Entry point for a `build.rs`: reads contracts, writes Rust into `OUT_DIR`, and tells cargo when to
//! run it again.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use floe_slice::{Compilation, Diagnostic, Language, Options};

use crate::files::{BUILT_IN_DIR, compile_files};
use crate::{RustOptions, generate_rust_with_warnings};

/// Contracts to compile in a build script.
///
/// ```no_run
/// floe_codegen::Build::new()
///     .file("contracts/Greeter.ice")
///     .include_dir("contracts")
///     .compile()
///     .unwrap_or_else(|error| error.exit());
/// ```
///
/// writes `$OUT_DIR/Greeter.rs`, which the crate takes in with `floe::include_contract!("Greeter")`.
/// The text holds the definitions of the files and of all that they include, but for modules
/// `::Ice` and `::IceStorm`, which `floe` has, and what [`Build::external`] names.
#[derive(Debug, Clone, Default)]
pub struct Build {
    files: Vec<PathBuf>,
    slice: Options,
    rust: RustOptions,
    output: Option<String>,
    out_dir: Option<PathBuf>,
}

impl Build {
    /// Nothing to compile yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, relative to the directory of the package.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Adds a directory in which included files are searched.
    #[must_use]
    pub fn include_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.slice.include_dirs.push(path.into());
        self
    }

    /// Defines a macro of the preprocessor.
    #[must_use]
    pub fn define(mut self, name: &str, text: &str) -> Self {
        self.slice.defines.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Takes a Slice module or definition from existing Rust, for example from another crate.
    ///
    /// # Panics
    /// As [`RustOptions::external`].
    #[must_use]
    pub fn external(mut self, scoped: &str, rust_path: &str) -> Self {
        self.rust = self.rust.external(scoped, rust_path);
        self
    }

    /// Generates traits for servants without async, too: see [`RustOptions::blocking`].
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.rust = self.rust.blocking();
        self
    }

    /// Accepts what this version of Slice accepts; otherwise what Ice 3.7 or Ice 3.8 does.
    ///
    /// With [`Language::V37`] classes also lose unknown slices as in Ice 3.7: see
    /// [`RustOptions::cut_slices`].
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.slice.language = language;
        if language == Language::V37 {
            self.rust = self.rust.cut_slices();
        }
        self
    }

    /// Names the written file, without `.rs`; otherwise it is named like the first contract.
    #[must_use]
    pub fn output(mut self, name: &str) -> Self {
        self.output = Some(name.to_owned());
        self
    }

    /// Writes into this directory instead of `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(path.into());
        self
    }

    /// Compiles the contracts and writes the Rust file. Talks to cargo on stdout: which files to
    /// watch, and what is suspect in them.
    ///
    /// A failed build needs no watching: cargo runs a build script that failed each time.
    ///
    /// # Errors
    /// [`BuildError`], with all errors of the contracts at once.
    pub fn compile(self) -> Result<(), BuildError> {
        let target = self.target()?;
        let compilation = compile_files(&self.slice, &self.files);
        let made = std::env::var_os("OUT_DIR").map(PathBuf::from);
        for line in instructions(&self.files, &compilation, made.as_deref()) {
            println!("{line}");
        }
        let text = self.rust_text(&compilation)?;
        write_if_changed(&target, &text).map_err(|source| BuildError::Write {
            path: target,
            source,
        })
    }

    /// The file to write.
    fn target(&self) -> Result<PathBuf, BuildError> {
        let first = self.files.first().ok_or(BuildError::NoFiles)?;
        let out_dir = self.out_dir.clone();
        let out_dir = out_dir
            .or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from))
            .ok_or(BuildError::NoOutDir)?;
        let stem = first.file_stem().map(|stem| stem.to_string_lossy());
        let name = self.output.clone().or(stem.map(Into::into));
        Ok(out_dir.join(format!("{}.rs", name.ok_or(BuildError::NoFiles)?)))
    }

    /// The text; names that had to change are told to cargo.
    fn rust_text(&self, compilation: &Compilation) -> Result<String, BuildError> {
        let errors: Vec<&Diagnostic> = compilation
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .collect();
        if !errors.is_empty() {
            return Err(BuildError::contract(&errors, compilation));
        }
        let (generated, warnings) = generate_rust_with_warnings(&compilation.model, &self.rust);
        for warning in warnings {
            println!("cargo:warning={}", one_line(&warning, compilation));
        }
        generated.map_err(|findings| {
            BuildError::contract(&findings.iter().collect::<Vec<_>>(), compilation)
        })
    }
}

/// Why a build script could not make Rust of its contracts.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// No file was added with [`Build::file`], or one that has no name.
    NoFiles,
    /// `OUT_DIR` is not set: the caller is no build script.
    NoOutDir,
    /// The contracts have errors.
    Contract {
        /// How many.
        count: usize,
        /// All of them with their places and excerpts, as text of several lines.
        rendered: String,
    },
    /// The file with the Rust text could not be written.
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl BuildError {
    /// Prints the error on stderr and ends the process with status 1: the build fails.
    pub fn exit(self) -> ! {
        eprintln!("{self}");
        std::process::exit(1)
    }

    fn contract(errors: &[&Diagnostic], compilation: &Compilation) -> Self {
        let rendered: Vec<String> = errors
            .iter()
            .map(|error| error.render(&compilation.sources))
            .collect();
        Self::Contract {
            count: errors.len(),
            rendered: rendered.join("\n"),
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFiles => {
                f.write_str("no contract to compile: add one with `Build::file(\"Name.ice\")`")
            }
            Self::NoOutDir => f.write_str(
                "the environment has no OUT_DIR: call from build.rs, or set `Build::out_dir`",
            ),
            Self::Contract { count, rendered } => {
                let errors = if *count == 1 { "error" } else { "errors" };
                write!(f, "{rendered}\n{count} {errors} in the contracts")
            }
            Self::Write { path, source } => {
                write!(f, "cannot write `{}`: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Prints the lines for cargo: each file that can change, be it main or included, and each warning.
///
/// A contract in the directory `made` was written by the build script itself. It is newer than the run that wrote it, so
/// cargo would run the script again each time if it watched this file.
fn instructions(mains: &[PathBuf], compilation: &Compilation, made: Option<&Path>) -> Vec<String> {
    let is_inside = |rest: &Path| !rest.components().any(|part| part == Component::ParentDir);
    let is_made = |path: &&PathBuf| {
        let rest = made.and_then(|made| path.strip_prefix(made).ok());
        rest.is_some_and(is_inside)
    };
    let included = compilation
        .dependencies
        .iter()
        .filter(|path| !path.starts_with(BUILT_IN_DIR) && !mains.contains(path));
    let watched = mains.iter().chain(included);
    let watched = watched.filter(|path| !is_made(path));
    let watched = watched.map(|path| format!("cargo:rerun-if-changed={}", path.display()));
    let warnings = compilation
        .diagnostics
        .iter()
        .filter(|diagnostic| !diagnostic.is_error())
        .map(|warning| format!("cargo:warning={}", one_line(warning, compilation)));
    watched.chain(warnings).collect()
}

/// A warning as cargo shows it: one line.
fn one_line(warning: &Diagnostic, compilation: &Compilation) -> String {
    let place = warning.span.map_or_else(String::new, |span| {
        let position = compilation.sources.position(span);
        let (path, line, column) = (position.path.display(), position.line, position.column);
        format!("{path}:{line}:{column}: ")
    });
    let help = warning.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!(" (help: {help})"));
    let text = format!(
        "{place}[{}] {}{help}",
        warning.code.as_str(),
        warning.message
    );
    text.replace('\n', " ")
}

/// Leaves a file alone that has this text already, so that nothing is rebuilt for it.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use floe_slice::{Loader, MemoryLoader, compile};

    use super::*;
    use crate::files::BuiltIn;

    #[test]
    fn cargo_watches_every_file_that_can_change_and_shows_warnings() {
        let files = MemoryLoader::new()
            .with(
                "a.ice",
                "#include \"sub/b.ice\"\n#include <Ice/Identity.ice>\n",
            )
            .with(
                "sub/b.ice",
                "module M { [\"unheard-of\"] const int i = 1; }",
            );
        let options = Options {
            include_dirs: vec![BUILT_IN_DIR.into()],
            ..Options::default()
        };
        let mains = [PathBuf::from("a.ice")];
        let compilation = compile(&options, &files.or(BuiltIn::of(options.language)), &mains);
        let lines = instructions(&mains, &compilation, None);
        let (watched, shown) = lines.split_at(2);
        assert_eq!(
            watched,
            [
                "cargo:rerun-if-changed=a.ice",
                "cargo:rerun-if-changed=sub/b.ice"
            ]
        );
        assert_eq!(shown.len(), 1);
        let expected = "cargo:warning=sub/b.ice:1:13: [unknown-metadata] ";
        assert!(shown[0].starts_with(expected), "{}", shown[0]);
    }

    #[test]
    fn cargo_does_not_watch_a_contract_that_the_build_script_wrote() {
        let files = MemoryLoader::new()
            .with("out/made.ice", "#include \"../written.ice\"\n")
            .with("written.ice", "module M { const int i = 1; }");
        let options = Options::default();
        let mains = [PathBuf::from("out/made.ice")];
        let compilation = compile(&options, &files, &mains);
        let lines = instructions(&mains, &compilation, Some(Path::new("out")));
        assert_eq!(lines, ["cargo:rerun-if-changed=out/../written.ice"]);
    }
}
