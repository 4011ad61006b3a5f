//! A diagnostic as plain text: message, place, excerpt with a caret, help.

use std::fmt::Write;

use super::{Diagnostic, Span};
use crate::source::SourceMap;

/// The longest excerpt of a line, in characters; longer lines are cut around the caret.
const MAX_EXCERPT: usize = 120;
/// How many characters before the caret stay when a line is cut.
const CONTEXT_BEFORE: usize = 60;

impl Diagnostic {
    /// The diagnostic as text of several lines, without colour, ending in a newline.
    ///
    /// ```text
    /// error[undefined-name]: no type named `Colour` is visible here
    ///  --> demo.ice:4:5
    ///   |
    /// 4 |     Colour paint;
    ///   |     ^^^^^^
    ///   = help: did you mean `Color`?
    /// ```
    pub fn render(&self, sources: &SourceMap) -> String {
        let mut text = format!(
            "{}[{}]: {}\n",
            self.severity.as_str(),
            self.code.as_str(),
            self.message
        );
        let margin = self.margin(sources);
        if let Some(span) = self.span {
            render_place(&mut text, sources, span, "-->", '^', "", margin);
        }
        for label in &self.labels {
            let message = label.message.as_str();
            render_place(&mut text, sources, label.span, ":::", '-', message, margin);
        }
        if let Some(span) = self.span {
            render_includes(&mut text, sources, span, margin);
        }
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{:margin$} = help: {help}", "");
        }
        text
    }

    /// The width of the largest line number.
    fn margin(&self, sources: &SourceMap) -> usize {
        let places = self.span.into_iter();
        places
            .chain(self.labels.iter().map(|label| label.span))
            .map(|span| sources.position(span).line.to_string().len())
            .max()
            .unwrap_or(1)
    }
}

fn render_place(
    text: &mut String,
    sources: &SourceMap,
    span: Span,
    arrow: &str,
    mark: char,
    message: &str,
    margin: usize,
) {
    let position = sources.position(span);
    let (path, line, column) = (position.path.display(), position.line, position.column);
    let _ = writeln!(text, "{:margin$}{arrow} {path}:{line}:{column}", "");
    let (excerpt, padding, width) = excerpt(sources, span);
    let marks: String = std::iter::repeat_n(mark, width).collect();
    let _ = writeln!(text, "{:margin$} |", "");
    let _ = writeln!(text, "{}", format!("{line:margin$} | {excerpt}").trim_end());
    let marked = format!("{:margin$} | {:padding$}{marks} {message}", "", "");
    let _ = writeln!(text, "{}", marked.trim_end());
}

/// The line of a span made printable, the columns before the mark, and the width of the mark.
fn excerpt(sources: &SourceMap, span: Span) -> (String, usize, usize) {
    let file = sources.file(span.file);
    let start = file.position(span.start);
    let end = file.position(span.end);
    let line: Vec<char> = file.line(start.line).chars().collect();
    let first = (start.column - 1).min(line.len());
    let last = if end.line == start.line {
        (end.column - 1).clamp(first, line.len())
    } else {
        line.len()
    };
    let cut = if line.len() > MAX_EXCERPT {
        first.saturating_sub(CONTEXT_BEFORE)
    } else {
        0
    };
    let shown = &line[cut..line.len().min(cut + MAX_EXCERPT)];
    let before = printable(&line[cut..first]);
    let marked = printable(&line[first..last.min(cut + MAX_EXCERPT).max(first)]);
    (
        printable(shown),
        before.chars().count(),
        marked.chars().count().max(1),
    )
}

/// Characters that change the direction of the text around them, and so could hide what it says.
const REORDERING: &[char] = &[
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}',
];

/// Tabs become four spaces, other control characters a replacement that does nothing to a terminal.
fn printable(characters: &[char]) -> String {
    let mut text = String::new();
    for character in characters {
        match character {
            '\t' => text.push_str("    "),
            other if other.is_control() || REORDERING.contains(other) => text.push('\u{fffd}'),
            other => text.push(*other),
        }
    }
    text
}

/// Names the files through which an included file was reached.
fn render_includes(text: &mut String, sources: &SourceMap, span: Span, margin: usize) {
    let mut from = sources.file(span.file).included_from;
    while let Some(include) = from {
        let position = sources.position(include);
        let (path, line) = (position.path.display(), position.line);
        let _ = writeln!(text, "{:margin$} = included from {path}:{line}", "");
        from = sources.file(include.file).included_from;
    }
}
