//! `floe slice`: the compiler, and the tools for contracts in `slice/`.

mod breaking;
mod doc;
mod format;
mod idl;
mod wsdl;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use floe_codegen::{RustOptions, generate_rust_with_warnings, model_json};
use floe_slice::diagnostic::{Diagnostic, Span};
use floe_slice::{Compilation, Language, SourceMap};
use serde_json::{Value as Json, json};

use crate::contract::{PreprocessorArguments, found_errors, render, talk_findings};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, Output};

/// Checks, formats, compares and documents Slice files, and generates Rust, JSON, IDL or WSDL
#[derive(Debug, Subcommand)]
pub(crate) enum Slice {
    Check(Check),
    Rust(Rust),
    Json(ModelJson),
    Fmt(format::Fmt),
    Breaking(breaking::Breaking),
    Doc(doc::Doc),
    Idl(idl::Idl),
    Wsdl(wsdl::Wsdl),
}

impl Slice {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Check(check) => check.run(output),
            Self::Rust(rust) => rust.run(output),
            Self::Json(json) => json.run(output),
            Self::Fmt(fmt) => fmt.run(output),
            Self::Breaking(breaking) => breaking.run(output),
            Self::Doc(doc) => doc.run(output),
            Self::Idl(idl) => idl.run(output),
            Self::Wsdl(wsdl) => wsdl.run(output),
        }
    }
}

/// The files to compile, and how.
#[derive(Debug, Args)]
struct Sources {
    /// The Slice files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    preprocessor: PreprocessorArguments,

    /// The version of Ice whose Slice is accepted
    #[arg(long, value_enum, default_value_t = Version::Any)]
    language: Version,
}

/// A version of the language.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Version {
    /// All that Ice 3.7 or 3.8 accepts
    Any,
    #[value(name = "3.7")]
    V37,
    #[value(name = "3.8")]
    V38,
}

impl Version {
    fn language(self) -> Language {
        match self {
            Self::Any => Language::Any,
            Self::V37 => Language::V37,
            Self::V38 => Language::V38,
        }
    }
}

impl Sources {
    fn compile(&self) -> Result<Compilation, Failure> {
        self.preprocessor
            .compile(&self.files, self.language.language())
    }

    /// Compiles, with all findings on standard error.
    fn compile_for_text(&self) -> Result<Compilation, Failure> {
        let compilation = self.compile()?;
        talk_findings(&compilation.diagnostics, &compilation.sources);
        match compilation.has_errors() {
            true => Err(found_errors(&compilation)),
            false => Ok(compilation),
        }
    }
}

/// Checks Slice files. Exit code 0: they are valid. 100: they are not
///
/// Findings go to standard output, with places, excerpts and help. With -o json they are one object, with -o
/// jsonl one object each.
#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    sources: Sources,
}

impl Check {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        let compilation = self.sources.compile()?;
        let findings = || compilation.diagnostics.iter();
        let as_json = |finding| finding_json(finding, &compilation.sources);
        match output.format_or(Format::Table) {
            Format::Json => output.line(json!({
                "errors": findings().filter(|finding| finding.is_error()).count(),
                "warnings": findings().filter(|finding| !finding.is_error()).count(),
                "findings": findings().map(as_json).collect::<Vec<_>>(),
            }))?,
            Format::Jsonl => findings().try_for_each(|finding| output.line(as_json(finding)))?,
            Format::Table | Format::Raw => self.report(&compilation, output)?,
        }
        Ok(match compilation.has_errors() {
            true => Exit::Findings,
            false => Exit::Success,
        })
    }

    fn report(&self, compilation: &Compilation, output: &Output) -> Result<(), Failure> {
        let findings = &compilation.diagnostics;
        if !findings.is_empty() {
            output.line(render(findings, &compilation.sources, output.has_colour()))?;
        }
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        let warnings = findings.len() - errors;
        output::talk(format_args!(
            "{}: {}, {}",
            count(self.sources.files.len(), "file"),
            count(errors, "error"),
            count(warnings, "warning"),
        ));
        if let Some((first, second)) = self.alternatives(compilation) {
            let (first, second) = (output::word(&first), output::word(&second));
            output::talk(format_args!(
                "  help: {first} and {second} define the same names. If they are alternatives of one contract, check each by \
                 itself; `floe slice breaking {first} {second}` compares them"
            ));
        }
        Ok(())
    }

    /// Two of the files that were given, of which one defines again what the other defines.
    fn alternatives(&self, compilation: &Compilation) -> Option<(String, String)> {
        let given = |span| {
            let path = compilation.sources.position(span).path;
            let is_given = self.sources.files.iter().any(|file| path == file.as_path());
            is_given.then(|| path.display().to_string())
        };
        compilation.diagnostics.iter().find_map(|finding| {
            let is_clash = finding.code.as_str() == "redefinition";
            let second = given(finding.span.filter(|_| is_clash)?)?;
            let first = given(finding.labels.first()?.span)?;
            (first != second).then_some((first, second))
        })
    }
}

/// Generates the Rust code of Slice files, as a build script does
#[derive(Debug, Args)]
pub(crate) struct Rust {
    #[command(flatten)]
    sources: Sources,

    /// Writes DIR/NAME.rs instead of standard output, named like the first file
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

impl Rust {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        let compilation = self.sources.compile_for_text()?;
        let options = RustOptions::new();
        let (generated, renamed) = generate_rust_with_warnings(&compilation.model, &options);
        talk_findings(&renamed, &compilation.sources);
        let text = generated.map_err(|findings| {
            talk_findings(&findings, &compilation.sources);
            let errors = count(findings.len(), "definition");
            Failure::new(Exit::Findings, format_args!("{errors} cannot become Rust"))
        })?;
        match &self.output_dir {
            Some(dir) => write(&self.sources.files, dir, "rs", &text)?,
            None => output.text(text)?,
        }
        Ok(Exit::Success)
    }
}

/// Writes the definitions of Slice files as JSON, for other tools
#[derive(Debug, Args)]
pub(crate) struct ModelJson {
    #[command(flatten)]
    sources: Sources,
}

impl ModelJson {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        let compilation = self.sources.compile_for_text()?;
        output.line(model_json(&compilation.model))?;
        Ok(Exit::Success)
    }
}

/// Writes a file that is named like the first of the Slice files.
fn write(files: &[PathBuf], dir: &Path, extension: &str, text: &str) -> Result<(), Failure> {
    let stem = files.first().and_then(|file| file.file_stem());
    let stem = stem.ok_or_else(|| Failure::usage("expected a Slice file with a name"))?;
    // The name may have more points, as News.v2.ice has.
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension);
    let path = dir.join(name);
    let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| {
        let path = path.display();
        Failure::new(
            Exit::Failure,
            format_args!("cannot write `{path}`: {error}"),
        )
    })?;
    output::talk(format_args!("wrote {}", path.display()));
    Ok(())
}

fn finding_json(finding: &Diagnostic, sources: &SourceMap) -> Json {
    let mut object = json!({
        "severity": finding.severity.as_str(),
        "code": finding.code.as_str(),
        "message": finding.message,
    });
    if let Some(span) = finding.span {
        place(&mut object, span, sources);
    }
    let labels = finding.labels.iter().map(|label| {
        let mut object = json!({"message": label.message});
        place(&mut object, label.span, sources);
        object
    });
    object["labels"] = labels.collect();
    object["help"] = finding.help.clone().into();
    object
}

/// Lines and columns count from 1; the end is the place after the last character.
fn place(object: &mut Json, span: Span, sources: &SourceMap) {
    let (start, end) = (sources.position(span), sources.end_position(span));
    object["path"] = start.path.display().to_string().into();
    object["line"] = start.line.into();
    object["column"] = start.column.into();
    object["end_line"] = end.line.into();
    object["end_column"] = end.column.into();
}

fn count(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
