//! Slice files as arguments: `--slice`, `-I`, `-D`, and the contract that they make.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "recordings")]
use floe::regular_file;
use floe_codegen::compile_files;
use floe_dynamic::Contract;
use floe_slice::{Compilation, Diagnostic, Language, Options, SourceMap, check_source, is_macro};

use crate::context;
use crate::exit::{Exit, Failure};
use crate::output;

/// Slice files that give types to values.
#[derive(Debug, Args)]
pub(crate) struct ContractArguments {
    /// A Slice file that defines the interface. Can be repeated
    #[arg(long = "slice", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The interface that declares the operation, if several do: ::Module::Name
    #[arg(long, value_name = "TYPE_ID")]
    interface: Option<String>,

    #[command(flatten)]
    preprocessor: PreprocessorArguments,
}

/// The arguments for the preprocessor.
#[derive(Debug, Args)]
pub(crate) struct PreprocessorArguments {
    /// A directory to search for Slice files and the files that they include. Can be repeated
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    include_dirs: Vec<PathBuf>,

    /// Defines a macro. Can be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME[=TEXT]", value_parser = defines_macro)]
    defines: Vec<String>,

    /// Undefines a macro, even if it is predefined or defined with -D. Can be repeated
    #[arg(short = 'U', long = "undefine", value_name = "NAME", value_parser = names_macro)]
    undefines: Vec<String>,

    /// Also shows warnings in files that are included in angle brackets, such as Ice's own
    #[arg(long)]
    warn_foreign: bool,
}

impl ContractArguments {
    /// The contract; nothing if no Slice file was given.
    ///
    /// # Errors
    /// Files that cannot be read, or that have errors; these are written on standard error.
    pub(crate) fn load(&self) -> Result<Option<Contract>, Failure> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let compilation = self.preprocessor.compile(&self.files, Language::Any)?;
        if compilation.has_errors() {
            talk_findings(&compilation.diagnostics, &compilation.sources);
            return Err(found_errors(&compilation));
        }
        Ok(Some(Contract::new(compilation.model)))
    }

    /// The contract; an empty one if no Slice file was given, which has the built-in types and
    /// operations.
    ///
    /// # Errors
    /// As [`ContractArguments::load`].
    pub(crate) fn load_or_empty(&self) -> Result<Contract, Failure> {
        let contract = self.load()?;
        Ok(contract.unwrap_or_else(|| Contract::new(check_source(b"").model)))
    }

    /// Returns true if a Slice file was given.
    pub(crate) fn is_given(&self) -> bool {
        !self.files.is_empty()
    }

    /// The contract.
    ///
    /// # Errors
    /// As [`ContractArguments::load`], and if no Slice file was given.
    pub(crate) fn require(&self) -> Result<Contract, Failure> {
        self.load()?.ok_or_else(|| {
            Failure::usage("expected a Slice file that gives the types, got none")
                .help("add --slice FILE")
        })
    }

    /// The text of the Slice files, one after the other, after they have been checked; nothing if none was given.
    ///
    /// # Errors
    /// As [`ContractArguments::load`].
    #[cfg(feature = "recordings")]
    pub(crate) fn source_text(&self) -> Result<Option<String>, Failure> {
        if self.load()?.is_none() {
            return Ok(None);
        }
        let mut text = String::new();
        for file in &self.files {
            let read = std::fs::read(file).map_err(|error| {
                let file = file.display();
                Failure::usage(format_args!("cannot read Slice file `{file}`: {error}"))
            })?;
            // A comment that is not UTF-8 is no reason to refuse it.
            let read = String::from_utf8_lossy(regular_file::without_mark(&read));
            // The folder is of no use elsewhere.
            let name = file.file_name().unwrap_or_default().display();
            text.push_str(&format!("// {name}\n{read}\n"));
        }
        Ok(Some(text))
    }

    /// The interface that was named.
    pub(crate) fn interface(&self) -> Option<&str> {
        self.interface.as_deref()
    }

    /// The operation as the contract looks it up: qualified with `--interface`, if that was given.
    pub(crate) fn qualified(&self, operation: &str) -> String {
        match &self.interface {
            Some(interface) => format!("{interface}::{operation}"),
            None => operation.to_owned(),
        }
    }
}

impl PreprocessorArguments {
    /// Compiles files, of which each must be readable.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn compile(
        &self,
        files: &[PathBuf],
        language: Language,
    ) -> Result<Compilation, Failure> {
        let mut include_dirs = self.include_dirs.clone();
        if let Some(chosen) = context::chosen() {
            include_dirs.extend(chosen.context.include_dirs.iter().map(PathBuf::from));
        }
        let found = |file: &PathBuf| found(file, &include_dirs);
        let files: Vec<PathBuf> = files.iter().map(found).collect();
        files
            .iter()
            .try_for_each(|file| check_readable(file, &include_dirs))?;
        let options = Options {
            include_dirs,
            defines: self.defines.iter().map(|define| macro_of(define)).collect(),
            undefines: self.undefines.clone(),
            language,
            warn_foreign: self.warn_foreign,
        };
        Ok(compile_files(&options, &files))
    }
}

/// Checks the name of a macro.
fn names_macro(text: &str) -> Result<String, String> {
    match is_macro(text) && !text.contains('(') {
        true => Ok(text.to_owned()),
        false => Err(
            "expected the name of a macro: letters, digits and underscores, no digit first".into(),
        ),
    }
}

/// Checks the name of a macro, and its parameters if it has some. Its text may follow.
fn defines_macro(define: &str) -> Result<String, String> {
    match is_macro(&macro_of(define).0) {
        true => Ok(define.to_owned()),
        false => Err(
            "expected the name of a macro, such as DEBUG: letters, digits and underscores, no digit first; or the \
             name and its parameters, such as `LAST(a, b)`"
                .into(),
        ),
    }
}

/// Shows findings on standard error.
pub(crate) fn talk_findings(findings: &[Diagnostic], sources: &SourceMap) {
    if !findings.is_empty() {
        output::talk(render(findings, sources, output::has_talk_colour()));
    }
}

/// Findings as text, without a line end.
pub(crate) fn render(findings: &[Diagnostic], sources: &SourceMap, has_colour: bool) -> String {
    let texts = findings.iter().map(|finding| match has_colour {
        true => finding.render_colored(sources),
        false => finding.render(sources),
    });
    let texts: Vec<String> = texts.collect();
    texts.join("\n").trim_end().to_owned()
}

/// Says how many errors the files have, after they were shown.
pub(crate) fn found_errors(compilation: &Compilation) -> Failure {
    let count = compilation
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .count();
    let errors = if count == 1 { "error" } else { "errors" };
    Failure::new(
        Exit::Findings,
        format_args!("{count} {errors} in the Slice files"),
    )
}

/// The file, or else one of this name in the directories of -I and of the context.
fn found(file: &Path, directories: &[PathBuf]) -> PathBuf {
    if file.exists() {
        return file.to_owned();
    }
    let elsewhere = directories.iter().map(|directory| directory.join(file));
    let found = elsewhere.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| file.to_owned())
}

fn check_readable(file: &Path, directories: &[PathBuf]) -> Result<(), Failure> {
    let opened = std::fs::File::open(file).and_then(|file| file.metadata());
    let problem = match opened {
        Ok(metadata) if metadata.is_dir() => "it is a directory".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format_args!("there is no Slice file `{}`", file.display());
            return Err(Failure::usage(message).help(searched(file, directories)));
        }
        Err(error) => error.to_string(),
    };
    Err(Failure::usage(format_args!(
        "cannot read Slice file `{}`: {problem}",
        file.display()
    )))
}

/// Where a Slice file was looked for.
fn searched(file: &Path, directories: &[PathBuf]) -> String {
    if file.is_absolute() {
        return "the path is absolute, so no other directory was searched".to_owned();
    }
    let current = std::env::current_dir().unwrap_or_default();
    let all: Vec<_> = std::iter::once(&current)
        .chain(directories)
        .map(|directory| format!("`{}`", directory.display()))
        .collect();
    format!("searched in {}; -I DIR adds a directory", all.join(", "))
}

/// A macro without a text is 1, as for a C preprocessor.
fn macro_of(define: &str) -> (String, String) {
    let (name, text) = define.split_once('=').unwrap_or((define, "1"));
    (name.to_owned(), text.to_owned())
}
