//! Collects the diagnostics of a compilation.

use std::collections::HashSet;

use super::{Code, Diagnostic, Span};
use crate::model::FileId;

/// How many errors one compilation reports, and how many warnings; a broken file repeats itself, and memory is bounded.
pub(crate) const MAX_DIAGNOSTICS: usize = 500;

/// How many findings of one severity are shown, and how many are not.
#[derive(Debug, Default)]
struct Shown {
    count: usize,
    omitted: usize,
}

/// The diagnostics so far. A file that takes part in two translation units reports only once.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    diagnostics: Vec<Diagnostic>,
    seen: HashSet<(Code, Option<Span>, String)>,
    errors: Shown,
    warnings: Shown,
    /// Files of other projects, whose warnings are not for the authors of this one.
    foreign: HashSet<FileId>,
}

impl Reporter {
    /// Drops the warnings in this file from now on, and of the files that it includes. Errors are still reported.
    pub(crate) fn silence(&mut self, file: FileId) {
        self.foreign.insert(file);
    }

    /// Returns true if warnings in this file are dropped.
    pub(crate) fn is_silent(&self, file: FileId) -> bool {
        self.foreign.contains(&file)
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        let file = diagnostic.span.map(|span| span.file);
        if !diagnostic.is_error() && file.is_some_and(|file| self.is_silent(file)) {
            return;
        }
        let shown = match diagnostic.is_error() {
            true => &mut self.errors,
            false => &mut self.warnings,
        };
        let key = (diagnostic.code, diagnostic.span, diagnostic.message.clone());
        if self.seen.contains(&key) {
            return;
        }
        if shown.count == MAX_DIAGNOSTICS {
            shown.omitted += 1;
            return;
        }
        shown.count += 1;
        self.seen.insert(key);
        self.diagnostics.push(diagnostic);
    }

    /// All diagnostics in the order of the files and of their places in them.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| {
            diagnostic
                .span
                .map(|span| (span.file, span.start, span.end))
        });
        let rests = [
            (Code::LimitExceeded, "errors", self.errors.omitted),
            (Code::OmittedWarnings, "warnings", self.warnings.omitted),
        ];
        for (code, what, omitted) in rests.into_iter().filter(|(.., omitted)| *omitted > 0) {
            let message =
                format!("more than {MAX_DIAGNOSTICS} {what}: {omitted} more are not shown");
            self.diagnostics
                .push(Diagnostic::without_place(code, message));
        }
        self.diagnostics
    }
}
