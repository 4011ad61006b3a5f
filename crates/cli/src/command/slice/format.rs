//! `floe slice fmt`: one layout for all contracts.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::count;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::{self, Format, Output};

/// Formats Slice files in one style; comments, directives and meaning stay
///
/// A file is replaced as a whole or not at all, and only if it changes. It need not be valid Slice; see `floe
/// slice check`.
#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The Slice files. `-` reads standard input and writes to standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Changes nothing, and prints the names of files that would change. Exit code 100: there are some
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut changed = Vec::new();
        let mut failed = 0;
        for file in &self.files {
            let text = read(file)?;
            let formatted = match floe_slice::format(&text) {
                Ok(formatted) => formatted,
                Err(error) => {
                    output::talk(format_args!("floe: error: {}:{error}", name(file)));
                    failed += 1;
                    continue;
                }
            };
            let is_changed = formatted != text;
            if is_changed {
                changed.push(name(file));
            }
            match (self.check, is_stdin(file)) {
                (true, _) => {}
                (false, true) => output.text(&formatted)?,
                (false, false) if is_changed => {
                    replace(file, &formatted)?;
                    output::talk(format_args!("laid out {}", name(file)));
                }
                (false, false) => {}
            }
        }
        if self.check {
            self.report(&changed, output)?;
        }
        if failed > 0 {
            let files = count(failed, "file");
            let message = format_args!("{files} cannot be laid out and stayed as they were");
            return Err(Failure::new(Exit::Findings, message));
        }
        Ok(match self.check && !changed.is_empty() {
            true => Exit::Findings,
            false => Exit::Success,
        })
    }

    fn report(&self, changed: &[String], output: &Output) -> Result<(), Failure> {
        match output.format_or(Format::Raw) {
            Format::Json => output.line(json!({
                "files": self.files.len(),
                "changed": changed,
            }))?,
            Format::Jsonl => changed
                .iter()
                .try_for_each(|path| output.line(json!({ "path": path })))?,
            Format::Table | Format::Raw => {
                changed.iter().try_for_each(|path| output.line(path))?;
            }
        }
        output::talk(format_args!(
            "{}: {} would change",
            count(self.files.len(), "file"),
            changed.len()
        ));
        Ok(())
    }
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn name(file: &Path) -> String {
    match is_stdin(file) {
        true => "<stdin>".to_owned(),
        false => file.display().to_string(),
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let name = name(file);
    let bytes = match is_stdin(file) {
        true => input::bytes(io::stdin(), &name),
        false => fs::read(file).map_err(|error| {
            Failure::usage(format_args!("cannot read Slice file `{name}`: {error}"))
        }),
    }?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format_args!("`{name}` is not UTF-8 text: byte {at} is wrong");
        Failure::new(Exit::Findings, message).help("save the file as UTF-8")
    })
}

/// Puts a text in the place of a file, so that no reader ever sees a part of it.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::canonicalize(file).and_then(|file| {
        let permissions = fs::metadata(&file)?.permissions();
        let mut temporary = OsString::from(".");
        temporary.push(file.file_name().unwrap_or_default());
        temporary.push(format!(".{}", std::process::id()));
        let temporary = file.with_file_name(temporary);
        let moved = write_new(&temporary, text)
            .and_then(|()| fs::set_permissions(&temporary, permissions))
            .and_then(|()| fs::rename(&temporary, &file));
        if moved.is_err() {
            // It may not exist; that it stays is not worse than the error that is told.
            let _ = fs::remove_file(&temporary);
        }
        moved
    });
    written.map_err(|error| {
        let message = format_args!("cannot write `{}`: {error}", file.display());
        Failure::new(Exit::Failure, message)
    })
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
