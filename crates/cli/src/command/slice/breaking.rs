//! `floe slice breaking`: what a new contract breaks.

use std::path::PathBuf;

use clap::Args;
use floe_slice::breaking::{Change, Impact, compare};
use floe_slice::diagnostic::Span;
use floe_slice::{Compilation, SourceMap};
use serde_json::{Value as Json, json};

use super::{Version, count, place};
use crate::contract::{PreprocessorArguments, found_errors, talk_findings};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, Output};

/// Compares two contracts: which changes break the wire or source code, and which are safe
///
/// A change is safe if a program built from OLD still works with a peer built from NEW, in any role. Exit code
/// 100: something breaks. With -o json the result is one object, with -o jsonl one object for each change; the
/// codes of changes are stable.
#[derive(Debug, Args)]
pub(crate) struct Breaking {
    /// The old Slice file
    old: PathBuf,

    /// The new Slice file
    new: PathBuf,

    /// Accepts changes that break only source code: exit code 100 only if a peer breaks
    #[arg(long)]
    allow_source: bool,

    #[command(flatten)]
    preprocessor: PreprocessorArguments,

    /// The version of Ice whose Slice is accepted
    #[arg(long, value_enum, default_value_t = Version::Any)]
    language: Version,
}

impl Breaking {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let old = self.compile(&self.old)?;
        let new = self.compile(&self.new)?;
        let changes = compare(&old.model, &new.model);
        let of = |impact| changes.iter().filter(|it| it.impact() == impact).count();
        let (wire, source, safe) = (of(Impact::Wire), of(Impact::Source), of(Impact::Safe));
        let as_json = |change| change_json(change, &old.sources, &new.sources);
        match output.format_or(Format::Table) {
            Format::Json => output.line(json!({
                "wire": wire,
                "source": source,
                "safe": safe,
                "changes": changes.iter().map(as_json).collect::<Vec<_>>(),
            }))?,
            Format::Jsonl => changes
                .iter()
                .try_for_each(|change| output.line(as_json(change)))?,
            Format::Table | Format::Raw => changes
                .iter()
                .try_for_each(|change| output.text(text(change, &old.sources, &new.sources)))?,
        }
        output::talk(format_args!(
            "{}: {wire} on the wire, {source} in source, {safe} safe",
            count(changes.len(), "change"),
        ));
        let breaks = wire > 0 || source > 0 && !self.allow_source;
        Ok(match breaks {
            true => Exit::Findings,
            false => Exit::Success,
        })
    }

    /// Compiles one side.
    fn compile(&self, file: &std::path::Path) -> Result<Compilation, Failure> {
        let files = [file.to_owned()];
        let compilation = self
            .preprocessor
            .compile(&files, self.language.language())?;
        if compilation.has_errors() {
            talk_findings(&compilation.diagnostics, &compilation.sources);
            return Err(found_errors(&compilation));
        }
        Ok(compilation)
    }
}

/// A change for people.
fn text(change: &Change, old: &SourceMap, new: &SourceMap) -> String {
    let mut text = format!(
        "{}[{}]: {}: {}\n",
        change.impact().as_str(),
        change.code.as_str(),
        change.subject,
        change.message
    );
    for (side, span, sources) in [("old", change.old, old), ("new", change.new, new)] {
        if let Some(span) = span {
            text.push_str(&format!("  {side}:  {}\n", line_of(span, sources)));
        }
    }
    if change.impact() != Impact::Safe {
        text.push_str(&format!("  why:  {}\n", change.code.why()));
        text.push_str(&format!("  help: {}\n", change.code.help()));
    }
    text
}

/// A place, and what stands in its line.
fn line_of(span: Span, sources: &SourceMap) -> String {
    let at = sources.position(span);
    let line = sources.file(span.file).line(at.line).trim();
    let excerpt: String = line.chars().take(MAX_EXCERPT).collect();
    format!("{}:{}:{}  {excerpt}", at.path.display(), at.line, at.column)
}

/// The longest excerpt of a line, in characters.
const MAX_EXCERPT: usize = 100;

fn change_json(change: &Change, old: &SourceMap, new: &SourceMap) -> Json {
    let place_in = |span: Option<Span>, sources: &SourceMap| {
        span.map(|span| {
            let mut object = json!({});
            place(&mut object, span, sources);
            object
        })
    };
    let help = Some(change.code.help()).filter(|help| !help.is_empty());
    json!({
        "impact": change.impact().as_str(),
        "code": change.code.as_str(),
        "subject": change.subject,
        "message": change.message,
        "old": place_in(change.old, old),
        "new": place_in(change.new, new),
        "why": change.code.why(),
        "help": help,
    })
}
